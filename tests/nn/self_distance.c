/* self_distance.c - attention with vectors for distances in a Transformer's layer:
 * against the oracle, known answers, vectors that make it plain attention. */
#include <math.h>
#include <stdlib.h>

#include "nn/self.h"
#include "oracle/oracle.h"
#include "support/support.h"

/* Width and length as in tests/ops/relative_attention.c: the same programs. */
enum { B = 3, H = 2, WIDTH = 20, D = H * WIDTH, TOKENS = 22, LONGEST = 17 };
enum { CLIP = 3, DISTANCES = 2 * CLIP + 1, SIZE = TOKENS * D };
static const int lengths[B] = { 5, 0, LONGEST };

/* A layer and the batch it sees. */
typedef struct scene {
    self_layer layer;
    cla_ragged *rows;
    int32_t *offsets;
} scene;

static void scene_init(scene *s, cla_runtime *rt, const self_variant *variant)
{
    *s = (scene){ .layer = { { .variant = variant, .model = D, .heads = H } } };
    s->layer.config.clip = CLIP;
    s->rows = test_ragged(rt, B, lengths, &s->offsets);
}

static void scene_fini(scene *s)
{
    cla_ragged_free(&s->rows);
    free(s->offsets);
}

/* What mha.c does with x: qkv [TOKENS,3D], and the vectors. */
static cla_status attend(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    scene *s = context;
    self_input in = { .query = x[0], .q_rows = s->rows, .k_rows = s->rows };
    s->layer.rel_k = x[1];
    s->layer.rel_v = x[2];
    CLA_TRY(cla_tensor_columns(tape, &in.q, x[0], 0, H, WIDTH));
    CLA_TRY(cla_tensor_columns(tape, &in.k, x[0], D, H, WIDTH));
    CLA_TRY(cla_tensor_columns(tape, &in.v, x[0], 2 * D, H, WIDTH));
    return self_forward(&s->layer, tape, y, &in);
}

static void oracle(double *y, double *const *x, void *context)
{
    const scene *s = context;
    const oracle_attention_shape shape = { .B = B,
                                           .H = H,
                                           .d = WIDTH,
                                           .q_offsets = s->offsets,
                                           .k_offsets = s->offsets,
                                           .Smax = LONGEST };
    static double part[3][SIZE];
    double *const in[] = { part[0], part[1], part[2], x[1], x[2] };
    for (int n = 0; n < 3 * SIZE; n++) {
        const int row = n / (3 * D), c = n % (3 * D);
        part[c / D][row * D + c % D] = x[0][n];
    }
    oracle_relative_attention(y, NULL, in, CLIP, &shape);
}

Test(self_distance, matches_oracle_and_gradient)
{
    scene s;
    op_case c = { .name = "rel_pos",
                  .in = { { "qkv", 2, { TOKENS, 3 * D }, 0, false, false },
                          { "rel_k", 2, { DISTANCES, WIDTH }, 0, false, false },
                          { "rel_v", 2, { DISTANCES, WIDTH }, 0, false, false } },
                  .inputs = 3,
                  .rank = 3,
                  .shape = { TOKENS, H, WIDTH },
                  .device = attend,
                  .oracle = oracle,
                  .context = &s,
                  .bar = 5e-6 }; // as the op's own
    cla_runtime *rt = test_runtime();
    scene_init(&s, rt, &self_rel_pos);
    check_op(rt, &c);
    scene_fini(&s);
    cla_runtime_free(&rt);
}

/* The published answers, which hold for the oracle: queries, keys, values and vectors
 * are sin(0.9 k + 0.37 s), s = 1, 2, 3, 7, 8, for number k of [H,T,d] and [2R+1,d]. */
Test(self_distance, gives_known_answers)
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
    oracle_relative_attention(o, NULL, in, R, &shape);
    for (int at = 0; at < ALL; at++) {
        sum += o[at];
    }
    for (int c = 0; c < SHORT; c++) {
        cr_assert_float_eq(o[c], first[c], 1e-6);
    }
    cr_assert_float_eq(sum, 5.587222, 1e-6);
}

/* ---- neutral vectors --------------------------------------------------------- */

/* What a layer makes of random numbers and of vectors that are all this number. */
static void result(cla_runtime *rt, float o[SIZE], const self_variant *variant,
                   float number)
{
    const int64_t table[] = { DISTANCES, WIDTH }, wide[] = { TOKENS, 3 * D };
    float *random = test_random((int64_t)3 * SIZE, 1, 5);
    scene s;
    cla_tape *tape = NULL;
    cla_tensor *x[3] = { NULL }, *y = NULL;
    scene_init(&s, rt, variant);
    for (int i = 0; i < 3; i++) {
        TEST_OK(cla_tensor_new(&x[i], rt, CLA_F32, 2, i ? table : wide));
        TEST_OK(i ? cla_tensor_fill(x[i], number) : cla_tensor_upload(x[i], random));
    }
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(attend(tape, &y, x, &s));
    TEST_OK(cla_tensor_download(y, o));
    cla_tape_free(&tape);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&x[i]);
    }
    scene_fini(&s);
    free(random);
}

/* Vectors of zeros are none; of ones, all alike, they are added to every result. */
Test(self_distance, without_vectors_is_plain)
{
    static float plain[SIZE], zeros[SIZE], ones[SIZE];
    cla_runtime *rt = test_runtime();
    result(rt, plain, &self_softmax, 0);
    result(rt, zeros, &self_rel_pos, 0);
    result(rt, ones, &self_rel_pos, 1);
    for (int i = 0; i < SIZE; i++) {
        cr_assert_float_eq(zeros[i], plain[i], 2e-6);
        cr_assert_float_eq(ones[i], plain[i] + 1, 5e-6);
    }
    cla_runtime_free(&rt);
}
