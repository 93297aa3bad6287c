/* op.c - runs an op as a case: inputs, one step, and verification of the result. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "bench/internal.h"

/* Above this much work the oracle's loops take too long; then the results of the two
 * schedules are compared instead. */
static const double ORACLE_FLOPS = 2e9;

typedef struct op_state {
    const bench_op *op;
    cla_runtime *rt;
    cla_tape *tape;
    cla_tensor *x[BENCH_INPUTS];
    cla_tensor *y;  // of the last step
    cla_tensor *dy; // gradient of the result; NULL when forward only
} op_state;

/* The result and the gradients of one step, on the host. */
typedef struct outcome {
    float *data[BENCH_INPUTS + 1];
    int64_t size[BENCH_INPUTS + 1];
} outcome;

static cla_status step(void *state)
{
    op_state *s = state;
    for (int i = 0; i < s->op->inputs; i++) {
        cla_tensor_clear_grad(s->x[i]);
    }
    cla_tape_reset(s->tape);
    CLA_TRY(s->op->forward(s->tape, &s->y, s->x, s->op->context));
    if (!s->op->backward) {
        return CLA_OK;
    }
    CLA_TRY(cla_tape_seed(s->tape, s->y, s->dy));
    return cla_tape_backward(s->tape);
}

/* ---- verification ------------------------------------------------------------ */

static cla_status fetch(const cla_tensor *t, float **data, int64_t *size)
{
    *size = cla_tensor_size(t);
    CLA_TRY(cla_alloc(data, (size_t)*size, sizeof **data));
    return cla_tensor_download(t, *data);
}

static cla_status run_and_fetch(op_state *s, outcome *out)
{
    CLA_TRY(step(s));
    cla_status status = fetch(s->y, &out->data[0], &out->size[0]);
    for (int i = 0; i < s->op->inputs && s->op->backward && !status; i++) {
        const cla_tensor *grad = cla_tensor_grad(s->x[i]);
        status = grad ? fetch(grad, &out->data[i + 1], &out->size[i + 1]) : CLA_OK;
    }
    return status;
}

static void outcome_fini(outcome *out)
{
    for (int i = 0; i <= BENCH_INPUTS; i++) {
        free(out->data[i]);
    }
}

/* Returns the NMSE; NaN or infinity where either array holds a NaN, so that every limit
 * refuses it. */
static double nmse_of(const float *got, const double *want, int64_t size)
{
    double error = 0, power = 0;
    for (int64_t i = 0; i < size; i++) {
        error += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        power += want[i] * want[i];
    }
    return error == 0 ? 0 : power > 0 ? error / power : INFINITY;
}

static cla_status widen(const float *from, int64_t size, double **to)
{
    CLA_TRY(cla_alloc(to, (size_t)size, sizeof **to));
    for (int64_t i = 0; i < size; i++) {
        (*to)[i] = (double)from[i];
    }
    return CLA_OK;
}

static cla_status oracle_inputs(op_state *s, double **x)
{
    for (int i = 0; i < s->op->inputs; i++) {
        float *data = NULL;
        int64_t size = 0;
        cla_status status = fetch(s->x[i], &data, &size);
        status = status ? status : widen(data, size, &x[i]);
        free(data);
        CLA_TRY(status);
    }
    return CLA_OK;
}

static cla_status against_oracle(op_state *s, const outcome *got, double *nmse)
{
    double *x[BENCH_INPUTS] = { NULL }, *y = NULL;
    cla_status status = cla_alloc(&y, (size_t)got->size[0], sizeof *y);
    status = status ? status : oracle_inputs(s, x);
    if (!status) {
        s->op->oracle(y, x, s->op->context);
        *nmse = nmse_of(got->data[0], y, got->size[0]);
    }
    for (int i = 0; i < BENCH_INPUTS; i++) {
        free(x[i]);
    }
    free(y);
    return status;
}

