/* loop.c - training: epochs, steps, evaluation, early stop, checkpoints, resume.
 *
 * All that decides the next step is in cla_progress, the weights and the moments: a run
 * that
 * was stopped anywhere continues bit for bit from its last checkpoint. */
#include "train/loop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/rng.h"
#include "train/checkpoint.h"
#include "train/folder.h"
#include "train/report.h"

enum { HOST_EXTRA = 2 }; // beside the gradients: the loss, and whether to stop

typedef struct run {
    const cla_train_options *options;
    cla_runtime *rt;
    cla_task *task;
    cla_optim optim;
    cla_progress progress;
    cla_folder folder;
    cla_report report;
    cla_tape *tape;
    cla_tensor *share; // [1] what the loss of a part counts
    int64_t *order;    // of the epoch's examples
    float *host;       // gradients on their way to other processes
    bool stop;         // a signal came, here or to another process
    int batch, accumulate, epochs, patience, eval_every, save_every, log_every;
    double window_units, window_s;
} run;

static bool leader(const run *r)
{
    return r->options->parallel.rank == 0;
}

static cla_status configure(run *r, cla_config *s)
{
    r->batch = 32;
    r->accumulate = 1;
    r->epochs = 100;
    r->patience = 3;
    r->log_every = 20;
    r->save_every = 200;
    CLA_TRY(cla_config_int(s, "batch", &r->batch, 1, 1 << 20));
    CLA_TRY(cla_config_int(s, "accumulate", &r->accumulate, 1, 1 << 10));
    CLA_TRY(cla_config_int(s, "epochs", &r->epochs, 0, 1 << 20));
    CLA_TRY(cla_config_int(s, "patience", &r->patience, 0, 1 << 20));
    CLA_TRY(cla_config_int(s, "eval_every", &r->eval_every, 0, 1 << 30));
    CLA_TRY(cla_config_int(s, "save_every", &r->save_every, 1, 1 << 30));
    CLA_TRY(cla_config_int(s, "log_every", &r->log_every, 1, 1 << 30));
    return cla_optim_configure(&r->optim, s);
}

/* Fisher-Yates with numbers that depend on seed and epoch alone. */
static void shuffle(run *r)
{
    const int64_t n = r->task->examples;
    const uint32_t key[2] = { r->task->seed, 0x5eed };
    for (int64_t i = 0; i < n; i++) {
        r->order[i] = i;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        const uint32_t counter[4] = { (uint32_t)i, (uint32_t)r->progress.epoch, 0, 0 };
        const uint64_t draw = cla_philox4x32(counter, key).v[0];
        const int64_t j = (int64_t)((draw * (uint64_t)(i + 1)) >> 32);
        const int64_t kept = r->order[i];
        r->order[i] = r->order[j];
        r->order[j] = kept;
    }
}

static bool signalled(const run *r)
{
    return r->options->signal && *r->options->signal;
}

static cla_status save(run *r, const char *name)
{
    if (!leader(r)) {
        return CLA_OK;
    }
    char *path = NULL;
    CLA_TRY(cla_folder_path(&r->folder, name, &path));
    const cla_status status =
        cla_checkpoint_save(path, &r->task->params, &r->optim, &r->progress);
    free(path);
    return status;
}

/* ---- one step ---------------------------------------------------------------------
 * */

/* Forward and backward for part of a batch; the loss is weighted by its share of
 * targets. */
static cla_status part(run *r, const int64_t *examples, int64_t n, int64_t first,
                       double targets, double *loss)
{
    cla_tensor *out = NULL;
    const double mine = r->task->kind->targets(r->task, examples, n);
    const float share = (float)(targets > 0 ? mine / targets : 0);
    float value = 0;
    if (!n || mine <= 0) {
        return CLA_OK;
    }
    cla_tape_rows(r->tape, (uint32_t)first);
    CLA_TRY(r->task->kind->loss(r->task, r->tape, examples, n, &out));
    CLA_TRY(cla_tensor_upload(r->share, &share));
    CLA_TRY(cla_tape_seed(r->tape, out, r->share));
    CLA_TRY(cla_tape_backward(r->tape));
    CLA_TRY(cla_tensor_download(out, &value));
    *loss += (double)value * (targets > 0 ? mine / targets : 0);
    return CLA_OK;
}

/* Sums gradients and the loss over all processes; a signal to one stops all of them
 * after the same step. */
static cla_status share_gradients(run *r, double *loss)
{
    const cla_parallel *p = &r->options->parallel;
    if (p->size < 2) {
        r->stop = signalled(r);
        return CLA_OK;
    }
    CLA_TRY(cla_params_fill_gradients(&r->task->params));
    const cla_memory *block = &r->task->params.gradients;
    const int64_t n = (int64_t)(block->bytes / 4);
    CLA_TRY(cla_memory_read(r->rt, block, 0, r->host, block->bytes));
    r->host[n] = (float)*loss;
    r->host[n + 1] = signalled(r);
    CLA_TRY(p->sum(r->host, n + HOST_EXTRA));
    *loss = (double)r->host[n];
    r->stop = r->host[n + 1] > 0;
    for (size_t i = 0; i < r->task->params.count; i++) {
        r->task->params.list[i].tensor->grad_filled = true;
    }
    return cla_memory_write(r->rt, block, 0, r->host, block->bytes);
}

