/* kind_attention.c - shared by the kinds of attention. */
#include "oracle/kind_attention.h"

#include <stdlib.h>

#include "base/rng.h"

cla_attention_options kind_options(const op_call *c, cla_tensor **map)
{
    return (cla_attention_options){ .causal = c->attribute[0] != 0,
                                    .dropout = (float)c->attribute[1],
                                    .map = map };
}

double *oracle_keep(int rows, int heads, int longest, float dropout)
{
    const int count = rows * heads * longest;
    double *keep = dropout > 0 ? calloc((size_t)count + 1, sizeof *keep) : NULL;
    for (int n = 0; n < count && keep; n++) {
        const int j = n % longest, row = n / longest;
        const uint32_t counter[4] = { (uint32_t)(j / 4), (uint32_t)(row / heads),
                                      (uint32_t)(row % heads), 0 };
        const uint32_t key[2] = { 42, 0 };
        const float u = cla_uniform(cla_philox4x32(counter, key).v[j % 4]);
        keep[n] = u >= dropout ? 1 / (1 - (double)dropout) : 0;
    }
    return keep;
}

oracle_attention_shape kind_attention(const op_call *c, int q_rows, int k_rows)
{
    const int B = kind_size(c, "B"), H = kind_size(c, "H");
    const int S = (int)cla_ragged_longest(c->rows[k_rows]);
    return (oracle_attention_shape){
        .B = B,
        .H = H,
        .d = kind_size(c, "d"),
        .q_offsets = c->ids[q_rows],
        .k_offsets = c->ids[k_rows],
        .causal = c->attribute[0] != 0,
        .keep = oracle_keep(c->ids[q_rows][B], H, S, (float)c->attribute[1]),
        .Smax = S,
    };
}

kind_cost kind_attention_cost(const op_call *c, int q_rows, int k_rows, bool backward)
{
    const int32_t *q = c->ids[q_rows], *k = c->ids[k_rows];
    const int B = kind_size(c, "B");
    const double row = (double)kind_size(c, "H") * kind_size(c, "d");
    double pairs = 0;
    for (int b = 0; b < B; b++) {
        const double T = q[b + 1] - q[b], S = k[b + 1] - k[b];
        pairs += c->attribute[0] != 0 && T == S ? T * (T + 1) / 2 : T * S;
    }
    return (kind_cost){ pairs * row * 2 * (backward ? 7 : 2),
                        (backward ? 24 : 8) * ((double)q[B] + k[B]) * row };
}

kind_cost kind_band_cost(const op_call *c, double heads, bool backward)
{
    kind_cost all = kind_attention_cost(c, 3, 3, backward);
    const int most = kind_size(c, "T") - 1, half = (int)c->attribute[2] / 2;
    const double T = most + 1, r = half < most ? half : most;
    const double pairs = T * (2 * r + 1) - r * (r + 1);
    all.flops = 2.0 * kind_size(c, "B") * kind_size(c, "d") * pairs * heads *
                (backward ? 7 : 2);
    return all;
}
