/* layer_norm.c - normalises rows to mean 0 and deviation 1, scales and shifts them; or
 * to root mean square 1 and scales them. */
#include "cl/layer_norm_args.h"
#include "clattn/feed.h"
#include "clattn/ops.h"
#include "ops/column_sum.h"
#include "ops/spread.h"
#include "tensor/signature.h"

const cla_signature cla_layer_norm_signature = { "layer_norm",
                                                 "x:N,D gamma:D beta:D -> y:N,D" };
const cla_signature cla_rms_norm_signature = { "rms_norm", "x:N,D gamma:D -> y:N,D" };

enum { RUN = 8, SUM_RUN = 32 }; // rows of a work-group; of one that sums them

typedef struct saved {
    cla_tensor *y, *x, *gamma, *beta; // beta NULL: rms_norm
    cla_memory moments;               // [N,2]
    float eps;
} saved;

static norm_shape shape_of(const saved *s, int32_t run)
{
    return (norm_shape){ (int32_t)s->x->shape[0], (int32_t)s->x->shape[1], run,
                         s->eps };
}

/* Adds the define that makes the kernels those of rms_norm. */
static void choose(const saved *s, cla_launch *launch)
{
    if (!s->beta) {
        cla_launch_define(launch, "CENTRED", 0);
    }
}

static cla_status launch_rows(cla_runtime *rt, const saved *s, cla_launch *launch)
{
    cla_spread_each_row(rt, launch, cla_size(s->x) ? s->x->shape[0] : 0, CLA_WG, RUN);
    launch->file = "layer_norm";
    launch->flops = 10.0 * (double)cla_size(s->x);
    choose(s, launch);
    return cla_enqueue(rt, launch);
}

/* Queues sums [runs,2,D], the parts of dgamma and dbeta from each run of rows. */
static cla_status sum_runs(cla_tape *tape, const saved *s, const cla_tensor *dy,
                           cla_memory *sums, int64_t runs)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const norm_shape shape = shape_of(s, SUM_RUN);
    CLA_TRY(cla_tape_scratch(tape, sums, (size_t)(runs * 2 * shape.columns) * 4));
    cla_launch launch = {
        .file = "layer_norm",
        .kernel = "layer_norm_columns",
        .args = { cla_mem(sums), cla_buf(s->x), cla_buf(dy), cla_mem(&s->moments),
                  cla_bytes(&shape, sizeof shape) },
    };
    cla_spread_each_row(rt, &launch, shape.rows, CLA_WG, SUM_RUN);
    launch.groups[0] = (size_t)runs;
    launch.groups[1] = cla_tiled(rt) ? 1 : (size_t)cla_pieces(shape.columns, CLA_WG);
    choose(s, &launch);
    return cla_enqueue(rt, &launch);
}

/* The gradients of x, gamma and beta; NULL if not wanted. */
typedef struct gradients {
    cla_tensor *x, *gain[2];
    int add_x, add[2];
} gradients;

static cla_status backward_x(cla_runtime *rt, const saved *s, const cla_tensor *dy,
                             const gradients *g)
{
    const norm_shape shape = shape_of(s, RUN);
    cla_launch launch = {
        .kernel = "layer_norm_backward",
        .args = { cla_buf(g->x), cla_buf(s->x), cla_buf(dy), cla_buf(s->gamma),
                  cla_mem(&s->moments), cla_bytes(&shape, sizeof shape),
                  cla_i32(g->add_x) },
    };
    return launch_rows(rt, s, &launch);
}

/* Queues all gradients in one launch, for few rows under the group schedule. */
static cla_status backward_at_once(cla_runtime *rt, const saved *s,
                                   const cla_tensor *dy, const gradients *g)
{
    const norm_shape shape = shape_of(s, SUM_RUN);
    const bool gains = g->gain[0] || g->gain[1];
    const size_t above = g->x ? ((size_t)shape.rows + NORM_ROWS - 1) / NORM_ROWS : 0;
    const size_t columns = ((size_t)shape.columns + NORM_COLUMNS - 1) / NORM_COLUMNS;
    cla_launch launch = {
        .file = "layer_norm",
        .kernel = "layer_norm_gradients",
        .define = { { "WG", CLA_WG } },
        .groups = { above + (gains ? columns : 0) },
        .local = { (size_t)NORM_COLUMNS * NORM_LANES },
        .args = { cla_buf(g->x), cla_buf(g->gain[0]), cla_buf(g->gain[1]),
                  cla_buf(s->x), cla_buf(dy), cla_buf(s->gamma), cla_mem(&s->moments),
                  cla_bytes(&shape, sizeof shape),
                  cla_i32(g->add[0] | g->add[1] << 1 | g->add_x << 2) },
        .flops = 14.0 * (double)cla_size(s->x),
    };
    choose(s, &launch);
    return cla_enqueue(rt, &launch);
}

