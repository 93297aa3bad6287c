/* depthwise_conv1d.c - convolution along packed sequences, each channel by itself. */
#include "cl/depthwise_conv1d_args.h"
#include "clattn/ops.h"
#include "ops/column_sum.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { RUN = 8, WEIGHT_GROUPS = 64 }; // rows of a work-group; most parts of dW

typedef struct saved {
    cla_tensor *y, *x, *w;
    const cla_ragged *rows;
} saved;

static depthwise_shape shape_of(const saved *s)
{
    const int32_t taps = (int32_t)s->w->shape[0];
    return (depthwise_shape){ (int32_t)s->x->shape[0], (int32_t)s->x->shape[1], taps,
                              (taps - 1) / 2, RUN };
}

/* Queues y or, if turned, dx, which is the same convolution with reversed taps. */
static cla_status pass(cla_runtime *rt, const saved *s, const cla_tensor *to,
                       const cla_tensor *from, bool turned, int add)
{
    depthwise_shape shape = shape_of(s);
    shape.before = turned ? shape.taps - 1 - shape.before : shape.before;
    cla_launch launch = {
        .file = "depthwise_conv1d",
        .kernel = "depthwise_conv1d_rows",
        .args = { cla_buf(to), cla_buf(from), cla_buf(s->w),
                  cla_mem(&s->rows->device_spans), cla_bytes(&shape, sizeof shape),
                  cla_i32(turned), cla_i32(add) },
        .flops = 2.0 * shape.taps * (double)cla_size(s->x),
    };
    cla_spread_rows(rt, &launch, shape.rows, RUN);
    return cla_enqueue(rt, &launch);
}

static cla_status back_to_weights(cla_tape *tape, const saved *s, const cla_tensor *dy)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_tensor *dw = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->w, &dw, &add));
    if (!dw) {
        return CLA_OK;
    }
    depthwise_shape shape = shape_of(s);
    const int32_t most = (shape.rows + WEIGHT_GROUPS - 1) / WEIGHT_GROUPS;
    shape.run = most > RUN ? most : RUN;
    cla_launch launch = {
        .file = "depthwise_conv1d",
        .kernel = "depthwise_conv1d_weights",
        .flops = 2.0 * shape.taps * (double)cla_size(s->x),
    };
    cla_spread_rows(rt, &launch, shape.rows, shape.run);
    if (!cla_tiled(rt)) {
        launch.groups[1] = (size_t)(shape.taps * cla_pieces(shape.columns, CLA_WG));
    }
    cla_memory sums;
    const int64_t columns = cla_size(s->w);
    const cla_partials partials = { &sums, (int64_t)launch.groups[0], 0, columns };
    CLA_TRY(cla_tape_scratch(tape, &sums, (size_t)(partials.rows * columns) * 4));
    launch.args[0] = cla_mem(&sums);
    launch.args[1] = cla_buf(s->x);
    launch.args[2] = cla_buf(dy);
    launch.args[3] = cla_mem(&s->rows->device_spans);
    launch.args[4] = cla_bytes(&shape, sizeof shape);
    CLA_TRY(cla_enqueue(rt, &launch));
    return cla_column_sum(rt, dw, &partials, add);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    CLA_TRY(dx ? pass(cla_tape_runtime(tape), s, dx, dy, true, add) : CLA_OK);
    return back_to_weights(tape, s, dy);
}

const cla_signature cla_depthwise_conv1d_signature = {
    "depthwise_conv1d", "x:N,D w:K,D rows(N,B) -> y:N,D"
};

cla_status cla_depthwise_conv1d(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                cla_tensor *w, const cla_ragged *rows)
{
    CLA_OP(tape, y, x, w, rows);
    saved s = { NULL, x, w, rows };
    CLA_TRY(cla_signature_check(&cla_depthwise_conv1d_signature,
                                (cla_given[]){ { x }, { w }, { .rows = rows } },
                                &(cla_sizes){ 0 }));
    if (!cla_size(w)) {
        return cla_fail(CLA_E_SHAPE, "%s: w is %s; at least one tap and channel",
                        cla_depthwise_conv1d_signature.op, cla_shape_text(w));
    }
    CLA_TRY(cla_tape_tensor(tape, &s.y, CLA_F32, 2, x->shape));
    CLA_TRY(pass(cla_tape_runtime(tape), &s, s.y, x, false, 0));
    const cla_note end = { backward, &s, sizeof s, { x, w } };
    return cla_tape_give(tape, y, s.y, &end);
}
