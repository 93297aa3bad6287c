/* dropout.c - drops elements at random; the draws are made again to go back. */
#include "cl/dropout_args.h"
#include "clattn/ops.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { RUN = 8 }; // rows to a group

typedef struct saved {
    cla_tensor *y, *x;
    dropout_shape shape;
} saved;

static cla_status launch_dropout(cla_runtime *rt, const cla_tensor *y,
                                 const cla_tensor *x, const dropout_shape *shape,
                                 int add)
{
    cla_launch launch = {
        .file = cla_tiled(rt) ? "dropout_tile" : "dropout",
        .kernel = "dropout",
        .args = { cla_buf(y), cla_buf(x), cla_bytes(shape, sizeof *shape),
                  cla_i32(add) },
    };
    cla_spread_rows(rt, &launch, shape->columns ? shape->rows : 0, RUN);
    if (cla_tiled(rt)) {
        launch.define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
    }
    return cla_enqueue(rt, &launch);
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

const cla_signature cla_dropout_signature = { "dropout", "x:... -> y:..." };

cla_status cla_dropout(cla_tape *tape, cla_tensor **y, cla_tensor *x, float p)
{
    CLA_OP(tape, y, x);
    cla_tensor *out = NULL;
    CLA_TRY(cla_signature_check(&cla_dropout_signature, (cla_given[]){ { x } },
                                &(cla_sizes){ 0 }));
    if (!(p >= 0 && p < 1)) {
        return cla_fail(CLA_E_USAGE, "dropout: p is %g, must be in [0,1)", (double)p);
    }
    if (p == 0) {
        *y = x;
        return CLA_OK;
    }
    const cla_stream draws = cla_tape_stream(tape);
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, x->rank, x->shape));
    const int64_t rows = x->rank > 1 ? x->shape[0] : 1;
    const int64_t columns = x->rank > 1 ? x->stride : x->shape[0];
    const saved s = { out,
                      x,
                      { (int32_t)rows, (int32_t)columns, RUN, p, draws.seed, draws.step,
                        draws.stream, draws.first_row } };
    CLA_TRY(launch_dropout(cla_tape_runtime(tape), out, x, &s.shape, 0));
    const cla_note end = { backward, &s, sizeof s, { x } };
    return cla_tape_give(tape, y, out, &end);
}