/* This process's examples [from, to) of a batch, in accumulate parts. */
static cla_status batch_gradient(run *r, const int64_t *examples, int64_t n,
                                 double targets, double *loss)
{
    const cla_parallel *p = &r->options->parallel;
    const int64_t from = n * p->rank / p->size, to = n * (p->rank + 1) / p->size;
    *loss = 0;
    cla_params_clear_gradients(&r->task->params);
    for (int i = 0; i < r->accumulate; i++) {
        const int64_t a = from + (to - from) * i / r->accumulate;
        const int64_t b = from + (to - from) * (i + 1) / r->accumulate;
        cla_tape_reset(r->tape);
        cla_tape_random(r->tape, r->task->seed, (uint32_t)r->progress.step);
        CLA_TRY(part(r, examples + a, b - a, r->task->kind->rows(r->task, examples, a),
                     targets, loss));
    }
    return share_gradients(r, loss);
}

static cla_status check_loss(const run *r, double loss)
{
    if (isfinite(loss)) {
        return CLA_OK;
    }
    return cla_fail(CLA_E_NUMERIC,
                    "the loss is %g at step %lld; the last good state is "
                    "%s/last.ckpt.safetensors; try a smaller lr or clip",
                    loss, (long long)r->progress.step + 1, r->folder.path);
}

static cla_status log_window(run *r, bool now)
{
    cla_progress *p = &r->progress;
    if (!leader(r) || p->loss_weight <= 0 || !(now || p->step % r->log_every == 0)) {
        return CLA_OK;
    }
    const double rate = r->window_s > 0 ? r->window_units / r->window_s : 0;
    const double loss = p->loss_sum / p->loss_weight;
    p->loss_sum = p->loss_weight = r->window_units = r->window_s = 0;
    return cla_report_loss(&r->report, p->step, p->epoch, loss, r->optim.lr, rate);
}

static cla_status step(run *r)
{
    cla_progress *p = &r->progress;
    const int64_t left = r->task->examples - p->next;
    const int64_t n = left < r->batch ? left : r->batch;
    const int64_t *examples = r->order + p->next;
    const double targets = r->task->kind->targets(r->task, examples, n);
    const int64_t start = cla_time_ns();
    double loss = 0;
    CLA_TRY(batch_gradient(r, examples, n, targets, &loss));
    CLA_TRY(check_loss(r, loss));
    CLA_TRY(cla_optim_step(&r->optim, p->step + 1));
    const double seconds = (double)(cla_time_ns() - start) * 1e-9;
    p->step++;
    p->next += n;
    p->loss_sum += loss * targets;
    p->loss_weight += targets;
    r->window_units += targets;
    r->window_s += seconds;
    const double epochs =
        (double)p->epoch + (double)p->next / (double)r->task->examples;
    if (leader(r)) {
        cla_report_step(&r->report, p->step, p->epoch, epochs / r->epochs, loss,
                        targets, seconds, r->task->kind->unit);
    }
    return log_window(r, false);
}

/* ---- evaluation -------------------------------------------------------------------
 * */

static cla_status judge(run *r)
{
    cla_progress *p = &r->progress;
    cla_metrics m = { 0 };
    char verdict[48];
    CLA_TRY(log_window(r, true));
    CLA_TRY(r->task->kind->evaluate(r->task, NULL, r->task->kind->dev_split, &m));
    const double score = m.row[0].value;
    const bool better =
        !p->best_step ||
        (r->task->kind->higher_is_better ? score > p->best : score < p->best);
    p->stale = better ? 0 : p->stale + 1;
    if (better) {
        p->best = score;
        p->best_step = p->step;
        CLA_TRY(save(r, "best.ckpt.safetensors"));
        snprintf(verdict, sizeof verdict, "new best");
    } else {
        snprintf(verdict, sizeof verdict, "stalled %lld of %d", (long long)p->stale,
                 r->patience);
    }
    return cla_report_metrics(&r->report, p->step, p->epoch, &m, verdict);
}

/* The leader evaluates, and all go on from what it found. */
static cla_status evaluate(run *r)
{
    const cla_parallel *p = &r->options->parallel;
    if (leader(r)) {
        CLA_TRY(judge(r));
    }
    return p->size > 1 ? p->follow(&r->progress, sizeof r->progress) : CLA_OK;
}

