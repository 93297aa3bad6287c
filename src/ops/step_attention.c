/* step_attention.c - attention of one token of each sequence, for decoders. */
#include "ops/step_attention.h"

#include <math.h>

#include "cl/step_attention_args.h"
#include "ops/attention_common.h"
#include "ops/spread.h"

bool cla_step_attention_runs(const cla_runtime *rt, int width)
{
    return cla_tiled(rt) && width <= CLA_ATTENTION_WIDTH;
}

cla_status cla_step_store(cla_tape *tape, cla_tensor **store, const cla_tensor *old,
                          int64_t places, int64_t D)
{
    static const char op[] = "step_store";
    CLA_OP(tape, store);
    const int64_t shape[] = { places, 2 * D };
    cla_tensor *out = NULL;
    if (old) {
        CLA_TRY(cla_check_shape(op, "old", old, CLA_F32, 2, (int64_t[]){ -1, 2 * D }));
    }
    if (old && old->shape[0] > places) {
        return cla_fail(CLA_E_SHAPE, "%s: old is %s, room is for %lld", op,
                        cla_shape_text(old), (long long)places);
    }
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 2, shape));
    if (old && cla_size(old)) {
        CLA_TRY(cla_memory_copy(cla_tape_runtime(tape), &out->memory, 0, &old->memory,
                                0, (size_t)cla_size(old) * 4));
    }
    *store = out;
    return CLA_OK;
}

/* Makes *o [rows,D] and queues a launch: a work-group for each row and head. */
static cla_status launch(cla_tape *tape, cla_tensor **o, cla_launch *l, int64_t rows,
                         step_shape *shape, int64_t D, bool unscaled)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const int64_t sizes[] = { rows, D }, width = D / shape->heads;
    shape->scale = unscaled ? 1 : 1 / sqrtf((float)width);
    CLA_TRY(cla_tape_tensor(tape, o, CLA_F32, 2, sizes));
    l->file = "step_attention_tile";
    l->define[0] = (cla_define){ "WIDTH", (int)width };
    l->define[1] = (cla_define){ "VEC", cla_vector_width(rt) };
    l->groups[0] = (size_t)rows;
    l->groups[1] = (size_t)shape->heads;
    l->args[0] = cla_buf(*o);
    return rows ? cla_enqueue(rt, l) : CLA_OK;
}

static cla_status check_heads(const char *op, int64_t D, int heads)
{
    return heads < 1 || D % heads || D / heads > CLA_ATTENTION_WIDTH
               ? cla_fail(CLA_E_SHAPE, "%s: %d heads of %lld numbers", op, heads,
                          (long long)D)
               : CLA_OK;
}

cla_status cla_step_self(cla_tape *tape, cla_tensor **o, cla_tensor *store,
                         const cla_tensor *qkv, const cla_tensor *place,
                         const step_scores *scores, int count)
{
    static const char op[] = "step_self";
    CLA_OP(tape, o, store, qkv, place);
    CLA_TRY(cla_check_shape(op, "store", store, CLA_F32, 2, (int64_t[]){ -1, -1 }));
    const int64_t D = store->shape[1] / 2;
    CLA_TRY(cla_check_shape(op, "qkv", qkv, CLA_F32, 2, (int64_t[]){ -1, 3 * D }));
    const int64_t B = qkv->shape[0];
    CLA_TRY(cla_check_shape(op, "place", place, CLA_I32, 2, (int64_t[]){ B, -1 }));
    CLA_TRY(check_heads(op, D, scores->heads));
    const cla_tensor *distances = scores->distances;
    CLA_TRY(distances ? cla_check_shape(op, "distances", distances, CLA_F32, 2,
                                        (int64_t[]){ -1, scores->heads })
                      : CLA_OK);
    if (count < 1 || count > place->shape[1]) {
        return cla_fail(CLA_E_SHAPE, "%s: place is %s, %d tokens are asked for", op,
                        cla_shape_text(place), count);
    }
    const int reach = distances ? (int)(distances->shape[0] - 1) / 2 : 0;
    step_shape shape = { scores->heads, count, (int32_t)place->shape[1], reach, 0 };
    cla_launch l = {
        .kernel = "step_self",
        .args = { { 0 },
                  cla_buf(store),
                  cla_buf(qkv),
                  cla_buf(place),
                  cla_buf(distances),
                  cla_bytes(&shape, sizeof shape) },
        .flops = 4.0 * (double)(B * D) * count,
    };
    return launch(tape, o, &l, B, &shape, D, scores->unscaled);
}

cla_status cla_step_memory(cla_tape *tape, cla_tensor **o, const cla_tensor *q,
                           const cla_tensor *kv, const cla_tensor *range,
                           const step_scores *scores)
{
    static const char op[] = "step_memory";
    CLA_OP(tape, o, q, kv, range);
    CLA_TRY(cla_check_shape(op, "q", q, CLA_F32, 2, (int64_t[]){ -1, -1 }));
    const int64_t B = q->shape[0], D = q->shape[1];
    CLA_TRY(cla_check_shape(op, "kv", kv, CLA_F32, 2, (int64_t[]){ -1, 2 * D }));
    CLA_TRY(cla_check_shape(op, "range", range, CLA_I32, 2, (int64_t[]){ B, 2 }));
    CLA_TRY(check_heads(op, D, scores->heads));
    step_shape shape = { scores->heads, 0, 2, 0, 0 };
    cla_launch l = {
        .kernel = "step_memory",
        .args = { { 0 },
                  cla_buf(q),
                  cla_buf(kv),
                  cla_buf(range),
                  cla_bytes(&shape, sizeof shape) },
        .flops = 4.0 * (double)(D * kv->shape[0]),
    };
    return launch(tape, o, &l, B, &shape, D, scores->unscaled);
}
