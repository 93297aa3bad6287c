/* lm.c - language models: published sizes, gradients, what a piece sees, and a cache of
 * keys that changes nothing. */
#include "models/lm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/slopes.h"
#include "support/support.h"

enum { PIECES = 11, T = 8 };

/* Free the settings behind the config, whose strings they own. */
static cla_status configure(lm_config *c, cla_config *s, const char *const *assignments)
{
    *s = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&s->path, "test"));
    for (; *assignments; assignments++) {
        TEST_OK(cla_config_set(s, *assignments));
    }
    const cla_status status = cla_lm_configure(c, s);
    c->pieces = PIECES;
    return status;
}

/* ---- sizes ------------------------------------------------------------------- */

static int64_t count(const char *const *assignments, int pieces)
{
    lm_config c;
    cla_config settings;
    lm *m = calloc(1, sizeof *m);
    cla_params params = { 0 };
    int64_t n = 0;
    cr_assert_not_null(m);
    TEST_OK(configure(&c, &settings, assignments));
    c.pieces = pieces;
    TEST_OK(cla_lm_init(m, &c, &params));
    for (size_t i = 0; i < params.count; i++) {
        const int64_t *shape = params.list[i].shape;
        n += shape[0] * shape[1] * shape[2] * shape[3];
    }
    cla_params_free(&params);
    cla_config_fini(&settings);
    free(m);
    return n;
}

/* GPT-2 of 124 million and LLaMA of 7 billion parameters. */
Test(lm, has_the_published_parameters)
{
    const char *const gpt2[] = { "preset=gpt2", "layers=12",    "dim=768",
                                 "heads=12",    "context=1024", NULL };
    const char *const llama[] = { "preset=llama", "layers=32",  "dim=4096", "heads=32",
                                  "inner=11008",  "tied=false", NULL };
    cr_assert_eq(count(gpt2, 50257), 124439808);
    cr_assert_eq(count(llama, 32000), 6738415616);
}

/* ---- a small model ----------------------------------------------------------- */

typedef struct fixture {
    cla_runtime *rt;
    cla_config settings;
    cla_params params;
    lm model;
} fixture;

static fixture *make(const char *const *assignments)
{
    fixture *f = calloc(1, sizeof *f);
    lm_config c;
    cr_assert_not_null(f);
    TEST_OK(configure(&c, &f->settings, assignments));
    f->rt = test_runtime();
    cla_memory_guard(f->rt, false); // parameters are parts of a block
    TEST_OK(cla_lm_init(&f->model, &c, &f->params));
    TEST_OK(cla_params_build(&f->params, f->rt, 5));
    return f;
}

static void unmake(fixture *f)
{
    cla_lm_fini(&f->model);
    cla_params_free(&f->params);
    cla_config_fini(&f->settings);
    cla_runtime_free(&f->rt);
    free(f);
}

#define TINY "dim=8", "heads=2", "layers=2", "context=8", "inner=12"

