/* angles.c - the table of angles of rotary positions. */
#include "nn/angles.h"

#include <math.h>

enum { SHORTEST = 128 };

/* Fills in cosines and sines of `count` positions. */
static void fill(float *table, int64_t count, const coder_angles *a)
{
    const int64_t r = a->width / 2;
    for (int64_t p = 0; p < count; p++) {
        float *row = table + p * 2 * r;
        for (int64_t k = 0; k < r; k++) {
            const double angle = (double)p / pow(a->base, (double)k / (double)r);
            row[k] = (float)cos(angle);
            row[r + k] = (float)sin(angle);
        }
    }
}

/* Adds the next table. */
static cla_status grow(coder_angles *a, cla_runtime *rt)
{
    const int64_t shape[] = { (int64_t)SHORTEST << a->count, a->width };
    float *host = NULL;
    CLA_TRY(cla_tensor_new(&a->table[a->count], rt, CLA_F32, 2, shape));
    a->count++;
    CLA_TRY(cla_alloc(&host, (size_t)(shape[0] * shape[1]), sizeof *host));
    fill(host, shape[0], a);
    const cla_status status = cla_tensor_upload(a->table[a->count - 1], host);
    free(host);
    return status;
}

cla_status cla_angles_turn(coder_angles *a, cla_tape *tape, attn_turn *turn,
                           const int32_t *position, int64_t count,
                           cla_tensor *positions)
{
    int64_t longest = 1;
    *turn = (attn_turn){ .positions = positions };
    if (!a->width) {
        return CLA_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        longest = position[i] >= longest ? position[i] + 1 : longest;
    }
    while (!a->count || (int64_t)SHORTEST << (a->count - 1) < longest) {
        if (a->count == CODER_ANGLES) {
            return cla_fail(CLA_E_INPUT, "position %lld is too large",
                            (long long)longest - 1);
        }
        CLA_TRY(grow(a, cla_tape_runtime(tape)));
    }
    turn->table = a->table[a->count - 1];
    return CLA_OK;
}

void cla_angles_free(coder_angles *a)
{
    for (int i = 0; i < a->count; i++) {
        cla_tensor_free(&a->table[i]);
    }
    a->count = 0;
}
