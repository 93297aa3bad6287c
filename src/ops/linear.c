/* linear.c - the linear layer: a product with fused bias, activation and residual. */
#include "ops/linear.h"

#include "cl/linear_args.h"
#include "clattn/feed.h"
#include "ops/activation.h"
#include "ops/matmul.h"
#include "tensor/signature.h"

typedef struct saved {
    cla_tensor *x, *w, *b, *residual, *y;
    cla_tensor *h; // act(x w + b) if backward needs it beside y, else y
    cla_activation activation;
    bool tied; // w is [out,in]
} saved;

enum { RUN = 128 }; // rows summed at a time for the gradient of b

static linear_shape shape_of(const cla_tensor *h, cla_activation activation)
{
    const int64_t rows = h->shape[0];
    return (linear_shape){ .rows = (int32_t)rows,
                           .cols = (int32_t)h->shape[1],
                           .run = RUN,
                           .runs = (int32_t)((rows + RUN - 1) / RUN),
                           .activation = (int32_t)activation };
}

/* Queues a kernel of either schedule over count columns or elements, in each of `times`
 * runs. Both files have the same kernels. */
static cla_status launch_over(cla_runtime *rt, cla_launch *launch, int64_t count,
                              int64_t tile_width, int64_t times)
{
    enum { WG = 64 };
    int64_t width = WG;
    if (cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE) {
        launch->file = "linear_tile";
        launch->define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
        width = tile_width;
    } else {
        launch->file = "linear";
        launch->define[0] = (cla_define){ "WG", WG };
        launch->local[0] = WG;
    }
    launch->groups[0] = (size_t)((count + width - 1) / width * times);
    return cla_enqueue(rt, launch);
}

/* Queues y = a + b, element by element. */
static cla_status add_into(cla_runtime *rt, const cla_tensor *y, const cla_tensor *a,
                           const cla_tensor *b)
{
    enum { STRIP_ADD = 4096 }; // as in cl/linear_tile.cl
    cla_launch launch = {
        .kernel = "linear_add",
        .args = { cla_buf(y), cla_buf(a), cla_buf(b), cla_i32(cla_size(y)) },
        .flops = (double)cla_size(y),
    };
    return launch_over(rt, &launch, cla_size(y), STRIP_ADD, 1);
}

/* ---- backward ---------------------------------------------------------------- */

static cla_status backward_residual(cla_tape *tape, const saved *s,
                                    const cla_tensor *dy)
{
    cla_tensor *dr = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->residual, &dr, &add));
    if (!dr) {
        return CLA_OK;
    }
    return add ? add_into(cla_tape_runtime(tape), dr, dr, dy)
               : cla_memory_copy(cla_tape_runtime(tape), &dr->memory, 0, &dy->memory, 0,
                                 (size_t)cla_size(dr) * 4);
}

/* The backward pass of a bias and an activation. */
typedef struct tail {
    const cla_tensor *h, *dy;
    const cla_memory *g; // NULL: no activation
    cla_tensor *db;      // NULL: no bias
    int add;
    linear_shape shape;
} tail;

static cla_status tail_at_once(cla_runtime *rt, const tail *t)
{
    const cla_launch launch = {
        .file = "linear",
        .kernel = "linear_gradients",
        .groups = { ((size_t)t->shape.cols + LINEAR_COLUMNS - 1) / LINEAR_COLUMNS },
        .local = { (size_t)LINEAR_COLUMNS * LINEAR_RUNS },
        .args = { cla_mem(t->g), cla_buf(t->db), cla_buf(t->dy),
                  cla_buf(t->g ? t->h : NULL), cla_bytes(&t->shape, sizeof t->shape),
                  cla_i32(t->add) },
        .flops = 4.0 * (double)cla_size(t->h),
    };
    return cla_enqueue(rt, &launch);
}

