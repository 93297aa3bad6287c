/* cross_entropy.c - cross entropy, fused with the log-softmax. */
#include "cl/cross_entropy_args.h"
#include "clattn/hard.h"
#include "clattn/ops.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { RUN = 8 }; // rows of a work-group

typedef struct saved {
    cla_tensor *loss, *x;
    const cla_tensor *targets, *factor; // factor [N]; NULL: ones
    cla_memory lse, weight;             // [N], [1]
    float smoothing;
} saved;

static entropy_shape shape_of(const saved *s)
{
    const int32_t columns = (int32_t)s->x->shape[1];
    return (entropy_shape){ (int32_t)s->x->shape[0], columns, RUN, 1 - s->smoothing,
                            columns > 1 ? s->smoothing / (float)(columns - 1) : 0 };
}

static cla_status launch_rows(cla_runtime *rt, const saved *s, cla_launch *launch)
{
    cla_spread_each_row(rt, launch, s->x->shape[0], CLA_WG, RUN);
    launch->file = "cross_entropy";
    launch->flops = 8.0 * (double)cla_size(s->x);
    return cla_enqueue(rt, launch);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dloss = cla_grad_in(s->loss);
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    const entropy_shape shape = shape_of(s);
    cla_launch launch = {
        .kernel = "cross_entropy_backward",
        .args = { cla_buf(dx), cla_buf(s->x), cla_mem(&s->lse), cla_buf(s->targets),
                  cla_buf(s->factor), cla_mem(&s->weight), cla_buf(dloss),
                  cla_bytes(&shape, sizeof shape), cla_i32(add) },
    };
    return launch_rows(cla_tape_runtime(tape), s, &launch);
}

/* Queues the log-sum-exp and cost of each row, then the mean cost. */
static cla_status forward(cla_tape *tape, saved *s)
{
    enum { GROUP_SIZE = 64 };
    cla_runtime *rt = cla_tape_runtime(tape);
    const entropy_shape shape = shape_of(s);
    const size_t bytes = (size_t)shape.rows * sizeof(float);
    cla_memory cost;
    CLA_TRY(cla_tape_scratch(tape, &s->lse, bytes));
    CLA_TRY(cla_tape_scratch(tape, &cost, bytes));
    CLA_TRY(cla_tape_scratch(tape, &s->weight, sizeof(float)));
    cla_launch rows = {
        .kernel = "cross_entropy_rows",
        .args = { cla_mem(&s->lse), cla_mem(&cost), cla_buf(s->x), cla_buf(s->targets),
                  cla_buf(s->factor), cla_bytes(&shape, sizeof shape) },
    };
    CLA_TRY(launch_rows(rt, s, &rows));
    const cla_launch mean = {
        .file = "cross_entropy",
        .kernel = "cross_entropy_mean",
        .define = { { "WG", GROUP_SIZE } },
        .groups = { 1 },
        .local = { GROUP_SIZE },
        .args = { cla_buf(s->loss), cla_mem(&s->weight), cla_mem(&cost),
                  cla_buf(s->targets), cla_bytes(&shape, sizeof shape) },
    };
    return cla_enqueue(rt, &mean);
}

const cla_signature cla_cross_entropy_signature = {
    "cross_entropy", "logits:N,V targets:N:i32 factor?:N -> loss:1"
};

static cla_status check(const cla_tensor *logits, const cla_tensor *targets,
                        const cla_tensor *factor, float smoothing)
{
    static const char op[] = "cross_entropy";
    CLA_TRY(cla_signature_check(&cla_cross_entropy_signature,
                                (cla_given[]){ { logits }, { targets }, { factor } },
                                &(cla_sizes){ 0 }));
    if (logits->shape[1] < 1) {
        return cla_fail(CLA_E_SHAPE, "%s: logits is %s, without a class", op,
                        cla_shape_text(logits));
    }
    if (!(smoothing >= 0 && smoothing < 1) || (smoothing > 0 && logits->shape[1] < 2)) {
        return cla_fail(CLA_E_USAGE,
                        "%s: smoothing is %g, must be in [0,1), and 0 for one class",
                        op, (double)smoothing);
    }
    return CLA_OK;
}

cla_status cla_cross_entropy(cla_tape *tape, cla_tensor **loss, cla_tensor *logits,
                             const cla_tensor *targets, float smoothing)
{
    CLA_OP(tape, loss, logits, targets);
    return cla_weighted_cross_entropy(tape, loss, logits, targets, smoothing, NULL);
}

cla_status cla_weighted_cross_entropy(cla_tape *tape, cla_tensor **loss,
                                      cla_tensor *logits, const cla_tensor *targets,
                                      float smoothing, const cla_tensor *factor)
{
    CLA_OP(tape, loss, logits, targets);
    CLA_MAY(tape, factor);
    saved s = {
        .x = logits, .targets = targets, .factor = factor, .smoothing = smoothing
    };
    CLA_TRY(check(logits, targets, factor, smoothing));
    CLA_TRY(cla_tape_tensor(tape, &s.loss, CLA_F32, 1, (int64_t[]){ 1 }));
    CLA_TRY(forward(tape, &s));
    const cla_note end = { backward, &s, sizeof s, { logits } };
    return cla_tape_give(tape, loss, s.loss, &end);
}
