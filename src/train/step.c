/* step.c - one step of training. */
#include "train/step.h"

#include <math.h>
#include <xxhash.h>

#include "base/rng.h"

cla_status cla_stepper_configure(cla_stepper *s, const cla_task_kind *kind,
                                 cla_config *settings)
{
    *s = (cla_stepper){ .batch = 32, .accumulate = 1 };
    if (!kind->take) {
        CLA_TRY(cla_config_int(settings, "batch", &s->batch, 1, 1 << 20));
    }
    CLA_TRY(cla_config_int(settings, "accumulate", &s->accumulate, 1, 1 << 10));
    return cla_optim_configure(&s->optim, settings);
}

cla_status cla_stepper_init(cla_stepper *s, cla_task *task,
                            const cla_parallel *parallel)
{
    const int64_t one = 1;
    s->task = task;
    s->parallel = *parallel;
    CLA_TRY(cla_optim_init(&s->optim, &task->params));
    CLA_TRY(cla_tape_new(&s->tape, task->rt, true));
    CLA_TRY(cla_tensor_new(&s->share, task->rt, CLA_F32, 1, &one));
    CLA_TRY(cla_alloc(&s->losses, (size_t)s->accumulate, sizeof *s->losses));
    return parallel->size > 1
               ? cla_exchange_init(&s->exchange, &task->params, parallel, 0)
               : CLA_OK;
}

void cla_stepper_fini(cla_stepper *s)
{
    for (int i = 0; s->losses && i < s->accumulate; i++) {
        cla_memory_arrive(s->task->rt, &s->losses[i].late, &s->losses[i].value);
    }
    free(s->losses);
    s->losses = NULL;
    cla_tape_free(&s->tape);
    cla_tensor_free(&s->share);
    cla_optim_fini(&s->optim);
    cla_exchange_fini(&s->exchange);
}

cla_status cla_stepper_order(const cla_stepper *s, int64_t *order, int64_t epoch)
{
    if (s->task->kind->order) {
        return s->task->kind->order(s->task, order, epoch);
    }
    const int64_t n = s->task->examples;
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    cla_shuffle(order, n, 1, (uint32_t[]){ s->task->seed, 0x5eed }, (uint32_t)epoch, 0);
    return CLA_OK;
}

int64_t cla_stepper_take(const cla_stepper *s, int64_t next)
{
    const int64_t left = s->task->examples - next;
    if (s->task->kind->take) {
        return s->task->kind->take(s->task, next);
    }
    return left < s->batch ? left : s->batch;
}

/* Runs the backward pass of a loss, weighted by share. last: the gradients are then
 * those of the step. */
static cla_status back(cla_stepper *s, cla_tensor *loss, float share, bool last)
{
    const cla_task_kind *kind = s->task->kind;
    if (last && s->parallel.size > 1) {
        const cla_status settled = cla_optim_settle(&s->optim);
        s->norm_failed = settled == CLA_E_NUMERIC;
        CLA_TRY(settled); // nothing is under way if it fails
        CLA_TRY(cla_exchange_watch(&s->exchange, s->tape));
    }
    if (kind->backward) {
        return kind->backward(s->task, s->tape, loss, (double)share);
    }
    CLA_TRY(cla_tensor_upload(s->share, &share));
    CLA_TRY(cla_tape_seed(s->tape, loss, s->share));
    return cla_tape_backward(s->tape);
}

/* Queues forward and backward for n examples, part i of a batch, and the copy of their
 * loss. first: number of rows before them. */
static cla_status part(cla_stepper *s, int i, const int64_t *examples, int64_t n,
                       int64_t first, double targets)
{
    cla_part_loss *loss = &s->losses[i];
    cla_tensor *out = NULL;
    const double mine = s->task->kind->targets(s->task, examples, n);
    *loss = (cla_part_loss){ .share = targets > 0 ? mine / targets : 0 };
    if (!n || mine <= 0) {
        return CLA_OK;
    }
    cla_tape_rows(s->tape, (uint32_t)first);
    CLA_TRY(s->task->kind->loss(s->task, s->tape, examples, n, &out));
    CLA_TRY(cla_memory_read_later(s->task->rt, &out->memory, 0, sizeof loss->value,
                                  &loss->late));
    return back(s, out, (float)loss->share, i == s->accumulate - 1);
}

/* Waits for the losses of the parts and adds them, each weighted by its share. */
static cla_status add_losses(cla_stepper *s, double *loss)
{
    *loss = 0;
    for (int i = 0; i < s->accumulate; i++) {
        CLA_TRY(
            cla_memory_arrive(s->task->rt, &s->losses[i].late, &s->losses[i].value));
        *loss += (double)s->losses[i].value * s->losses[i].share;
    }
    return CLA_OK;
}