static cla_status backward_columns(cla_tape *tape, const saved *s, const cla_tensor *dy,
                                   const gradients *g)
{
    const int64_t columns = s->x->shape[1];
    const int64_t runs = (s->x->shape[0] + SUM_RUN - 1) / SUM_RUN;
    cla_memory sums = { 0 };
    if (!g->gain[0] && !g->gain[1]) {
        return CLA_OK;
    }
    CLA_TRY(sum_runs(tape, s, dy, &sums, runs));
    for (int64_t i = 0; i < 2; i++) {
        const cla_partials partials = { &sums, runs, i * columns, 2 * columns };
        const cla_status summed = g->gain[i]
                                      ? cla_column_sum(cla_tape_runtime(tape),
                                                       g->gain[i], &partials, g->add[i])
                                      : CLA_OK;
        CLA_TRY(summed);
    }
    return CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    cla_runtime *rt = cla_tape_runtime(tape);
    const cla_tensor *dy = cla_grad_in(s->y);
    gradients g = { .x = NULL };
    CLA_TRY(cla_grad_out(tape, s->x, &g.x, &g.add_x));
    CLA_TRY(cla_grad_out(tape, s->gamma, &g.gain[0], &g.add[0]));
    CLA_TRY(s->beta ? cla_grad_out(tape, s->beta, &g.gain[1], &g.add[1]) : CLA_OK);
    if (!cla_tiled(rt) && s->x->shape[0] <= (int64_t)NORM_RUNS * SUM_RUN) {
        return backward_at_once(rt, s, dy, &g);
    }
    CLA_TRY(g.x ? backward_x(rt, s, dy, &g) : CLA_OK);
    return backward_columns(tape, s, dy, &g);
}

/* Queues the forward pass and records the backward pass. */
static cla_status normalise(cla_tape *tape, cla_tensor **y, saved *s)
{
    const char *op = s->beta ? "layer_norm" : "rms_norm";
    if (!(s->eps >= 0)) {
        return cla_fail(CLA_E_USAGE, "%s: eps is %g, must be 0 or more", op,
                        (double)s->eps);
    }
    CLA_TRY(cla_tape_tensor(tape, &s->y, CLA_F32, 2, s->x->shape));
    CLA_TRY(cla_tape_scratch(tape, &s->moments, (size_t)s->x->shape[0] * 2 * 4));
    const norm_shape shape = shape_of(s, RUN);
    cla_launch launch = {
        .kernel = "layer_norm_forward",
        .args = { cla_buf(s->y), cla_mem(&s->moments), cla_buf(s->x), cla_buf(s->gamma),
                  cla_buf(s->beta), cla_bytes(&shape, sizeof shape) },
    };
    CLA_TRY(launch_rows(cla_tape_runtime(tape), s, &launch));
    const cla_note end = { backward, s, sizeof *s, { s->x, s->gamma, s->beta } };
    return cla_tape_give(tape, y, s->y, &end);
}

cla_status cla_layer_norm(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                          cla_tensor *gamma, cla_tensor *beta, float eps)
{
    CLA_OP(tape, y, x, gamma, beta);
    saved s = { .x = x, .gamma = gamma, .beta = beta, .eps = eps };
    CLA_TRY(cla_signature_check(&cla_layer_norm_signature,
                                (cla_given[]){ { x }, { gamma }, { beta } },
                                &(cla_sizes){ 0 }));
    return normalise(tape, y, &s);
}

cla_status cla_rms_norm(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                        cla_tensor *gamma, float eps)
{
    CLA_OP(tape, y, x, gamma);
    saved s = { .x = x, .gamma = gamma, .eps = eps };
    CLA_TRY(cla_signature_check(&cla_rms_norm_signature,
                                (cla_given[]){ { x }, { gamma } }, &(cla_sizes){ 0 }));
    return normalise(tape, y, &s);
}