static cla_status tail_in_runs(cla_tape *tape, const tail *t)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const linear_shape shape = t->shape;
    cla_memory partial = { 0 };
    if (t->db) {
        CLA_TRY(cla_tape_scratch(tape, &partial,
                                 (size_t)shape.runs * (size_t)shape.cols * 4));
    }
    const int64_t strip = 2 * (int64_t)cla_vector_width(rt); // as in cl/linear_tile.cl
    cla_launch gradient = {
        .kernel = "linear_gradient",
        .args = { cla_mem(t->g), cla_mem(t->db ? &partial : NULL), cla_buf(t->dy),
                  cla_buf(t->g ? t->h : NULL), cla_bytes(&shape, sizeof shape) },
        .flops = 4.0 * (double)cla_size(t->h),
    };
    CLA_TRY(launch_over(rt, &gradient, shape.cols, strip, shape.runs));
    cla_launch bias = {
        .kernel = "linear_bias",
        .args = { cla_buf(t->db), cla_mem(&partial), cla_bytes(&shape, sizeof shape),
                  cla_i32(t->add) },
        .flops = (double)shape.runs * shape.cols,
    };
    return t->db ? launch_over(rt, &bias, shape.cols, strip, 1) : CLA_OK;
}

cla_status cla_linear_tail(cla_tape *tape, cla_tensor *b, const cla_tensor *h,
                           const cla_tensor *dy, cla_activation activation,
                           cla_memory *g)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_tensor *db = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, b, &db, &add));
    const linear_shape shape = shape_of(h, activation);
    const bool active = activation != CLA_NONE;
    *g = dy->memory;
    if (active) {
        CLA_TRY(cla_tape_scratch(tape, g, (size_t)cla_size(h) * 4));
    }
    const tail t = { h, dy, active ? g : NULL, db, add, shape };
    const bool group = cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP;
    if (db && group && shape.rows && shape.runs <= LINEAR_RUNS) {
        return tail_at_once(rt, &t);
    }
    return active || db ? tail_in_runs(tape, &t) : CLA_OK;
}

/* Queues dx = g w', dw = x' g; tied: dx = g w, dw = g' x. */
static cla_status backward_products(cla_tape *tape, const saved *s, const cla_memory *g)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const int64_t N = s->x->shape[0], in = s->x->shape[1], out = s->h->shape[1];
    cla_tensor *dx = NULL, *dw = NULL;
    int add_x = 0, add_w = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add_x));
    if (dx) {
        const cla_product p = {
            .M = N,
            .N = in,
            .K = out,
            .transpose_b = !s->tied,
            .a = { .memory = g },
            .b = { .memory = &s->w->memory },
            .y = { .memory = &dx->memory },
            .add = add_x,
            .weights = s->w,
        };
        CLA_TRY(cla_product_run(rt, &p));
    }
    CLA_TRY(cla_grad_out(tape, s->w, &dw, &add_w));
    const cla_product p = {
        .M = s->tied ? out : in,
        .N = s->tied ? in : out,
        .K = N,
        .transpose_a = true,
        .a = { .memory = s->tied ? g : &s->x->memory },
        .b = { .memory = s->tied ? &s->x->memory : g },
        .y = { .memory = dw ? &dw->memory : NULL },
        .add = add_w,
    };
    return dw ? cla_product_run(rt, &p) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_memory g;
    CLA_TRY(backward_residual(tape, s, dy));
    CLA_TRY(cla_linear_tail(tape, s->b, s->h, dy, s->activation, &g));
    return backward_products(tape, s, &g);
}

const cla_signature cla_linear_signature = {
    "linear", "x:N,in w^:in,out b?:out residual?:N,out -> y:N,out"
};

const cla_signature cla_tied_linear_signature = {
    "tied_linear", "x:N,in w^:out,in b?:out -> y:N,out"
};

/* ---- forward ----------------------------------------------------------------- */

