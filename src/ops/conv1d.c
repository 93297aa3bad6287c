/* conv1d.c - convolution along packed sequences: a product of rows for each tap. */
#include "ops/conv1d.h"

#include "ops/activation.h"
#include "ops/linear.h"
#include "ops/product_group.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { TILE_RUN = 96 };                      // rows of a work-item
enum { WEIGHT_RUNS = 8, SHORTEST_RUN = 64 }; // most parts of dW, fewest rows of one

typedef struct saved {
    cla_tensor *y, *x, *w, *b;
    const cla_ragged *rows;
    cla_activation activation;
} saved;

/* One pass over the rows: forward, or for the gradient of x. */
typedef struct pass {
    const cla_memory *y, *x, *bias;
    const cla_tensor *w;
    const cla_ragged *rows;
    conv_shape shape;
    int flipped, add;
} pass;

conv_shape cla_conv1d_shape(const cla_tensor *x, const cla_tensor *w,
                            cla_activation activation)
{
    const int32_t taps = (int32_t)w->shape[0];
    return (conv_shape){ (int32_t)x->shape[0],
                         (int32_t)x->shape[1],
                         (int32_t)w->shape[2],
                         taps,
                         (taps - 1) / 2,
                         (int32_t)activation,
                         TILE_RUN };
}

/* Returns the arguments for dx: a convolution with reversed taps and w transposed. */
static conv_shape shape_back(const saved *s)
{
    const conv_shape f = cla_conv1d_shape(s->x, s->w, CLA_NONE);
    return (conv_shape){ f.rows, f.out, f.in, f.taps, f.taps - 1 - f.before, 0, f.run };
}

static double work(const conv_shape *s)
{
    return 2.0 * s->rows * s->taps * s->in * s->out;
}

static bool is_wide(const conv_shape *s)
{
    return s->in % 4 == 0 && s->out % 4 == 0;
}

/* ---- rows ----------------------------------------------------------------------- */

static cla_status rows_group(cla_runtime *rt, const pass *p)
{
    cla_launch launch = {
        .file = "conv1d",
        .kernel = "conv1d_rows",
        .groups = { (size_t)(cla_tiles_down(p->shape.rows) *
                             cla_tiles_across(p->shape.out)) },
        .args = { cla_mem(p->y), cla_mem(p->x), cla_buf(p->w), cla_mem(p->bias),
                  cla_mem(&p->rows->device_spans),
                  cla_bytes(&p->shape, sizeof p->shape), cla_i32(p->flipped),
                  cla_i32(p->add) },
        .flops = work(&p->shape),
    };
    cla_tile_launch(rt, &launch, 0, is_wide(&p->shape));
    return cla_enqueue(rt, &launch);
}

/* Packs w into panels, and makes a row of zeros for places outside a sequence. */
static cla_status pack(cla_tape *tape, const pass *p, cla_memory *panels,
                       cla_memory *zeros)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const conv_shape *s = &p->shape;
    const int64_t width = 2 * (int64_t)cla_vector_width(rt);
    const int64_t count = (s->out + width - 1) / width;
    CLA_TRY(cla_tape_scratch(
        tape, panels, (size_t)(count * s->taps * s->in * width) * sizeof(float)));
    CLA_TRY(cla_tape_scratch(tape, zeros, (size_t)s->in * sizeof(float)));
    CLA_TRY(cla_memory_fill(rt, zeros, 0));
    const cla_launch launch = {
        .file = "conv1d_tile",
        .kernel = "conv1d_pack",
        .define = { { "VEC", cla_vector_width(rt) } },
        .groups = { (size_t)s->taps, (size_t)count },
        .args = { cla_mem(panels), cla_buf(p->w), cla_bytes(s, sizeof *s),
                  cla_i32(p->flipped) },
    };
    return cla_enqueue(rt, &launch);
}

static cla_status rows_tile(cla_tape *tape, const pass *p)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_memory panels, zeros;
    CLA_TRY(pack(tape, p, &panels, &zeros));
    const cla_launch launch = {
        .file = "conv1d_tile",
        .kernel = "conv1d_rows",
        .define = { { "VEC", cla_vector_width(rt) } },
        .groups = { (size_t)((p->shape.rows + p->shape.run - 1) / p->shape.run) },
        .args = { cla_mem(p->y), cla_mem(p->x), cla_mem(&panels), cla_mem(p->bias),
                  cla_mem(&p->rows->device_spans), cla_mem(&zeros),
                  cla_bytes(&p->shape, sizeof p->shape), cla_i32(p->add) },
        .flops = work(&p->shape),
    };
    return cla_enqueue(rt, &launch);
}

static cla_status run_rows(cla_tape *tape, const pass *p)
{
    if (!p->shape.rows || !p->shape.out) {
        return CLA_OK;
    }
    cla_runtime *rt = cla_tape_runtime(tape);
    return cla_tiled(rt) ? rows_tile(tape, p) : rows_group(rt, p);
}

cla_status cla_conv1d_forward(cla_tape *tape, const cla_memory *y, const cla_tensor *x,
                              const cla_tensor *w, const cla_tensor *b,
                              const cla_ragged *rows, cla_activation activation)
{
    const pass p = { y, &x->memory, b ? &b->memory : NULL,
                     w, rows,       cla_conv1d_shape(x, w, activation),
                     0, 0 };
    return run_rows(tape, &p);
}

/* ---- backward ------------------------------------------------------------------- */

