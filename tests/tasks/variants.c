/* variants.c - each variant of the tagger: parameters, maps, a few steps on real
 * sentences. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/slopes.h"
#include "support/support.h"
#include "tasks/tagging/tagging.h"
#include "train/step.h"

typedef struct variant {
    const char *name;
    const char *set[4]; // settings that differ from the defaults
    int64_t extra;      // parameters more than those of the plain tagger
} variant;

/* The published counts at the published sizes: 4 layers and heads, t = 60, words of
 * 300 and letters of 64 numbers. Concatenated positions widen all layers (364 to 428)
 * and the output (47 tags). */
static const variant variants[] = {
    { "san", { "positions=none" }, 0 },
    { "pe_add", { "positions=add" }, 18000 },
    { "pe_con",
      { "positions=concat" },
      3840 + (2198208 - 1589952) + INT64_C(47) * 2 * 64 },
    { "p", { "positions=p" }, 14400 },
    { "r", { "positions=r" }, 480 },
    { "r spectral", { "positions=r", "rel_mode=spectral" }, 480 },
    { "p_r", { "positions=p_r" }, 14400 + 480 },
    { "temp", { "positions=none", "temperature=true" }, 48 },
    { "conv", { "positions=none", "attention=conv" }, 173760 },
    { "conv2d", { "positions=none", "attention=conv2d" }, 160 },
    { "conv2d of 17 by 17",
      { "positions=none", "attention=conv2d", "map_filter=17" },
      INT64_C(16) * (17 * 17 + 1) },
    { "custom",
      { "positions=none", "attention=custom", "score=s - slope[h] * abs(j - i)",
        "learn={\"slope\": {\"shape\": [\"heads\"], \"init\": \"alibi\"}}" },
      16 },
};

enum { VARIANTS = sizeof variants / sizeof *variants };

static void set_all(cla_config *settings, const variant *v)
{
    *settings = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&settings->path, "test"));
    for (int i = 0; i < 4 && v->set[i]; i++) {
        TEST_OK(cla_config_set(settings, v->set[i]));
    }
}

/* Returns the number of parameters, without making them. */
static int64_t count(const variant *v)
{
    cla_config settings;
    tagger_config config;
    tagger model;
    cla_params params = { 0 };
    int64_t n = 0;
    set_all(&settings, v);
    TEST_OK(cla_config_set(&settings, "word_dim=300"));
    TEST_OK(cla_tagger_configure(&config, &settings));
    config.words = 1000;
    config.chars = 80;
    config.tags = 47;
    TEST_OK(cla_tagger_init(&model, &config, &params));
    for (size_t i = 0; i < params.count; i++) {
        const int64_t *shape = params.list[i].shape;
        n += shape[0] * shape[1] * shape[2] * shape[3];
    }
    cla_params_free(&params);
    cla_config_fini(&settings);
    return n;
}

Test(variants, have_the_published_parameters)
{
    const int64_t plain = count(&variants[0]);
    /* attention, letters, output, and the two tables */
    cr_assert_eq(plain, 1589952 + 61632 + 34263 + 1000 * 300 + 80 * 64);
    for (int i = 1; i < VARIANTS; i++) {
        const int64_t extra = count(&variants[i]) - plain;
        cr_assert_eq(extra, variants[i].extra, "%s: %lld more parameters, must be %lld",
                     variants[i].name, (long long)extra, (long long)variants[i].extra);
    }
}

/* Opens a small tagger on the treebank that comes with the program; all heads are 16
 * wide. */