static const char *const kinds[][12] = {
    { TINY, "preset=llama" },
    { TINY, "preset=gpt2" },
    { TINY, "preset=llama", "kv_heads=1", "tied=false", "rope_part=0.5" },
    { TINY, "preset=gpt2", "position=sine", "feed_forward=geglu", "pre_norm=false" },
    { TINY, "preset=llama", "position=none", "feed_forward=relu" },
    { TINY, "preset=gpt2", "attention=rel_pos", "clip=2", "attention_layers=2-2" },
    { TINY, "attention=csan1d", "window=3", "kv_heads=1" },
    { TINY, "attention=csan2d", "window=5", "area=3", "attention_layers=1-1" },
    { TINY, "attention=neighbor", "position=none" },
    { TINY, "attention=direct", "position=none" },
    { TINY, "attention=neighbor_predicted", "local_heads=1" },
    { TINY, "attention=local_hard", "local_width=3", "local_truncate=false" },
    { TINY, "attention=local_soft", "position=none" },
    { TINY, "attention=conv", "map_activation=sigmoid" },
    { TINY, "attention=conv", "conv_pos=before", "attention_layers=1-1" },
    { TINY, "attention=conv2d", "map_activation=tanh", "map_filter=5" },
    { TINY, "attention=conv2d", "map_activation=none", "kv_heads=1" },
    { TINY, "attention=conv2d", "conv_pos=before", "position=none" },
    { TINY, "position=alibi", "kv_heads=1" },
    { TINY, "rope_scaling=linear", "rope_factor=3" },
    { TINY, "rope_scaling=llama3", "rope_context=6", "rope_base=5", "rope_low=0.3",
      "rope_high=0.9" },
    { TINY, "rope_scaling=yarn", "rope_context=16", "rope_base=5", "rope_high=2" },
    { TINY, "attention=custom", "position=none", "score=s - slope[h] * (i - j)",
      "learn={\"slope\": {\"shape\": [\"heads\"], \"init\": \"alibi\"}}" },
};
enum { KINDS = sizeof kinds / sizeof *kinds, N = 7, FIRST = 4 };

/* Two sequences, of 4 and of 3 pieces. */
static const int32_t ids[N] = { 1, 7, 3, 7, 1, 9, 2 };
static const int32_t positions[N] = { 0, 1, 2, 3, 0, 1, 2 };
static const int32_t targets[N] = { 7, 3, 7, 2, 9, 2, 5 };

/* ---- gradients --------------------------------------------------------------- */

static double loss_here(void *model, bool backward)
{
    static const int lengths[] = { FIRST, N - FIRST };
    fixture *f = model;
    cla_tape *tape = NULL;
    cla_tensor *loss = NULL;
    cla_ragged *rows = test_ragged(f->rt, 2, lengths, NULL);
    const lm_tokens tokens = { N, ids, positions, rows, 0 };
    float value = 0;
    TEST_OK(cla_tape_new(&tape, f->rt, true));
    TEST_OK(cla_lm_loss(&f->model, tape, &loss, &tokens, targets));
    TEST_OK(cla_tensor_download(loss, &value));
    if (backward) {
        TEST_OK(cla_tape_seed(tape, loss, NULL));
        TEST_OK(cla_tape_backward(tape));
    }
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    return (double)value;
}

Test(lm, gradients_match_finite_differences)
{
    for (int i = 0; i < KINDS; i++) {
        fixture *f = make(kinds[i]);
        check_slopes(
            &(slopes_case){ .params = &f->params, .loss = loss_here, .model = f });
        unmake(f);
    }
}

/* ---- what a piece sees ------------------------------------------------------- */

/* Computes the logits of n pieces of sequences of these lengths. */
static void logits_of(fixture *f, const int32_t *id, const int32_t *position,
                      const int *lengths, int sequences, float *logits)
{
    cla_tape *tape = NULL;
    cla_tensor *out = NULL;
    cla_ragged *rows = test_ragged(f->rt, sequences, lengths, NULL);
    const lm_tokens tokens = { cla_ragged_tokens(rows), id, position, rows, 0 };
    TEST_OK(cla_tape_new(&tape, f->rt, false));
    TEST_OK(cla_lm_logits(&f->model, tape, &out, &tokens));
    TEST_OK(cla_tensor_download(out, logits));
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}

/* The tolerance: tens of operators on numbers near 1, each with some roundings. */
static void check_rows(const float *got, const float *want, int rows, const char *what)
{
    for (int i = 0; i < rows * PIECES; i++) {
        cr_assert_float_eq(got[i], want[i], 2e-5, "%s: logit %d", what, i);
    }
}