/* Raises *nmse to the worst of result and gradients, each relative to its tolerance. */
static cla_status compare_outcomes(const bench_op *op, const outcome *got,
                                   const outcome *want, double *nmse)
{
    for (int i = 0; i <= BENCH_INPUTS; i++) {
        double *data = NULL;
        if (!want->data[i]) {
            continue;
        }
        CLA_TRY(widen(want->data[i], want->size[i], &data));
        const double loss = i > 0 && op->in[i - 1].cancels ? op->in[i - 1].cancels : 1;
        const double one = nmse_of(got->data[i], data, want->size[i]) / (loss * loss);
        *nmse = bench_worse(*nmse, one);
        free(data);
    }
    return CLA_OK;
}

static cla_status against_other_schedule(op_state *s, const outcome *got, double *nmse)
{
    const cla_schedule now = cla_runtime_schedule(s->rt);
    outcome other = { 0 };
    cla_runtime_set_schedule(s->rt, now == CLA_SCHEDULE_TILE ? CLA_SCHEDULE_GROUP
                                                             : CLA_SCHEDULE_TILE);
    cla_status status = run_and_fetch(s, &other);
    cla_runtime_set_schedule(s->rt, now);
    status = status ? status : compare_outcomes(s->op, got, &other, nmse);
    outcome_fini(&other);
    return status;
}

static cla_status check(void *state, double *nmse)
{
    op_state *s = state;
    outcome got = { 0 };
    cla_status status = run_and_fetch(s, &got);
    const bool oracle = s->op->oracle && s->op->flops <= ORACLE_FLOPS;
    if (!status && oracle) {
        status = against_oracle(s, &got, nmse);
    }
    if (!status && *nmse <= bench_nmse(s->rt) && (!oracle || s->op->backward)) {
        status = against_other_schedule(s, &got, nmse);
    }
    outcome_fini(&got);
    return status;
}

/* ---- preparing and running a case -------------------------------------------- */

static cla_status scaled(bench *b, cla_tensor **t, const bench_input *in,
                         uint32_t stream)
{
    CLA_TRY(cla_tensor_new(t, b->rt, CLA_F32, in->rank, in->shape));
    const int64_t size = cla_tensor_size(*t);
    float *host = NULL;
    CLA_TRY(cla_alloc(&host, (size_t)size, sizeof *host));
    cla_random_normal(host, size, in->scale > 0 ? in->scale : 1.0f, 42, stream);
    const cla_status status = cla_tensor_upload(*t, host);
    free(host);
    return status;
}

/* Makes the gradient of the result, whose shape one step shows. It must be random: a
 * softmax, for example, has no gradient for a constant. */
static cla_status make_dy(op_state *s, bench *b)
{
    CLA_TRY(s->op->forward(s->tape, &s->y, s->x, s->op->context));
    bench_input in = { .rank = cla_tensor_rank(s->y) };
    for (int i = 0; i < in.rank; i++) {
        in.shape[i] = cla_tensor_dim(s->y, i);
    }
    cla_tape_reset(s->tape);
    return scaled(b, &s->dy, &in, BENCH_INPUTS);
}

static cla_status prepare(op_state *s, bench *b)
{
    const bench_op *op = s->op;
    s->rt = b->rt;
    CLA_TRY(cla_tape_new(&s->tape, b->rt, op->backward));
    for (int i = 0; i < op->inputs; i++) {
        CLA_TRY(scaled(b, &s->x[i], &op->in[i], (uint32_t)i));
        cla_tensor_want_grad(s->x[i], op->backward && !op->in[i].constant);
    }
    return op->backward ? make_dy(s, b) : CLA_OK;
}

static void release(op_state *s)
{
    cla_tape_free(&s->tape);
    cla_tensor_free(&s->dy);
    for (int i = 0; i < BENCH_INPUTS; i++) {
        cla_tensor_free(&s->x[i]);
    }
}

cla_status bench_op_run(bench *b, const bench_op *op)
{
    if (!bench_wants(b, op->suite, op->name)) {
        return CLA_OK;
    }
    op_state s = { .op = op };
    cla_status status = prepare(&s, b);
    if (!status) {
        bench_case c = {
            .suite = op->suite,
            .provider = op->provider,
            .flops = op->flops,
            .bytes = op->bytes,
            .run = step,
            .check = check,
            .state = &s,
        };
        memcpy(c.name, op->name, sizeof c.name);
        status = bench_run(b, &c);
    }
    release(&s);
    return status;
}
