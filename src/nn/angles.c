/* angles.c - the table of angles of rotary positions. */
#include "nn/angles.h"

#include <math.h>

enum { SHORTEST = 128 };

static const double TURN = 6.283185307179586; // 2 pi

static double within(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Returns s of pair k of YaRN. */
static double yarn_share(const coder_rope *c, int k)
{
    const double per = c->width / (2 * log(c->base)); // pairs for a factor e of turns
    const double first = floor(per * log(c->context / (c->high * TURN)));
    const double last = ceil(per * log(c->context / (c->low * TURN)));
    const double from = fmax(first, 0), to = fmin(last, c->width - 1);
    return 1 - within((k - from) / (to == from ? 0.001 : to - from), 0, 1);
}

double cla_angles_rate(const coder_rope *rope, int k)
{
    const double plain = pow(rope->base, -2.0 * k / rope->width);
    const double turns = rope->context * plain / TURN;
    if (rope->scaling == CODER_UNSCALED) {
        return plain;
    }
    const double share =
        rope->scaling == CODER_LINEAR ? 0
        : rope->scaling == CODER_LLAMA3
            ? within((turns - rope->low) / (rope->high - rope->low), 0, 1)
            : yarn_share(rope, k);
    return plain * (share + (1 - share) / rope->factor);
}

/* Fills in cosines and sines of `count` positions. */
static void fill(float *table, int64_t count, const coder_rope *c)
{
    const int r = c->width / 2;
    for (int k = 0; k < r; k++) {
        const double rate = cla_angles_rate(c, k);
        for (int64_t p = 0; p < count; p++) {
            float *row = table + p * 2 * r;
            row[k] = (float)(c->gain * cos((double)p * rate));
            row[r + k] = (float)(c->gain * sin((double)p * rate));
        }
    }
}

/* Adds the next table. */
static cla_status grow(coder_angles *a, cla_runtime *rt)
{
    const int64_t shape[] = { (int64_t)SHORTEST << a->count, a->rope.width };
    float *host = NULL;
    CLA_TRY(cla_tensor_new(&a->table[a->count], rt, CLA_F32, 2, shape));
    a->count++;
    CLA_TRY(cla_alloc(&host, (size_t)(shape[0] * shape[1]), sizeof *host));
    fill(host, shape[0], &a->rope);
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
    if (!a->rope.width) {
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
