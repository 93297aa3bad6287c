/* rotary.c - the definition of rotary positions. */
#include "clattn/feed.h"
#include "oracle/kind.h"

extern const cla_signature cla_rotary_signature; // of the launcher

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_rotary(tape, y, c->in[0], c->in[1], c->in[2], (int)c->attribute[0]);
}

/* Turns a head by the angles of a row of the table: r cosines, then r sines. */
static void turn(double *y, const double *x, const double *row, int r)
{
    for (int k = 0; k < r; k++) {
        y[k] = x[k] * row[k] - x[k + r] * row[r + k];
        y[k + r] = x[k + r] * row[k] + x[k] * row[r + k];
    }
}

static void oracle(double *const *y, const op_call *c)
{
    const int N = kind_size(c, "N"), H = kind_size(c, "H"), d = kind_size(c, "d");
    const int P = kind_size(c, "P"), R = kind_size(c, "R");
    const int turned = (int)c->attribute[0];
    for (int n = 0; n < N; n++) {
        const int p = c->ids[2][n];
        for (int h = 0; h < H; h++) {
            const int64_t at = ((int64_t)n * H + h) * d;
            for (int k = 0; k < d; k++) {
                y[0][at + k] = c->x[0][at + k];
            }
            if (h < turned && p >= 0 && p < P) {
                turn(y[0] + at, c->x[0] + at, c->x[1] + (int64_t)p * R, R / 2);
            }
        }
    }
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double n = (double)kind_size(c, "N") * kind_size(c, "H") * kind_size(c, "d");
    return (kind_cost){ .flops = (backward ? 2 : 1) * 3 * n,
                        .bytes = (backward ? 2 : 1) * 2 * 4 * n };
}

static const op_kind rotary_kind = {
    .signature = &cla_rotary_signature,
    .attribute = { "turned#" },
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const rotary_kinds[] = { &rotary_kind, NULL };
