/* elementwise.c - concatenated columns, and heads scaled by learned factors. */
#include "cl/elementwise_args.h"
#include "clattn/ops.h"
#include "ops/column_sum.h"
#include "ops/columns.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { RUN = 8 }; // rows of a work-group

/* ---- concat --------------------------------------------------------------------- */

typedef struct saved_concat {
    cla_tensor *y, *part[2];
} saved_concat;

cla_status cla_copy_columns(cla_runtime *rt, const cla_tensor *to,
                            const cla_tensor *from, const columns_shape *s, int add)
{
    cla_launch launch = {
        .file = "elementwise",
        .kernel = "columns_copy",
        .args = { cla_buf(to), cla_buf(from), cla_bytes(s, sizeof *s), cla_i32(add) },
    };
    cla_spread_rows(rt, &launch, s->columns ? s->rows : 0, CLA_COLUMNS_RUN);
    return cla_enqueue(rt, &launch);
}

static cla_status launch_concat(cla_runtime *rt, cla_launch *launch,
                                const saved_concat *s, int adds)
{
    const concat_shape shape = { (int32_t)s->y->shape[0],
                                 { (int32_t)s->part[0]->shape[1],
                                   (int32_t)s->part[1]->shape[1] },
                                 CLA_COLUMNS_RUN,
                                 adds };
    launch->file = "elementwise";
    launch->args[3] = cla_bytes(&shape, sizeof shape);
    cla_spread_rows(rt, launch, cla_size(s->y) ? shape.rows : 0, CLA_COLUMNS_RUN);
    return cla_enqueue(rt, launch);
}

/* Gets the gradients of two inputs; bit i of *adds: the kernel must add to to[i]. */
static cla_status two_grads(cla_tape *tape, cla_tensor *const x[2], cla_tensor *to[2],
                            int *adds)
{
    *adds = 0;
    for (int i = 0; i < 2; i++) {
        int add = 0;
        CLA_TRY(cla_grad_out(tape, x[i], &to[i], &add));
        *adds |= add << i;
    }
    return CLA_OK;
}

static cla_status concat_backward(cla_tape *tape, void *bytes)
{
    const saved_concat *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *to[2] = { NULL };
    int adds = 0;
    CLA_TRY(two_grads(tape, s->part, to, &adds));
    cla_launch launch = {
        .kernel = "concat_backward",
        .args = { cla_buf(to[0]), cla_buf(to[1]), cla_buf(dy) },
    };
    return to[0] || to[1] ? launch_concat(cla_tape_runtime(tape), &launch, s, adds)
                          : CLA_OK;
}

const cla_signature cla_concat_signature = { "concat", "a:N,Ca b:N,Cb -> y:N,Ca+Cb" };

cla_status cla_concat(cla_tape *tape, cla_tensor **y, cla_tensor *a, cla_tensor *b)
{
    CLA_OP(tape, y, a, b);
    saved_concat s = { NULL, { a, b } };
    CLA_TRY(cla_signature_check(&cla_concat_signature, (cla_given[]){ { a }, { b } },
                                &(cla_sizes){ 0 }));
    const int64_t shape[2] = { a->shape[0], a->shape[1] + b->shape[1] };
    CLA_TRY(cla_tape_tensor(tape, &s.y, CLA_F32, 2, shape));
    cla_launch launch = {
        .kernel = "concat_forward",
        .args = { cla_buf(s.y), cla_buf(a), cla_buf(b) },
    };
    CLA_TRY(launch_concat(cla_tape_runtime(tape), &launch, &s, 0));
    const cla_note end = { concat_backward, &s, sizeof s, { a, b } };
    return cla_tape_give(tape, y, s.y, &end);
}

/* ---- scaled heads --------------------------------------------------------------- */

typedef struct saved_heads {
    cla_tensor *y, *x, *gamma;
} saved_heads;

static heads_shape shape_of(const cla_tensor *x)
{
    return (heads_shape){ (int32_t)x->shape[0], (int32_t)x->shape[1],
                          (int32_t)x->shape[2], RUN,
                          (int32_t)x->offset,   (int32_t)x->stride };
}

static cla_status heads_backward(cla_tape *tape, void *bytes)
{
    const saved_heads *s = bytes;
    cla_runtime *rt = cla_tape_runtime(tape);
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dx = NULL, *dgamma = NULL;
    int add = 0, add_gamma = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    CLA_TRY(cla_grad_out(tape, s->gamma, &dgamma, &add_gamma));
    const heads_shape shape = shape_of(s->x);
    const bool tile = cla_tiled(rt);
    cla_launch launch = {
        .file = tile ? "elementwise_tile" : "elementwise",
        .kernel = "scale_heads_backward",
        .args = { cla_buf(dx), cla_mem(NULL), cla_buf(s->x), cla_buf(dy),
                  cla_buf(s->gamma), cla_bytes(&shape, sizeof shape), cla_i32(add) },
    };
    cla_spread_rows(rt, &launch, shape.rows, RUN);
    if (tile) {
        launch.define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
    }
    cla_memory sums;
    const cla_partials partials = { &sums, (int64_t)launch.groups[0], 0, shape.heads };
    CLA_TRY(cla_tape_scratch(tape, &sums, (size_t)(partials.rows * shape.heads) * 4));
    launch.args[1] = dgamma ? cla_mem(&sums) : launch.args[1];
    CLA_TRY(cla_enqueue(rt, &launch));
    return dgamma ? cla_column_sum(rt, dgamma, &partials, add_gamma) : CLA_OK;
}

const cla_signature cla_scale_heads_signature = { "scale_heads",
                                                  "x~:N,H,d gamma:H -> y:N,H,d" };

cla_status cla_scale_heads(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                           cla_tensor *gamma)
{
    CLA_OP(tape, y, x, gamma);
    cla_tensor *out = NULL;
    CLA_TRY(cla_signature_check(&cla_scale_heads_signature,
                                (cla_given[]){ { x }, { gamma } }, &(cla_sizes){ 0 }));
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 3, x->shape));
    const heads_shape shape = shape_of(x);
    cla_launch launch = {
        .file = "elementwise",
        .kernel = "scale_heads_forward",
        .args = { cla_buf(out), cla_buf(x), cla_buf(gamma),
                  cla_bytes(&shape, sizeof shape) },
    };
    cla_spread_rows(cla_tape_runtime(tape), &launch, shape.rows, RUN);
    CLA_TRY(cla_enqueue(cla_tape_runtime(tape), &launch));
    const saved_heads s = { out, x, gamma };
    const cla_note end = { heads_backward, &s, sizeof s, { x, gamma } };
    return cla_tape_give(tape, y, out, &end);
}
