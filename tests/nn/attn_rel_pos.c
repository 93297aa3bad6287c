/* attn_rel_pos.c - attention with vectors for distances in a Transformer's layer:
 * against the oracle, known answers, and vectors that give plain attention. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/way.h"

/* Width and length are those of tests/ops/relative_attention.c, for the same
 * programs. */
enum { B = 3, H = 2, WIDTH = 20, D = H * WIDTH, TOKENS = 22, LONGEST = 17 };
enum { CLIP = 3, DISTANCES = 2 * CLIP + 1, SIZE = TOKENS * D };
static const int lengths[B] = { 5, 0, LONGEST };

static void open_way(way_case *w, cla_runtime *rt, const char *attention, bool shared)
{
    way_open(w, H, WIDTH,
             (const char *const[]){ attention, "clip=3",
                                    shared ? NULL : "rel_shared=false", NULL });
    way_rows(w, rt, B, lengths);
}

static void oracle(double *y, double *const *x, void *context)
{
    const way_case *w = context;
    const oracle_attention_shape shape = { .B = B,
                                           .H = H,
                                           .d = WIDTH,
                                           .q_offsets = w->offsets,
                                           .k_offsets = w->offsets,
                                           .Smax = LONGEST };
    double *qkv = way_split(x[0], TOKENS, D);
    double *const in[] = { qkv, qkv + SIZE, qkv + 2 * SIZE, x[1], x[2] };
    oracle_relative_attention(y, NULL, in, CLIP, w->params.list[0].rank == 3, &shape);
    free(qkv);
}

static void check(cla_runtime *rt, bool shared)
{
    way_case w;
    op_case c = { .name = "rel_pos",
                  .in = { { "qkv", 2, { TOKENS, 3 * D }, 0, false, false },
                          { "rel_k", 3, { H, DISTANCES, WIDTH }, 0, false, false },
                          { "rel_v", 3, { H, DISTANCES, WIDTH }, 0, false, false } },
                  .inputs = 3,
                  .rank = 3,
                  .shape = { TOKENS, H, WIDTH },
                  .device = way_device,
                  .oracle = oracle,
                  .context = &w,
                  .bar = 5e-6 }; // as in the op's own test
    for (int n = 1; shared && n < 3; n++) {
        c.in[n].rank = 2;
        memmove(c.in[n].shape, c.in[n].shape + 1, 2 * sizeof *c.in[n].shape);
    }
    open_way(&w, rt, "attention=rel_pos", shared);
    check_op(rt, &c);
    way_close(&w);
}

DEVICE_TEST(attn_rel_pos, matches_oracle_and_gradient)
{
    check(rt, true);
    check(rt, false);
}

/* The oracle gives the published answers. Queries, keys, values and vectors are
 * sin(0.9 k + 0.37 s), s = 1, 2, 3, 7, 8, for number k of [H,T,d] and [2R+1,d]. */
Test(attn_rel_pos, gives_known_answers)
{
    enum { T = 5, HEADS = 2, SHORT = 3, R = 2, ALL = T * HEADS * SHORT };
    static const int32_t offsets[] = { 0, T };
    static const double first[] = { 1.108629, 1.241255, 0.434523 };
    const oracle_attention_shape shape = { .B = 1,
                                           .H = HEADS,
                                           .d = SHORT,
                                           .q_offsets = offsets,
                                           .k_offsets = offsets,
                                           .Smax = T };
    double x[5][ALL], o[ALL], sum = 0;
    double *const in[] = { x[0], x[1], x[2], x[3], x[4] };
    for (int at = 0; at < ALL; at++) {
        const int i = at / (HEADS * SHORT), h = at / SHORT % HEADS, c = at % SHORT;
        for (int s = 0; s < 3; s++) {
            x[s][at] = sin(0.9 * ((h * T + i) * SHORT + c) + 0.37 * (s + 1));
        }
        x[3][at] = sin(0.9 * at + 0.37 * 7);
        x[4][at] = sin(0.9 * at + 0.37 * 8);
    }
    oracle_relative_attention(o, NULL, in, R, false, &shape);
    for (int at = 0; at < ALL; at++) {
        sum += o[at];
    }
    for (int c = 0; c < SHORT; c++) {
        cr_assert_float_eq(o[c], first[c], 1e-6);
    }
    cr_assert_float_eq(sum, 5.587222, 1e-6);
}

/* ---- neutral vectors --------------------------------------------------------- */

/* Computes a layer's result for random numbers, with all vectors filled with
 * `number`. */
static void result(cla_runtime *rt, float o[SIZE], const char *attention, float number)
{
    const int64_t table[] = { DISTANCES, WIDTH }, wide[] = { TOKENS, 3 * D };
    float *random = test_random((int64_t)3 * SIZE, 1, 5);
    way_case w;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x[3] = { NULL };
    open_way(&w, rt, attention, true);
    for (int i = 0; i < 3; i++) {
        TEST_OK(cla_tensor_new(&x[i], rt, CLA_F32, 2, i ? table : wide));
        TEST_OK(i ? cla_tensor_fill(x[i], number) : cla_tensor_upload(x[i], random));
    }
    way_finish(&w, tape, x, 3, o);
    free(random);
}

/* Vectors of zeros give plain attention; vectors of ones are added to every result. */
DEVICE_TEST(attn_rel_pos, without_vectors_is_plain)
{
    static float plain[SIZE], zeros[SIZE], ones[SIZE];
    result(rt, plain, "attention=softmax", 0);
    result(rt, zeros, "attention=rel_pos", 0);
    result(rt, ones, "attention=rel_pos", 1);
    for (int i = 0; i < SIZE; i++) {
        cr_assert_float_eq(zeros[i], plain[i], 2e-6);
        cr_assert_float_eq(ones[i], plain[i] + 1, 5e-6);
    }
}
