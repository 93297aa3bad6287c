/* dropout.c - dropout, alone or fused with a sum. Backward repeats the random draws: no
 * mask is stored. */
#include "cl/dropout_args.h"
#include "clattn/feed.h"
#include "clattn/ops.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { RUN = 8 }; // rows of a work-group

typedef struct saved {
    cla_tensor *y, *x;
    dropout_shape shape;
} saved;

static cla_status launch_rows(cla_runtime *rt, cla_launch *launch,
                              const dropout_shape *shape)
{
    launch->file = "dropout";
    cla_spread_rows(rt, launch, shape->columns ? shape->rows : 0, RUN);
    if (cla_tiled(rt)) {
        launch->define[1] = (cla_define){ "VEC", cla_vector_width(rt) };
    }
    return cla_enqueue(rt, launch);
}

static cla_status launch_dropout(cla_runtime *rt, const cla_tensor *y,
                                 const cla_tensor *x, const dropout_shape *shape,
                                 int add)
{
    cla_launch launch = {
        .kernel = "dropout",
        .args = { cla_buf(y), cla_buf(x), cla_bytes(shape, sizeof *shape),
                  cla_i32(add) },
    };
    return launch_rows(rt, &launch, shape);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    return launch_dropout(cla_tape_runtime(tape), dx, dy, &s->shape, add);
}

static cla_status check_probability(const char *op, float p)
{
    return p >= 0 && p < 1
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s: p is %g, must be in [0,1)", op, (double)p);
}

/* Returns kernel arguments for the elements of x, with the tape's next draws. */
static dropout_shape draw(cla_tape *tape, const cla_tensor *x, float p)
{
    const cla_stream draws = cla_tape_stream(tape);
    const int64_t rows = x->rank > 1 ? x->shape[0] : 1;
    const int64_t columns = x->rank > 1 ? x->stride : x->shape[0];
    return (dropout_shape){ (int32_t)rows, (int32_t)columns,
                            RUN,           p,
                            draws.seed,    draws.step,
                            draws.stream,  draws.first_row };
}

const cla_signature cla_dropout_signature = { "dropout", "x:... -> y:..." };

cla_status cla_dropout(cla_tape *tape, cla_tensor **y, cla_tensor *x, float p)
{
    CLA_OP(tape, y, x);
    cla_tensor *out = NULL;
    CLA_TRY(cla_signature_check(&cla_dropout_signature, (cla_given[]){ { x } },
                                &(cla_sizes){ 0 }));
    CLA_TRY(check_probability("dropout", p));
    if (p == 0) {
        *y = x;
        return CLA_OK;
    }
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, x->rank, x->shape));
    const saved s = { out, x, draw(tape, x, p) };
    CLA_TRY(launch_dropout(cla_tape_runtime(tape), out, x, &s.shape, 0));
    const cla_note end = { backward, &s, sizeof s, { x } };
    return cla_tape_give(tape, y, out, &end);
}

/* ---- with a sum ----------------------------------------------------------------- */

typedef struct saved_sum {
    cla_tensor *y, *a, *x;
    dropout_shape shape;
    bool whole;
} saved_sum;

static cla_status sum_backward(cla_tape *tape, void *bytes)
{
    const saved_sum *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *da = NULL, *dx = NULL;
    int add_a = 0, add_x = 0;
    if (!dy) {
        return CLA_OK;
    }
    CLA_TRY(cla_grad_out(tape, s->a, &da, &add_a));
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add_x));
    cla_launch launch = {
        .kernel = "dropout_add_backward",
        .args = { cla_buf(da), cla_buf(dx), cla_buf(dy),
                  cla_bytes(&s->shape, sizeof s->shape), cla_i32(s->whole),
                  cla_i32(add_a | add_x << 1) },
    };
    return launch_rows(cla_tape_runtime(tape), &launch, &s->shape);
}

const cla_signature cla_dropout_add_signature = { "dropout_add",
                                                  "a:... x:... -> y:..." };

cla_status cla_dropout_add(cla_tape *tape, cla_tensor **y, cla_tensor *a, cla_tensor *x,
                           float p, bool whole)
{
    CLA_OP(tape, y, a, x);
    cla_tensor *out = NULL;
    CLA_TRY(cla_signature_check(&cla_dropout_add_signature,
                                (cla_given[]){ { a }, { x } }, &(cla_sizes){ 0 }));
    CLA_TRY(check_probability("dropout_add", p));
    if (p == 0) {
        return cla_add(tape, y, a, x);
    }
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, x->rank, x->shape));
    const saved_sum s = { out, a, x, draw(tape, x, p), whole };
    cla_launch launch = {
        .kernel = "dropout_add",
        .args = { cla_buf(out), cla_buf(a), cla_buf(x),
                  cla_bytes(&s.shape, sizeof s.shape), cla_i32(whole) },
    };
    CLA_TRY(launch_rows(cla_tape_runtime(tape), &launch, &s.shape));
    const cla_note end = { sum_backward, &s, sizeof s, { a, x } };
    return cla_tape_give(tape, y, out, &end);
}