static cla_task *open_small(cla_runtime *rt, cla_config *settings, const variant *v)
{
    static const char *const small[] = { "model=tagger", "word_dim=24", "char_dim=8",
                                         "layers=2",     "heads=2",     "char_layers=1",
                                         "batch=8",      "length=20",   "lr=0.004" };
    const char *folder = getenv("CLATTN_TEST_TREEBANK");
    cr_assert_not_null(folder,
                       "CLATTN_TEST_TREEBANK is not set: run through meson test");
    cla_task *task = NULL;
    char data[512];
    set_all(settings, v);
    snprintf(data, sizeof data, "data=%s", folder);
    TEST_OK(cla_config_set(settings, data));
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        TEST_OK(cla_config_set(settings, small[i]));
    }
    if (strcmp(v->set[0], "positions=concat") == 0) {
        TEST_OK(cla_config_set(settings, "position_dim=32"));
        TEST_OK(cla_config_set(settings, "heads=4"));
    }
    TEST_OK(cla_task_open(&task, rt, settings, NULL, CLA_TASK_NEW));
    return task;
}

/* Checks the maps of a sentence of three words: rows sum to 1, before any
 * convolution. */
static void check_maps(tagging *t, const variant *v)
{
    char *text = NULL;
    cla_conllu file = { 0 };
    tagging_split split = { 0 };
    tagger_view view = { 0 };
    TEST_OK(cla_strdup(&text, "il ne vient\n"));
    TEST_OK(cla_conllu_from_lines(&file, "words", 0, text, strlen(text)));
    TEST_OK(cla_tagging_split_build(t, &split, &file));
    TEST_OK(cla_tagging_look(t, &split, &view));
    const bool convolved = cla_attn_way(&t->config.attn)->show != NULL;
    cr_assert_eq(view.count, (convolved ? 2 : 1) * 2 * t->config.heads);
    for (int i = 0; i < view.count; i++) {
        const tagger_map *m = &view.maps[i];
        cr_assert_eq(m->tokens, 3);
        for (int k = 0; k < 3 && !m->convolved; k++) {
            const float *row = m->weight + 3 * (ptrdiff_t)k;
            const double sum = (double)row[0] + (double)row[1] + (double)row[2];
            cr_assert(fabs(sum - 1) < 1e-5, "%s: row %d of map %d sums to %g", v->name,
                      k, i, sum);
        }
    }
    cla_tagger_view_free(&view);
    cla_tagging_split_free(&split);
}

/* Checks that the loss of eight sentences falls when they are used again and again. */
static void check_training(cla_runtime *rt, const variant *v)
{
    enum { STEPS = 12, BATCH = 8 };
    const cla_parallel alone = { .size = 1 };
    cla_config settings;
    cla_stepper stepper = { 0 };
    int64_t examples[BATCH];
    double first = 0, last = 0;
    cla_task *task = open_small(rt, &settings, v);
    TEST_OK(cla_stepper_configure(&stepper, task->kind, &settings));
    TEST_OK(cla_config_check(&settings));
    TEST_OK(cla_stepper_init(&stepper, task, &alone));
    for (int i = 0; i < BATCH; i++) {
        examples[i] = 10 + i;
    }
    for (int step = 0; step < STEPS; step++) {
        cla_step_result result = { 0 };
        TEST_OK(cla_stepper_step(&stepper, examples, BATCH, step, &result));
        first = step ? first : result.loss;
        last = result.loss;
    }
    cr_assert(last < 0.9 * first, "%s: loss %g after %d steps, %g before", v->name,
              last, STEPS, first);
    check_maps((tagging *)task, v);
    cla_stepper_fini(&stepper);
    cla_task_close(&task);
    cla_config_fini(&settings);
}

static double loss_here(void *model, bool backward)
{
    static const int64_t examples[] = { 10, 11 };
    cla_task *task = model;
    cla_tape *tape = NULL;
    cla_tensor *loss = NULL;
    float value = 0;
    TEST_OK(cla_tape_new(&tape, task->rt, true));
    TEST_OK(task->kind->loss(task, tape, examples, 2, &loss));
    TEST_OK(cla_tensor_download(loss, &value));
    if (backward) {
        TEST_OK(cla_tape_seed(tape, loss, NULL));
        TEST_OK(cla_tape_backward(tape));
    }
    cla_tape_free(&tape);
    return (double)value;
}