/* Packed sequences are as each alone, and no piece sees a later one. */
Test(lm, sees_its_own_past_alone)
{
    static const int both[] = { FIRST, N - FIRST }, second[] = { N - FIRST };
    for (int i = 0; i < KINDS; i++) {
        fixture *f = make(kinds[i]);
        float all[N * PIECES], alone[N * PIECES], other[N * PIECES];
        int32_t changed[N];
        logits_of(f, ids, positions, both, 2, all);
        logits_of(f, ids + FIRST, positions + FIRST, second, 1, alone);
        check_rows(all + FIRST * PIECES, alone, N - FIRST, "alone");
        memcpy(changed, ids, sizeof ids);
        changed[2] = 10;
        logits_of(f, changed, positions, both, 2, other);
        check_rows(other, all, 2, "before the change");
        check_rows(other + FIRST * PIECES, all + FIRST * PIECES, N - FIRST,
                   "beside it");
        cr_assert(memcmp(other + 2 * PIECES, all + 2 * PIECES, PIECES * 4) != 0);
        cr_assert(memcmp(other + 3 * PIECES, all + 3 * PIECES, PIECES * 4) != 0);
        unmake(f);
    }
}

/* A text that is read on piece by piece, from its first three at once. */
Test(lm, reads_on_from_its_cache)
{
    enum { BEGIN = 3 };
    static const int32_t text[T] = { 1, 7, 3, 7, 1, 9, 2, 2 },
                         at[T] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    static const int one[] = { T };
    for (int i = 0; i < KINDS; i++) {
        fixture *f = make(kinds[i]);
        float all[T * PIECES], next[PIECES];
        cla_tape *turn[2] = { NULL };
        lm_past past = { 0 };
        logits_of(f, text, at, one, 1, all);
        TEST_OK(cla_tape_new(&turn[0], f->rt, false));
        TEST_OK(cla_tape_new(&turn[1], f->rt, false));
        for (int k = BEGIN; k <= T; k++) {
            cla_tensor *logits = NULL;
            const int fresh = k > BEGIN ? 1 : k;
            cla_tape_reset(turn[k % 2]);
            TEST_OK(cla_lm_next(&f->model, turn[k % 2], &logits, &past,
                                text + k - fresh, fresh));
            TEST_OK(cla_tensor_download(logits, next));
            check_rows(next, all + (ptrdiff_t)(k - 1) * PIECES, 1, "read on");
        }
        cr_assert_eq(past.count, T);
        cla_tape_free(&turn[0]);
        cla_tape_free(&turn[1]);
        unmake(f);
    }
}

/* ---- refusals ---------------------------------------------------------------- */

Test(lm, refuses)
{
    static const struct {
        const char *set[4], *error;
    } cases[] = {
        { { "attention=bi_direct" }, "reads pieces that a language model has not" },
        { { "attention=conv2d", "attention_dropout=0.1" },
          "attention_dropout is 0.1, must be 0: attention 'conv2d' convolves" },
        { { "attention=block" }, "is 'block', which reads pieces" },
        { { "dim=10", "heads=3" }, "dim is 10, no multiple of 3 heads" },
        { { "kv_heads=4" }, "kv_heads is 4, must divide the 6 heads" },
        { { "attention_layers=3-9" }, "must be like 1-3 within 1-6" },
        { { "preset=bert" }, "preset" },
        { { "position=buckets" }, "position" },
        { { "position=alibi", "attention=rel_pos" },
          "position is 'alibi', which is for attention 'softmax', not 'rel_pos'" },
        { { "rope_scaling=ntk" }, "rope_scaling" },
        { { "rope_scaling=yarn", "rope_base=1" }, "rope_base is 1, must be above 1" },
        { { "rope_scaling=llama3", "rope_low=4" },
          "rope_low is 4, must be below rope_high, 4" },
        { { "rope_scaling=linear", "rope_factor=0.5" }, "rope_factor" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lm_config c;
        cla_config s;
        TEST_FAILS(configure(&c, &s, cases[i].set), CLA_E_INPUT, cases[i].error);
        cla_config_fini(&s);
    }
}