static cla_status backward_x(cla_tape *tape, const saved *s, const cla_memory *g)
{
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    const pass p = { dx ? &dx->memory : NULL, g, NULL, s->w, s->rows,
                     shape_back(s),           1, add };
    return dx ? run_rows(tape, &p) : CLA_OK;
}

/* Queues partial [runs,taps,in,width], the part of dW from each run of rows. width is
 * out, rounded up as in backward_w. */
static cla_status weight_runs(cla_tape *tape, const saved *s, const cla_memory *g,
                              const conv_shape *shape, const cla_memory *partial,
                              int64_t runs)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const bool tile = cla_tiled(rt);
    const int64_t tiles = cla_tiles_down(shape->in) * cla_tiles_across(shape->out);
    cla_launch launch = {
        .file = tile ? "conv1d_tile" : "conv1d",
        .kernel = "conv1d_weights",
        .groups = { tile ? (size_t)runs : (size_t)(runs * shape->taps),
                    tile ? (size_t)shape->taps : (size_t)tiles },
        .args = { cla_mem(partial), cla_buf(s->x), cla_mem(g),
                  cla_mem(&s->rows->device_spans), cla_bytes(shape, sizeof *shape) },
        .flops = work(shape),
    };
    if (tile) {
        launch.define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
    } else {
        cla_tile_launch(rt, &launch, 0, is_wide(shape));
    }
    return cla_enqueue(rt, &launch);
}

static cla_status backward_w(cla_tape *tape, const saved *s, const cla_tensor *dw,
                             const cla_memory *g, int add)
{
    enum { WG = 64 };
    cla_runtime *rt = cla_tape_runtime(tape);
    conv_shape shape = cla_conv1d_shape(s->x, s->w, CLA_NONE);
    const int32_t even = (shape.rows + WEIGHT_RUNS - 1) / WEIGHT_RUNS;
    shape.run = even < SHORTEST_RUN ? SHORTEST_RUN : even;
    const int64_t runs = (shape.rows + shape.run - 1) / shape.run;
    const int64_t panel = cla_tiled(rt) ? 2 * (int64_t)cla_vector_width(rt) : 1;
    const int64_t width = (shape.out + panel - 1) / panel * panel;
    cla_memory partial;
    CLA_TRY(cla_tape_scratch(tape, &partial,
                             (size_t)(runs * shape.taps * shape.in * width) * 4));
    CLA_TRY(weight_runs(tape, s, g, &shape, &partial, runs));
    const cla_launch launch = {
        .file = "conv1d",
        .kernel = "conv1d_sum",
        .define = { { "WG", WG } },
        .groups = { (size_t)((cla_size(dw) + WG - 1) / WG) },
        .local = { WG },
        .args = { cla_buf(dw), cla_mem(&partial), cla_bytes(&shape, sizeof shape),
                  cla_i32(runs), cla_i32(width), cla_i32(add) },
    };
    return cla_enqueue(rt, &launch);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dw = NULL;
    cla_memory g;
    int add = 0;
    CLA_TRY(cla_linear_tail(tape, s->b, s->y, dy, s->activation, &g));
    CLA_TRY(backward_x(tape, s, &g));
    CLA_TRY(cla_grad_out(tape, s->w, &dw, &add));
    return dw ? backward_w(tape, s, dw, &g, add) : CLA_OK;
}

/* ---- forward -------------------------------------------------------------------- */

cla_status cla_conv1d_check(const cla_signature *signature, const cla_given *given)
{
    cla_sizes z = { 0 };
    CLA_TRY(cla_signature_check(signature, given, &z));
    const bool taps = cla_sizes_get(&z, "K") > 0 && cla_sizes_get(&z, "in") > 0;
    return taps ? CLA_OK
                : cla_fail(CLA_E_SHAPE, "%s: w is %s; at least one tap and channel",
                           signature->op, cla_shape_text(given[1].tensor));
}

const cla_signature cla_conv1d_signature = {
    "conv1d", "x:N,in w:K,in,out b?:out rows(N,B) -> y:N,out"
};

/* Queues the convolution with an activation that fuses. */
static cla_status fused(cla_tape *tape, cla_tensor **y, saved s)
{
    const int64_t shape[2] = { s.x->shape[0], s.w->shape[2] };
    CLA_TRY(cla_tape_tensor(tape, &s.y, CLA_F32, 2, shape));
    CLA_TRY(
        cla_conv1d_forward(tape, &s.y->memory, s.x, s.w, s.b, s.rows, s.activation));
    const cla_note end = { backward, &s, sizeof s, { s.x, s.w, s.b } };
    return cla_tape_give(tape, y, s.y, &end);
}

cla_status cla_conv1d(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w,
                      cla_tensor *b, const cla_ragged *rows, cla_activation activation)
{
    CLA_OP(tape, y, x, w, rows);
    CLA_MAY(tape, b);
    CLA_TRY(cla_activation_check(__func__, activation, false));
    CLA_TRY(cla_conv1d_check(&cla_conv1d_signature,
                             (cla_given[]){ { x }, { w }, { b }, { .rows = rows } }));
    if (cla_activation_fuses(activation)) {
        return fused(tape, y, (saved){ NULL, x, w, b, rows, activation });
    }
    cla_tensor *z = NULL;
    CLA_TRY(fused(tape, &z, (saved){ NULL, x, w, b, rows, CLA_NONE }));
    return cla_activate(tape, y, z, activation);
}
