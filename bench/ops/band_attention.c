/* band_attention.c - attention inside a window: lengths, windows, head widths. */
#include <stdio.h>

#include "bench.h"
#include "oracle/oracle.h"

typedef struct band_shape {
    int B, T, d, window;
} band_shape;

enum { HEADS = 8 };

typedef struct band_case {
    band_shape shape;
    cla_ragged *rows;
} band_case;

static cla_status forward(cla_tape *tape, cla_tensor **o, cla_tensor **x, void *context)
{
    const band_case *c = context;
    return cla_band_attention(tape, o, x[0], x[1], x[2], c->rows, c->shape.window,
                              NULL);
}

static void oracle(double *o, double *const *x, void *context)
{
    const band_case *c = context;
    int32_t offsets[65]; // no more sequences than the table below has
    for (int b = 0; b <= c->shape.B; b++) {
        offsets[b] = b * c->shape.T;
    }
    const oracle_attention_shape s = {
        .B = c->shape.B,
        .H = HEADS,
        .d = c->shape.d,
        .q_offsets = offsets,
        .k_offsets = offsets,
        .window = c->shape.window,
    };
    oracle_band_attention(o, x[0], x[1], x[2], &s);
}

/* Keys that all queries of a sequence see together. */
static double pairs(const band_shape *s)
{
    const double half = s->window / 2;
    const double r = half < s->T - 1 ? half : s->T - 1;
    return s->T * (2 * r + 1) - r * (r + 1);
}

static cla_status run_shape(bench *b, const band_shape *s, bool backward)
{
    const int64_t N = (int64_t)s->B * s->T;
    const double size = (double)N * HEADS * s->d;
    const double work = 2.0 * s->B * HEADS * s->d * pairs(s); // one product
    band_case c = { .shape = *s };
    bench_op op = {
        .suite = "band",
        .in = { { 3, { N, HEADS, s->d } },
                { 3, { N, HEADS, s->d } },
                { 3, { N, HEADS, s->d } } },
        .inputs = 3,
        .backward = backward,
        .flops = (backward ? 7 : 2) * work,
        .bytes = (backward ? 12 : 4) * 4 * size, // q, k, v, o; + again, dO, dq, dk, dv
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "band_attention %s B%d H%d T%d d%d w%d",
             backward ? "fwd+bwd" : "fwd", s->B, HEADS, s->T, s->d, s->window);
    if (!bench_wants(b, op.suite, op.name)) {
        return CLA_OK;
    }
    cla_status status = bench_rows(b, &c.rows, s->B, s->T);
    status = status ? status : bench_op_run(b, &op);
    cla_ragged_free(&c.rows);
    return status;
}

cla_status bench_band_attention(bench *b)
{
    static const band_shape shapes[] = {
        { 8, 512, 64, 11 }, // quick runs stop here
        { 1, 4096, 64, 11 }, { 64, 64, 64, 11 },  { 8, 512, 64, 3 },
        { 8, 512, 64, 21 },  { 8, 512, 64, 33 },  { 8, 512, 64, 65 },
        { 1, 4096, 64, 65 }, { 8, 512, 32, 11 },  { 8, 512, 40, 11 },
        { 8, 512, 128, 11 }, { 8, 512, 256, 11 },
    };
    const int count = bench_quick(b) ? 1 : (int)(sizeof shapes / sizeof *shapes);
    for (int i = 0; i < count; i++) {
        for (int backward = 0; backward < 2; backward++) {
            cla_status status = run_shape(b, &shapes[i], backward);
            if (status) {
                return status;
            }
        }
    }
    return CLA_OK;
}
