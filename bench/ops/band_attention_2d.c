/* band_attention_2d.c - attention inside a window of positions and heads. */
#include <stdio.h>

#include "bench.h"
#include "oracle/oracle.h"

typedef struct band_shape {
    int B, T, window, area;
} band_shape;

enum { HEADS = 8, WIDTH = 64 };

typedef struct band_case {
    band_shape shape;
    cla_ragged *rows;
} band_case;

static cla_status forward(cla_tape *tape, cla_tensor **o, cla_tensor **x, void *context)
{
    const band_case *c = context;
    return cla_band_attention_2d(tape, o, x[0], x[1], x[2], c->rows, c->shape.window,
                                 c->shape.area, CLA_EDGE_TRUNCATE, NULL);
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
        .d = WIDTH,
        .q_offsets = offsets,
        .k_offsets = offsets,
        .window = c->shape.window,
        .area = c->shape.area,
    };
    oracle_band_attention_2d(o, x[0], x[1], x[2], &s);
}

/* Keys that all queries of a sequence and their heads see together. */
static double pairs(const band_shape *s)
{
    const double half = s->window / 2, side = s->area / 2;
    const double r = half < s->T - 1 ? half : s->T - 1;
    const double u = side < HEADS - 1 ? side : HEADS - 1;
    return (s->T * (2 * r + 1) - r * (r + 1)) * (HEADS * (2 * u + 1) - u * (u + 1));
}

static cla_status run_shape(bench *b, const band_shape *s, bool backward)
{
    const int64_t N = (int64_t)s->B * s->T;
    const double size = (double)N * HEADS * WIDTH;
    const double work = 2.0 * s->B * WIDTH * pairs(s); // one product
    band_case c = { .shape = *s };
    bench_op op = {
        .suite = "band",
        .in = { { 3, { N, HEADS, WIDTH } },
                { 3, { N, HEADS, WIDTH } },
                { 3, { N, HEADS, WIDTH } } },
        .inputs = 3,
        .backward = backward,
        .flops = (backward ? 7 : 2) * work,
        .bytes = (backward ? 12 : 4) * 4 * size, // q, k, v, o; + again, dO, dq, dk, dv
        .forward = forward,
        .oracle = oracle,
        .context = &c,
    };
    snprintf(op.name, sizeof op.name, "band_attention_2d %s B%d H%d T%d d%d w%d h%d",
             backward ? "fwd+bwd" : "fwd", s->B, HEADS, s->T, WIDTH, s->window,
             s->area);
    if (!bench_wants(b, op.suite, op.name)) {
        return CLA_OK;
    }
    cla_status status = bench_rows(b, &c.rows, s->B, s->T);
    status = status ? status : bench_op_run(b, &op);
    cla_ragged_free(&c.rows);
    return status;
}

cla_status bench_band_attention_2d(bench *b)
{
    static const band_shape shapes[] = {
        { 8, 512, 11, 3 }, // quick runs stop here
        { 1, 4096, 11, 3 }, { 64, 64, 11, 3 }, { 8, 512, 3, 3 },
        { 8, 512, 33, 3 },  { 8, 512, 11, 5 }, { 8, 512, 11, 1 },
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
