/* mix_levels.c - a weighted sum of tensors; the weights are a softmax. */
#include <stdlib.h>

#include "cl/mix_levels_args.h"
#include "ops/attention_common.h"
#include "ops/ham.h"
#include "ops/spread.h"

static const char OP[] = "mix_levels";

typedef struct saved {
    cla_tensor *out, *c;
    int64_t depth;
    cla_tensor *x[]; // [depth]
} saved;

static cla_status launch_forward(cla_tape *tape, const saved *s, int64_t first)
{
    const cla_tensor *x[MIX_AT_ONCE] = { NULL };
    mix_args args = { .count = (int32_t)cla_size(s->out),
                      .depth = (int32_t)s->depth,
                      .first = (int32_t)first };
    for (int64_t l = first; l < s->depth && args.given < MIX_AT_ONCE; l++) {
        x[args.given++] = s->x[l];
    }
    cla_launch launch = {
        .file = OP,
        .kernel = "mix_forward",
        .args = { cla_buf(s->out), cla_buf(x[0]), cla_buf(x[1]), cla_buf(x[2]),
                  cla_buf(x[3]), cla_buf(s->c), cla_bytes(&args, sizeof args) },
        .flops = 2.0 * args.given * args.count,
    };
    cla_spread_elements(cla_tape_runtime(tape), &launch, args.count);
    return launch.groups[0] ? cla_enqueue(cla_tape_runtime(tape), &launch) : CLA_OK;
}

static cla_status launch_backward(cla_tape *tape, const saved *s, int64_t l,
                                  const cla_tensor *dy, const cla_memory *partial)
{
    cla_tensor *dx = NULL;
    mix_args args = { .count = (int32_t)cla_size(s->out),
                      .depth = (int32_t)s->depth,
                      .first = (int32_t)l,
                      .given = 1 };
    CLA_TRY(cla_grad_out(tape, s->x[l], &dx, &args.mode));
    args.mode = dx ? args.mode : GRAD_SKIP;
    cla_launch launch = { .flops = 4.0 * args.count };
    cla_spread_elements(cla_tape_runtime(tape), &launch, args.count);
    launch.file = OP;
    launch.kernel = "mix_backward";
    const cla_arg given[] = { cla_buf(dx),
                              cla_mem(partial),
                              cla_buf(s->x[l]),
                              cla_buf(dy),
                              cla_buf(s->c),
                              cla_i32((int64_t)launch.groups[0]),
                              cla_bytes(&args, sizeof args) };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        launch.args[i] = given[i];
    }
    return launch.groups[0] ? cla_enqueue(cla_tape_runtime(tape), &launch) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->out);
    cla_launch spread = { .flops = 0 };
    cla_memory partial;
    if (!dy) {
        return CLA_OK;
    }
    cla_spread_elements(cla_tape_runtime(tape), &spread, cla_size(s->out));
    const size_t sums = (size_t)s->depth * spread.groups[0];
    CLA_TRY(cla_tape_scratch(tape, &partial, sums * sizeof(float)));
    for (int64_t l = 0; l < s->depth; l++) {
        CLA_TRY(launch_backward(tape, s, l, dy, &partial));
    }
    const ham_args args = { .depth = (int32_t)s->depth,
                            .runs = (int32_t)spread.groups[0],
                            .sequences = 1 };
    return cla_ham_weights(tape, s->c, &partial, args);
}

/* Checks the tensors, queues their sum and records the backward step. */
static cla_status run(cla_tape *tape, saved *s)
{
    const cla_tensor *like = s->x[0];
    if (!like) {
        return cla_fail(CLA_E_USAGE, "%s: x[0] is NULL", OP);
    }
    for (int64_t l = 0; l < s->depth; l++) {
        CLA_TRY(cla_check_shape(OP, "x[l]", s->x[l], CLA_F32, like->rank, like->shape));
    }
    CLA_TRY(cla_tape_tensor(tape, &s->out, CLA_F32, like->rank, like->shape));
    for (int64_t l = 0; l < s->depth; l += MIX_AT_ONCE) {
        CLA_TRY(launch_forward(tape, s, l));
    }
    const bool mixed = cla_tape_needs_grad(tape, 1, &s->c);
    s->out->wants_grad = cla_tape_needs_grad(tape, (int)s->depth, s->x) || mixed;
    return s->out->wants_grad
               ? cla_tape_record(tape, backward, s,
                                 sizeof *s + (size_t)s->depth * sizeof *s->x,
                                 (cla_tensor *[CLA_RESULTS]){ s->out })
               : CLA_OK;
}

cla_status cla_mix_levels(cla_tape *tape, cla_tensor **out, cla_tensor *const *x,
                          cla_tensor *c)
{
    CLA_OP(tape, out, x, c);
    saved *s = NULL;
    CLA_TRY(cla_ham_check_weights(OP, c));
    const size_t depth = (size_t)c->shape[0];
    for (size_t i = 0; i < depth; i++) {
        CLA_MAY(tape, x[i]);
    }
    s = calloc(1, sizeof *s + depth * sizeof *s->x);
    if (!s) {
        return cla_fail(CLA_E_NOMEM, "%s: %zu tensors", OP, depth);
    }
    s->c = c;
    s->depth = (int64_t)depth;
    for (size_t l = 0; l < depth; l++) {
        s->x[l] = x[l];
    }
    const cla_status status = run(tape, s);
    *out = status ? NULL : s->out;
    free(s);
    return status;
}
