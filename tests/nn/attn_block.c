/* attn_block.c - attention in blocks and between them against its equations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/way.h"

enum { B = 3, H = 2, WIDTH = 8, D = H * WIDTH, TOKENS = 14, MOST = 14 };
static const int lengths[B] = { 4, 0, 10 };

typedef struct scene {
    way_case way; // first: way_device casts a scene to it
    int block;
} scene;

/* ---- the definition ---------------------------------------------------------- */

typedef struct blocks {
    int count;
    int32_t first[MOST + 1], of[TOKENS], sentence[B + 1];
} blocks;

static blocks cut(int size)
{
    blocks b = { 0 };
    int row = 0;
    for (int s = 0; s < B; s++) {
        b.sentence[s] = b.count;
        for (int i = 0; i < lengths[s]; i++, row++) {
            if (i % size == 0) {
                b.first[b.count++] = row;
            }
            b.of[row] = b.count - 1;
        }
    }
    b.first[b.count] = row;
    b.sentence[B] = b.count;
    return b;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void linear(double *y, const double *x, double *const *w, int rows, int in,
                   int out)
{
    oracle_linear(y, x, w[0], w[1], NULL, rows, in, out, 0);
}

/* Computes g [n,D]: for each head the sum of a block's tokens, weighted by the softmax
 * of their scores. */
static void summarise(double *g, const double *o, double *const *w, const blocks *b)
{
    double hidden[TOKENS * D], e[TOKENS * H];
    linear(hidden, o, w, TOKENS, D, D);
    for (int i = 0; i < TOKENS * D; i++) {
        hidden[i] = sigmoid(hidden[i]);
    }
    linear(e, hidden, w + 2, TOKENS, D, H);
    memset(g, 0, (size_t)b->count * D * sizeof *g);
    for (int at = 0; at < b->count * H; at++) {
        const int n = at / H, h = at % H;
        double sum = 0;
        for (int i = b->first[n]; i < b->first[n + 1]; i++) {
            sum += exp(e[i * H + h]);
        }
        for (int i = b->first[n]; i < b->first[n + 1]; i++) {
            for (int c = h * WIDTH; c < (h + 1) * WIDTH; c++) {
                g[n * D + c] += exp(e[i * H + h]) / sum * o[i * D + c];
            }
        }
    }
}

/* Computes f [n,D]: attention to the sentence's blocks, mixed with g by a gate. */
static void mix(double *f, const double *g, double *const *w, const blocks *b)
{
    double q[MOST * D], c[MOST * D], both[MOST * 2 * D], z[MOST * D];
    const oracle_attention_shape shape = {
        .B = B, .H = H, .d = WIDTH, .q_offsets = b->sentence, .k_offsets = b->sentence
    };
    linear(q, g, w, b->count, D, D);
    oracle_attention(c, NULL, q, g, g, &shape);
    oracle_concat(both, g, c, b->count, D, D);
    linear(z, both, w + 2, b->count, 2 * D, D);
    for (int i = 0; i < b->count * D; i++) {
        f[i] = sigmoid(z[i]) * c[i] + (1 - sigmoid(z[i])) * g[i];
    }
}

static void oracle(double *y, double *const *x, void *context)
{
    const scene *s = context;
    const blocks b = cut(s->block);
    const oracle_attention_shape shape = {
        .B = b.count, .H = H, .d = WIDTH, .q_offsets = b.first, .k_offsets = b.first
    };
    double o[TOKENS * D], g[MOST * D], f[MOST * D];
    double *qkv = way_split(x[0], TOKENS, D);
    oracle_attention(o, NULL, qkv, qkv + TOKENS * D, qkv + 2 * TOKENS * D, &shape);
    free(qkv);
    summarise(g, o, x + 1, &b);
    mix(f, g, x + 5, &b);
    for (int i = 0; i < TOKENS; i++) {
        memcpy(y + i * 2 * D, o + i * D, D * sizeof *y);
        memcpy(y + i * 2 * D + D, f + b.of[i] * D, D * sizeof *y);
        if (s->block >= 10) { // with one block, attention gives g itself
            cr_assert_float_eq(f[b.of[i] * D], g[b.of[i] * D], 1e-12);
        }
    }
}

/* Sums of at most 32 products of numbers near 1, one after the other: eps sqrt(32) for
 * each of the five steps. b_2 is a constant: it adds the same to all scores, and its
 * gradient is 0. */
static void check(cla_runtime *rt, int block)
{
    scene s = { .block = block };
    char key[32];
    snprintf(key, sizeof key, "block=%d", block);
    way_open(&s.way, H, WIDTH, (const char *const[]){ "attention=block", key, NULL });
    way_rows(&s.way, rt, B, lengths);
    op_case c = { .name = "block",
                  .in = { { "qkv", 2, { TOKENS, 3 * D }, 0, false, false },
                          { "W_1", 2, { D, D }, 0.3f, false, false },
                          { "b_1", 1, { D }, 0.3f, false, false },
                          { "W_2", 2, { D, H }, 0.3f, false, false },
                          { "b_2", 1, { H }, 0.3f, true, false },
                          { "W_3", 2, { D, D }, 0.3f, false, false },
                          { "b_3", 1, { D }, 0.3f, false, false },
                          { "W_4", 2, { 2 * D, D }, 0.3f, false, false },
                          { "b_4", 1, { D }, 0.3f, false, false } },
                  .inputs = 9,
                  .rank = 2,
                  .shape = { TOKENS, 2 * D },
                  .device = way_device,
                  .oracle = oracle,
                  .context = &s,
                  .bar = 4e-6 };
    check_op(rt, &c);
    way_close(&s.way);
}

DEVICE_TEST(attn_block, matches_oracle_and_gradient)
{
    check(rt, 4);
    check(rt, 10);
}