/* Fails if a gradient is wanted and w is stored in fewer bits than floats. */
static cla_status check_way_back(const char *op, const cla_tensor *w, bool wanted)
{
    return wanted && cla_stored(w)
               ? cla_fail(CLA_E_USAGE, "%s: w holds %s, which has no way back", op,
                          cla_dtype_name(w->dtype))
               : CLA_OK;
}

static cla_status forward(cla_tape *tape, const saved *s)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const bool apart = s->h != s->y; // y is computed from h afterwards
    const cla_product p = {
        .M = s->x->shape[0],
        .N = s->h->shape[1],
        .K = s->x->shape[1],
        .transpose_b = s->tied,
        .a = { .memory = &s->x->memory },
        .b = { .memory = &s->w->memory },
        .y = { .memory = &s->h->memory },
        .residual = { .memory = s->residual && !apart ? &s->residual->memory : NULL },
        .bias = s->b ? &s->b->memory : NULL,
        .activation = s->activation,
        .weights = s->w,
        .infers = !cla_tape_training(tape),
    };
    CLA_TRY(cla_product_run(rt, &p));
    return apart ? add_into(rt, s->y, s->h, s->residual) : CLA_OK;
}

/* Queues the layer with an activation that fuses. */
static cla_status fused(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w,
                        cla_tensor *b, cla_activation activation, cla_tensor *residual)
{
    const int64_t shape[] = { x->shape[0], w->shape[1] };
    cla_tensor *out = NULL, *h = NULL;
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 2, shape));
    const bool wanted =
        cla_tape_needs_grad(tape, 4, (cla_tensor *[]){ x, w, b, residual });
    CLA_TRY(check_way_back("linear", w, wanted));
    h = out;
    if (wanted && residual && activation != CLA_NONE) {
        CLA_TRY(cla_tape_tensor(tape, &h, CLA_F32, 2, shape));
    }
    const saved s = { x, w, b, residual, out, h, activation, false };
    CLA_TRY(forward(tape, &s));
    const cla_note end = { backward, &s, sizeof s, { x, w, b, residual } };
    return cla_tape_give(tape, y, out, &end);
}

cla_status cla_linear(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w,
                      cla_tensor *b, cla_activation activation, cla_tensor *residual)
{
    CLA_OP(tape, y, x, w);
    CLA_MAY(tape, b, residual);
    CLA_TRY(cla_activation_check(__func__, activation, false));
    CLA_TRY(cla_signature_check(&cla_linear_signature,
                                (cla_given[]){ { x }, { w }, { b }, { residual } },
                                &(cla_sizes){ 0 }));
    if (cla_activation_fuses(activation)) {
        return fused(tape, y, x, w, b, activation, residual);
    }
    cla_tensor *z = NULL;
    CLA_TRY(fused(tape, &z, x, w, b, CLA_NONE, NULL));
    if (!residual) {
        return cla_activate(tape, y, z, activation);
    }
    CLA_TRY(cla_activate(tape, &z, z, activation));
    return cla_add(tape, y, z, residual);
}

cla_status cla_tied_linear(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w,
                           cla_tensor *b)
{
    CLA_OP(tape, y, x, w);
    CLA_MAY(tape, b);
    CLA_TRY(cla_signature_check(&cla_tied_linear_signature,
                                (cla_given[]){ { x }, { w }, { b } },
                                &(cla_sizes){ 0 }));
    const int64_t shape[] = { x->shape[0], w->shape[0] };
    cla_tensor *out = NULL;
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 2, shape));
    const bool wanted = cla_tape_needs_grad(tape, 3, (cla_tensor *[]){ x, w, b });
    CLA_TRY(check_way_back("tied_linear", w, wanted));
    const saved s = { x, w, b, NULL, out, out, CLA_NONE, true };
    CLA_TRY(forward(tape, &s));
    const cla_note end = { backward, &s, sizeof s, { x, w, b } };
    return cla_tape_give(tape, y, out, &end);
}
