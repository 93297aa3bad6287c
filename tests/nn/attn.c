/* attn.c - a layer of self-attention against published known answers. */
#include <math.h>

#include "support/way.h"

enum { T = 5, WIDTH = 4, HEAD = 3 };

/* Returns sin(0.9 k + 0.37 s), as in the published tests. */
static float fill(int k, int s)
{
    return (float)sin(0.9 * k + 0.37 * s);
}

static void put(cla_tensor *t, int s, float factor)
{
    float values[64];
    for (int k = 0; k < cla_tensor_size(t); k++) {
        values[k] = factor * fill(k, s);
    }
    TEST_OK(cla_tensor_upload(t, values));
}

/* Sets the parameters of one head, for X = F(1): W_q, W_k, W_v = F(2), F(3), F(4),
 * absolute 0.5 F(5), relative 0.5 F(6), temperatures 1.1, 0.9 and 1.2. */
static void set_parameters(attn_layer *layer, const cla_params *params)
{
    static const float gamma[] = { 1.1f, 0.9f, 1.2f };
    float qkv[WIDTH * 3 * HEAD];
    for (int k = 0; k < WIDTH * 3 * HEAD; k++) {
        const int row = k / (3 * HEAD), column = k % (3 * HEAD);
        qkv[k] = fill(row * HEAD + column % HEAD, 2 + column / HEAD);
    }
    TEST_OK(cla_tensor_upload(layer->in, qkv));
    TEST_OK(cla_tensor_upload(layer->gamma, gamma));
    put(cla_params_find(params, "layer.absolute")->tensor, 5, 0.5f);
    put(cla_params_find(params, "layer.relative")->tensor, 6, 0.5f);
}

/* Checks the first row of the result and the sum of all rows, for the first `length`
 * words of the sentence. A masked padding word has the effect of a missing word. */
static void check_known(cla_runtime *rt, attn_layer *layer, int length,
                        const double first[HEAD], double total)
{
    cla_ragged *rows = test_ragged(rt, 1, &length, NULL);
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *qkv = NULL, *o = NULL;
    const attn_rows who = { .query = rows, .key = rows };
    float got[T * HEAD];
    double sum = 0;
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ length, WIDTH }, NULL);
    put(x, 1, 1);
    TEST_OK(cla_attn_project(layer, tape, &qkv, x, NULL));
    TEST_OK(cla_attn_self(layer, tape, &o, qkv, qkv, &who));
    TEST_OK(cla_tensor_download(o, got));
    check_close("first row", got, first, HEAD, 1e-6);
    for (int i = 0; i < length * HEAD; i++) {
        sum += (double)got[i];
    }
    cr_assert(fabs(sum - total) < 1e-5, "sum %g, must be %g", sum, total);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}

DEVICE_TEST(attention, direct_positions_give_known_answers)
{
    cla_memory_guard(rt, false); // parameters are parts of a block
    attn_config config = { .model = WIDTH,
                           .heads = 1,
                           .width = HEAD,
                           .bare = true,
                           .temperature = true,
                           .length = T };
    cla_config settings;
    cla_params params = { 0 };
    attn_layer layer;
    way_settings(&settings, (const char *const[]){ "attention=direct", NULL });
    TEST_OK(cla_attn_configure(&config, &settings));
    TEST_OK(cla_attn_init(&layer, &config, &params, "layer", false));
    TEST_OK(cla_params_build(&params, rt, 1));
    set_parameters(&layer, &params);
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_known(rt, &layer, T, (double[]){ 0.032718, 0.085533, 0.073619 },
                    0.702458);
        check_known(rt, &layer, T - 1, (double[]){ -0.070604, -0.035138, 0.026919 },
                    -0.804277);
    }
    cla_params_free(&params);
    cla_config_fini(&settings);
}
