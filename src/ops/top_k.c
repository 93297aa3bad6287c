/* top_k.c - the most probable classes of each row. */
#include "clattn/ops.h"
#include "ops/spread.h"

enum { MOST = (1 << 24) - 1 }; // classes; the group kernel counts them in floats

static cla_status check(const cla_tensor *logits, int k)
{
    static const char op[] = "top_k";
    CLA_TRY(cla_check_shape(op, "logits", logits, CLA_F32, 2, (int64_t[]){ -1, -1 }));
    if (logits->shape[1] > MOST) {
        return cla_fail(CLA_E_SHAPE, "%s: logits is %s, at most %d classes", op,
                        cla_shape_text(logits), MOST);
    }
    if (k < 1 || k > logits->shape[1]) {
        return cla_fail(CLA_E_USAGE, "%s: k is %d, must be 1 to %lld", op, k,
                        (long long)logits->shape[1]);
    }
    return CLA_OK;
}

cla_status cla_top_k(cla_tape *tape, cla_tensor **logp, cla_tensor **id,
                     const cla_tensor *logits, int k)
{
    CLA_OP(tape, logp, id, logits);
    cla_runtime *rt = cla_tape_runtime(tape);
    const bool tile = cla_tiled(rt);
    *id = NULL;
    CLA_TRY(check(logits, k));
    const int64_t N = logits->shape[0], shape[] = { N, k };
    cla_tensor *values = NULL, *classes = NULL;
    CLA_TRY(cla_tape_tensor(tape, &values, CLA_F32, 2, shape));
    CLA_TRY(cla_tape_tensor(tape, &classes, CLA_I32, 2, shape));
    cla_launch launch = {
        .file = tile ? "top_k_tile" : "top_k",
        .kernel = "top_k",
        .args = { cla_buf(values), cla_buf(classes), cla_buf(logits),
                  cla_i32(logits->shape[1]), cla_i32(k) },
    };
    cla_spread_rows(rt, &launch, N, 1);
    if (tile) {
        launch.define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
    }
    launch.flops = 6.0 * (double)cla_size(logits);
    CLA_TRY(N ? cla_enqueue(rt, &launch) : CLA_OK);
    *logp = values;
    *id = classes;
    return CLA_OK;
}
