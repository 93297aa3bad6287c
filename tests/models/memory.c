/* memory.c - the memory of a training step grows with the length of a sentence, not
 * with its square: neither full nor windowed attention stores a map of all queries by
 * all keys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/transformer.h"
#include "support/support.h"

enum { HEADS = 4, PIECES = 40 };

static transformer_config config_of(const char *attention)
{
    static const char *const size[] = { "dim=32", "heads=4", "inner=32", "layers=1" };
    cla_config settings = { .values = json_object(), .known = json_object() };
    transformer_config config;
    TEST_OK(cla_strdup(&settings.path, "test"));
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        TEST_OK(cla_config_set(&settings, size[i]));
    }
    TEST_OK(cla_config_set(&settings, attention));
    TEST_OK(cla_transformer_configure(&config, &settings));
    config.source_pieces = config.target_pieces = PIECES;
    cla_config_fini(&settings);
    return config;
}

/* Runs a training step on a pair of length pieces. */
static void step(transformer *m, cla_tape *tape, cla_runtime *rt, int64_t length)
{
    cla_ragged *rows = NULL;
    cla_tensor *loss = NULL;
    float value = 0;
    int32_t *id = calloc((size_t)length, sizeof *id);
    int32_t *place = calloc((size_t)length, sizeof *place);
    for (int i = 0; i < length; i++) {
        id[i] = i % PIECES;
        place[i] = i;
    }
    const int32_t ends[] = { 0, (int32_t)length };
    TEST_OK(cla_ragged_new(&rows, rt, 1, ends));
    const transformer_tokens tokens = { length, id, place, rows, 0 };
    const transformer_batch batch = { tokens, tokens, id, NULL, NULL };
    TEST_OK(cla_transformer_loss(m, tape, &loss, &batch, 0.1, NULL));
    TEST_OK(cla_tape_seed(tape, loss, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(loss, &value));
    cr_assert(isfinite(value));
    cla_ragged_free(&rows);
    free(id);
    free(place);
}

/* Returns the peak memory of a step without the parameters. */
static double step_bytes(cla_runtime *rt, const char *attention, int64_t length)
{
    const transformer_config config = config_of(attention);
    transformer m;
    cla_params params = { 0 };
    cla_tape *tape = NULL;
    TEST_OK(cla_transformer_init(&m, &config, &params));
    TEST_OK(cla_params_build(&params, rt, 42));
    TEST_OK(cla_tape_new(&tape, rt, true));
    cla_memory_forget_peak(rt);
    const uint64_t before = cla_runtime_peak_bytes(rt);
    step(&m, tape, rt, length);
    const double bytes = (double)(cla_runtime_peak_bytes(rt) - before);
    cla_tape_free(&tape);
    cla_transformer_fini(&m);
    cla_params_free(&params);
    return bytes;
}

/* Twice the length takes twice the memory, up to the sizes of the arena's blocks. A map
 * would take four times as much, and 67 MB at 2,048 pieces: more than all else. */
DEVICE_TEST(memory, grows_linearly_with_the_length)
{
    static const char *const ways[] = { "attention=softmax", "attention=csan1d",
                                        "attention=csan2d" };
    enum { T = 1024 };
    cla_memory_guard(rt, false);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const double once = step_bytes(rt, ways[i], T);
        const double twice = step_bytes(rt, ways[i], 2 * T);
        printf("%s: %.1f MB at %d pieces, %.1f MB at %d\n", ways[i], 1e-6 * once, T,
               1e-6 * twice, 2 * T);
        cr_assert(once > 0 && twice < 2.6 * once, "%s: %g, then %g bytes", ways[i],
                  once, twice);
        cr_assert(twice < 4.0 * HEADS * (2 * T) * (2 * T), "%s: %g bytes", ways[i],
                  twice);
    }
}