Test(variants, gradients_match_finite_differences)
{
    static const variant some[] = {
        { "p_r", { "positions=p_r", "dropout=0" }, 0 },
        { "conv", { "positions=none", "attention=conv", "dropout=0" }, 0 },
        { "conv2d", { "positions=concat", "attention=conv2d", "dropout=0" }, 0 },
    };
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        cla_config settings;
        cla_task *task = open_small(rt, &settings, &some[i]);
        check_slopes(&(slopes_case){
            .params = &task->params, .loss = loss_here, .model = task, .stir = 0.1F });
        cla_task_close(&task);
        cla_config_fini(&settings);
    }
    cla_runtime_free(&rt);
}

/* All variants learn as in the paper, with padding that attention sees. */
Test(variants, learn_with_visible_padding)
{
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (int i = 0; i < VARIANTS; i++) {
        check_training(rt, &variants[i]);
    }
    cla_runtime_free(&rt);
}

/* Variants learn without visible padding, in either preset. */
Test(variants, learn_without_padding)
{
    static const variant packed[] = {
        { "p_r, masked", { "positions=p_r", "mask_pad=true" }, 0 },
        { "conv, masked", { "positions=add", "attention=conv", "mask_pad=true" }, 0 },
        { "r, modern", { "positions=r", "preset=modern" }, 0 },
        { "conv, modern", { "positions=none", "attention=conv", "preset=modern" }, 0 },
    };
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        check_training(rt, &packed[i]);
    }
    cla_runtime_free(&rt);
}

/* Checks that sentences beyond t words are tagged: in chunks by variants that depend on
 * positions, in one piece by others. */
static void check_long(cla_runtime *rt, const variant *v, bool one_piece)
{
    enum { WORDS = 47 };
    cla_config settings;
    cla_text text = { 0 };
    cla_conllu file = { 0 };
    tagging_split split = { 0 };
    int32_t predicted[WORDS];
    cla_task *task = open_small(rt, &settings, v);
    tagging *t = (tagging *)task;
    for (int i = 0; i < WORDS; i++) {
        TEST_OK(cla_text_add(&text, "w%d ", i % 7));
        predicted[i] = -1;
    }
    TEST_OK(cla_conllu_from_lines(&file, "words", 0, text.data, text.size));
    TEST_OK(cla_tagging_split_build(t, &split, &file));
    cr_assert_eq(split.chunk_count == 1, one_piece, "%s: %zu chunks", v->name,
                 split.chunk_count);
    TEST_OK(cla_tagging_predict(t, &split, predicted));
    for (int i = 0; i < WORDS; i++) {
        cr_assert(predicted[i] >= 0 && predicted[i] < t->config.tags, "%s: word %d",
                  v->name, i);
    }
    cla_tagging_split_free(&split);
    cla_task_close(&task);
    cla_config_fini(&settings);
}

Test(variants, tag_sentences_of_any_length)
{
    static const variant p = { "p", { "positions=p", "preset=modern" }, 0 };
    static const variant conv = {
        "conv", { "positions=none", "attention=conv", "preset=modern" }, 0
    };
    static const variant conv2d = {
        "conv2d", { "positions=none", "attention=conv2d", "preset=modern" }, 0
    };
    static const variant padded = {
        "san, padded", { "positions=none", "mask_pad=false", "preset=modern" }, 0
    };
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    check_long(rt, &p, false);
    check_long(rt, &conv, false);
    check_long(rt, &conv2d, true);
    check_long(rt, &padded, false);
    cla_runtime_free(&rt);
}

Test(variants, refuse_scores_for_a_convolved_map)
{
    static const variant both = { "both", { "positions=p", "attention=conv2d" }, 0 };
    cla_config settings;
    tagger_config config;
    tagger model;
    cla_params params = { 0 };
    set_all(&settings, &both);
    TEST_OK(cla_tagger_configure(&config, &settings));
    TEST_FAILS(
        cla_tagger_init(&model, &config, &params), CLA_E_INPUT,
        "positions 'p' are scores of plain attention, and attention is 'conv2d'");
    cla_params_free(&params);
    cla_config_fini(&settings);
}