/* After a step: the epoch's end, evaluation, checkpoints. */
static cla_status after_step(run *r)
{
    cla_progress *p = &r->progress;
    const bool epoch_done = p->next >= r->task->examples;
    if (epoch_done) {
        p->epoch++;
        p->next = 0;
        shuffle(r);
    }
    const bool due = r->eval_every ? p->step % r->eval_every == 0 : epoch_done;
    const bool last = p->epoch >= r->epochs;
    if (due || (last && r->eval_every)) {
        CLA_TRY(evaluate(r));
    }
    p->finished = last || (r->patience && p->stale >= r->patience);
    if (due || p->finished || r->stop || p->step % r->save_every == 0) {
        CLA_TRY(save(r, "last.ckpt.safetensors"));
    }
    return CLA_OK;
}

/* ---- a whole run ------------------------------------------------------------------
 * */

static cla_status open_state(run *r, cla_config *settings)
{
    const int64_t one = 1;
    const char *dir = r->options->resume || leader(r) ? r->options->out : NULL;
    CLA_TRY(cla_task_open(&r->task, r->rt, settings, dir,
                          r->options->resume ? CLA_TASK_RESUMED : CLA_TASK_NEW));
    CLA_TRY(configure(r, settings));
    CLA_TRY(cla_config_check(settings));
    CLA_TRY(cla_optim_init(&r->optim, &r->task->params));
    CLA_TRY(cla_tape_new(&r->tape, r->rt, true));
    CLA_TRY(cla_tensor_new(&r->share, r->rt, CLA_F32, 1, &one));
    CLA_TRY(cla_alloc(&r->order, (size_t)r->task->examples + 1, sizeof *r->order));
    return cla_alloc(&r->host, r->task->params.gradients.bytes / 4 + HOST_EXTRA,
                     sizeof *r->host);
}

static cla_status open_run(run *r, cla_config *settings)
{
    const bool resume = r->options->resume;
    char *path = NULL;
    if (leader(r)) {
        CLA_TRY(cla_folder_claim(&r->folder, r->options->out, resume));
    } else {
        CLA_TRY(cla_strdup(&r->folder.path, r->options->out));
    }
    CLA_TRY(open_state(r, settings));
    if (resume) {
        CLA_TRY(cla_folder_same_settings(&r->folder, settings));
        CLA_TRY(cla_folder_path(&r->folder, "last.ckpt.safetensors", &path));
        const cla_status status =
            cla_checkpoint_load(path, &r->task->params, &r->optim, &r->progress);
        free(path);
        CLA_TRY(status);
    } else if (leader(r)) { // the first checkpoint, so that a run can always be resumed
        CLA_TRY(save(r, "last.ckpt.safetensors"));
        CLA_TRY(cla_folder_path(&r->folder, "config.json", &path));
        const cla_status status = cla_config_save(settings, path);
        free(path);
        CLA_TRY(status);
    }
    shuffle(r);
    return leader(r) ? cla_report_open(&r->report, r->options->out, resume,
                                       r->progress.step, r->options->quiet)
                     : CLA_OK;
}

static void close_run(run *r)
{
    cla_report_close(&r->report);
    cla_tape_free(&r->tape);
    cla_tensor_free(&r->share);
    cla_optim_fini(&r->optim);
    cla_task_close(&r->task);
    cla_folder_release(&r->folder);
    free(r->order);
    free(r->host);
}

/* Processes of one run end with the same weights: this shows it (CLATTN_LOG=info). */
static cla_status log_weights(run *r)
{
    const cla_memory *block = &r->task->params.values;
    CLA_TRY(cla_memory_read(r->rt, block, 0, r->host, block->bytes));
    cla_log(CLA_LOG_INFO, "process %d of %d: weights %016llx after step %lld",
            r->options->parallel.rank + 1, r->options->parallel.size,
            (unsigned long long)XXH64(r->host, block->bytes, 0),
            (long long)r->progress.step);
    return CLA_OK;
}

static cla_status go(run *r, cla_config *settings)
{
    CLA_TRY(open_run(r, settings));
    if (!r->task->examples) {
        return cla_fail(CLA_E_INPUT, "the training data holds no example");
    }
    while (!r->progress.finished && r->epochs && !r->stop) {
        CLA_TRY(step(r));
        CLA_TRY(after_step(r));
    }
    return r->options->parallel.size > 1 ? log_weights(r) : CLA_OK;
}

cla_status cla_train(cla_runtime *rt, cla_config *settings,
                     const cla_train_options *options, cla_train_result *result)
{
    run r = { .options = options, .rt = rt, .folder = { .lock = -1 } };
    const cla_status status = go(&r, settings);
    *result = (cla_train_result){
        .interrupted = !status && r.stop && !r.progress.finished,
        .step = r.progress.step,
        .best_step = r.progress.best_step,
        .best = r.progress.best,
        .words_per_second =
            r.report.total_s > 0 ? r.report.total_units / r.report.total_s : 0,
    };
    close_run(&r);
    return status;
}