/* Sums gradients, losses and stop flags over all processes, so that a signal to one
 * stops all after the same step. If the summed gradient is not finite, all fail before
 * the update. */
static cla_status share_gradients(cla_stepper *s, int64_t step, cla_step_result *result)
{
    cla_told told = { .loss = (float)result->loss, .stop = result->stop };
    if (s->parallel.size < 2) {
        return CLA_OK;
    }
    CLA_TRY(cla_exchange_rest(&s->exchange, s->tape));
    CLA_TRY(cla_exchange_finish(&s->exchange, &told));
    result->loss = (double)told.loss;
    result->stop = told.stop > 0;
    result->shared = true;
    return told.broken > 0
               ? cla_fail(CLA_E_NUMERIC, "the gradient is not finite at step %lld",
                          (long long)step + 1)
               : CLA_OK;
}

/* Returns the first example of process `rank`. All processes get about the same number
 * of rows, because they wait for the one with the most. */
static int64_t begin_of(const cla_stepper *s, const int64_t *examples, int64_t n,
                        int rank)
{
    cla_task *task = s->task;
    const int64_t all = task->kind->rows(task, examples, n), size = s->parallel.size;
    int64_t low = 0, high = n; // finds the place nearest to rank / size of all rows
    if (rank == 0 || rank == size) {
        return rank ? n : 0;
    }
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        const int64_t rows = task->kind->rows(task, examples, middle) +
                             task->kind->rows(task, examples, middle + 1);
        if (rows * size < 2 * all * rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Computes gradient and loss of this process's examples [from, to) of a batch, in
 * `accumulate` parts. The last backward pass may still run at the end. */
static cla_status batch_gradient(cla_stepper *s, const int64_t *examples, int64_t n,
                                 int64_t step, double targets, double *loss)
{
    const int rank = s->parallel.rank;
    const int64_t from = begin_of(s, examples, n, rank);
    const int64_t to = begin_of(s, examples, n, rank + 1);
    cla_params_clear_gradients(&s->task->params);
    for (int i = 0; i < s->accumulate; i++) {
        const int64_t a = from + (to - from) * i / s->accumulate;
        const int64_t b = from + (to - from) * (i + 1) / s->accumulate;
        cla_tape_reset(s->tape);
        cla_tape_random(s->tape, s->task->seed, (uint32_t)step);
        CLA_TRY(part(s, i, examples + a, b - a,
                     s->task->kind->rows(s->task, examples, a), targets));
    }
    return add_losses(s, loss);
}

cla_status cla_stepper_step(cla_stepper *s, const int64_t *examples, int64_t n,
                            int64_t step, cla_step_result *result)
{
    result->targets = s->task->kind->targets(s->task, examples, n);
    const cla_status status =
        batch_gradient(s, examples, n, step, result->targets, &result->loss);
    result->shared = s->norm_failed;
    CLA_TRY(status);
    result->shared = s->parallel.size > 1; // as is the norm of the step before
    CLA_TRY(cla_optim_settle(&s->optim));
    CLA_TRY(share_gradients(s, step, result));
    if (!isfinite(result->loss)) {
        return cla_fail(CLA_E_NUMERIC, "the loss is %g at step %lld", result->loss,
                        (long long)step + 1);
    }
    return cla_optim_step(&s->optim, step + 1);
}

/* Computes the XXH64 of all weights. */
static cla_status hash_weights(const cla_stepper *s, uint64_t *hash)
{
    const cla_memory *block = &s->task->params.values;
    char *host = NULL;
    CLA_TRY(cla_alloc(&host, block->bytes, sizeof *host));
    const cla_status status =
        cla_memory_read(s->task->rt, block, 0, host, block->bytes);
    *hash = status ? 0 : XXH64(host, block->bytes, 0);
    free(host);
    return status;
}

cla_status cla_stepper_log(const cla_stepper *s, int64_t step)
{
    const cla_exchange *x = &s->exchange;
    uint64_t hash = 0;
    if (s->parallel.size < 2) {
        return CLA_OK;
    }
    CLA_TRY(hash_weights(s, &hash));
    cla_log(CLA_LOG_INFO,
            "process %d of %d: weights %016llx after step %lld, %d of %d parts of the "
            "gradient complete early",
            s->parallel.rank + 1, s->parallel.size, (unsigned long long)hash,
            (long long)step, x->early, x->count - 1);
    return CLA_OK;
}
