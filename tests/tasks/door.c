/* door.c - clattn/model.h does what the program does, with the models of the fuzz
 * targets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "clattn/model.h"
#include "support/support.h"

typedef struct fixture {
    cla_runtime *rt;
    cla_model *model;
} fixture;

static fixture open_model(const char *kind, const cla_model_options *options)
{
    fixture f = { 0 };
    char folder[1024];
    const char *models = getenv("CLATTN_TEST_MODELS");
    cr_assert_not_null(models, "CLATTN_TEST_MODELS is not set: run through meson test");
    snprintf(folder, sizeof folder, "%s/%s", models, kind);
    TEST_OK(cla_runtime_new(&f.rt, NULL));
    TEST_OK(cla_model_open(&f.model, f.rt, folder, options));
    cr_assert_str_eq(cla_model_kind(f.model), kind);
    return f;
}

static void close_model(fixture *f)
{
    cla_model_free(&f->model);
    cla_runtime_free(&f->rt);
}

/* ---- loading ---------------------------------------------------------------------- */

Test(door, weights_of_fewer_bits)
{
    static const cla_weights bits[] = { CLA_WEIGHTS_STORED, CLA_WEIGHTS_FLOAT32,
                                        CLA_WEIGHTS_FLOAT16, CLA_WEIGHTS_INT8 };
    const char *line = "a b c";
    char *text[4] = { NULL };
    uint64_t bytes[4];
    cla_translation said;
    for (int i = 0; i < 4; i++) {
        const cla_model_options options = { .weights = bits[i] };
        fixture f = open_model("translator", &options);
        bytes[i] = cla_runtime_peak_bytes(f.rt);
        TEST_OK(cla_model_translate(f.model, &said, &line, 1, NULL));
        TEST_OK(cla_strdup(&text[i], said.text));
        close_model(&f);
    }
    cr_expect_str_eq(text[0], text[1]);
    cr_expect(bytes[3] < bytes[1] && bytes[2] < bytes[1], "%zu, %zu, %zu bytes",
              (size_t)bytes[1], (size_t)bytes[2], (size_t)bytes[3]);
    for (int i = 0; i < 4; i++) {
        free(text[i]);
    }
}

Test(door, options_out_of_range)
{
    cla_runtime *rt = NULL;
    cla_model *model = NULL;
    const cla_model_options later = { .reserved = { 0, 0, 1 } };
    TEST_OK(cla_runtime_new(&rt, NULL));
    TEST_FAILS(cla_model_open(&model, rt, "none", &later), CLA_E_USAGE,
               "model_open: options.reserved is not 0");
    TEST_FAILS(cla_model_open(&model, rt, "none", NULL), CLA_E_IO, "none");
    cr_expect_null(model);
    cla_runtime_free(&rt);
}

/* ---- workers ---------------------------------------------------------------------- */

Test(door, workers_are_models)
{
    fixture f = open_model("tagger", NULL);
    const int units = cla_runtime_device(f.rt)->compute_units;
    const char *const words[] = { "the", "old", "house" };
    const char *want[3], *got[3];
    cr_expect_eq(cla_model_workers(f.model), 1);
    cr_expect_eq(cla_model_worker(f.model, 0), f.model);
    cr_expect_null(cla_model_worker(f.model, 1));
    cr_expect_null(cla_model_worker(f.model, -1));
    TEST_FAILS(cla_model_hire(f.model, units + 1), CLA_E_USAGE, "compute units");
    TEST_FAILS(cla_model_hire(f.model, -1), CLA_E_USAGE, "count is -1");
    TEST_OK(cla_model_tag(f.model, want, words, 3));
    if (units > 1 && !cla_model_hire(f.model, 2)) { // a GPU has no shares
        cr_expect_eq(cla_model_workers(f.model), 2);
        cla_model *second = cla_model_worker(f.model, 1);
        cr_assert(second && second != f.model);
        TEST_FAILS(cla_model_hire(second, 1), CLA_E_USAGE, "is a worker");
        TEST_OK(cla_model_tag(second, got, words, 3));
        for (int i = 0; i < 3; i++) {
            cr_expect_str_eq(got[i], want[i]);
        }
    }
    TEST_OK(cla_model_hire(f.model, 0));
    cr_expect(cla_model_workers(f.model) >= 1 && cla_model_workers(f.model) <= 8);
    TEST_OK(cla_model_hire(f.model, 1));
    cr_expect_eq(cla_model_worker(f.model, 0), f.model);
    close_model(&f);
}

/* ---- tags ------------------------------------------------------------------------- */

/* Words go in as they are: one with a tab is a word like others. */
Test(door, sentences_are_tagged_as_each_alone)
{
    enum { WORDS = 7, SENTENCES = 4 };
    static const char *const words[WORDS] = { "the", "old", "house", "ma\tison",
                                              "a",   "b",   "#" };
    static const size_t length[SENTENCES] = { 3, 0, 1, 3 };
    fixture f = open_model("tagger", NULL);
    const char *tags[WORDS], *alone[WORDS];
    cr_expect_eq(cla_model_tag_column(f.model), 4);
    TEST_OK(cla_model_tag_sentences(f.model, tags, words, length, SENTENCES, NULL));
    for (size_t i = 0, at = 0; i < SENTENCES; at += length[i++]) {
        TEST_OK(
            cla_model_tag_sentences(f.model, alone, words + at, &length[i], 1, NULL));
        for (size_t k = 0; k < length[i]; k++) {
            cr_expect_eq(tags[at + k], alone[k], "sentence %zu, word %zu", i, k);
        }
    }
    TEST_OK(cla_model_tag_sentences(f.model, NULL, NULL, NULL, 0, NULL));
    TEST_OK(cla_model_tag_sentences(f.model, NULL, NULL, &length[1], 1, NULL));
    close_model(&f);
}

Test(door, sentences_that_are_refused)
{
    const char *words[] = { "a", "b", "", "\xe9", NULL }, *tags[5];
    static const size_t two = 2, three = 3, five = 5;
    const cla_tag_options most = { .max_words = 2 }, below = { .max_words = -1 },
                          later = { .reserved = { 1 } };
    fixture f = open_model("tagger", NULL);
    TEST_OK(cla_model_tag_sentences(f.model, tags, words, &two, 1, &most));
    TEST_FAILS(cla_model_tag_sentences(f.model, tags, words, &three, 1, &most),
               CLA_E_INPUT, "sentence 0 has 3 words, more than 2");
    TEST_FAILS(cla_model_tag_sentences(f.model, tags, words, &three, 1, NULL),
               CLA_E_INPUT, "words[2] is empty");
    words[2] = "c";
    TEST_FAILS(cla_model_tag_sentences(f.model, tags, words, &five, 1, NULL),
               CLA_E_USAGE, "words[4] is NULL");
    words[4] = "e";
    TEST_FAILS(cla_model_tag_sentences(f.model, tags, words, &five, 1, NULL),
               CLA_E_INPUT, "words[3] is not UTF-8");
    TEST_FAILS(cla_model_tag_sentences(f.model, tags, words, &two, 1, &below),
               CLA_E_USAGE, "max_words is -1");
    TEST_FAILS(cla_model_tag_sentences(f.model, tags, words, &two, 1, &later),
               CLA_E_USAGE, "options.reserved is not 0");
    TEST_FAILS(cla_model_tag_sentences(f.model, NULL, words, &two, 1, NULL),
               CLA_E_USAGE, "tags is NULL");
    TEST_FAILS(cla_model_tag_sentences(f.model, tags, words, NULL, 1, NULL),
               CLA_E_USAGE, "length is NULL");
    close_model(&f);
    f = open_model("translator", NULL);
    TEST_FAILS(cla_model_tag_sentences(f.model, tags, words, &two, 1, NULL),
               CLA_E_USAGE, "the model is a translator");
    cr_expect_eq(cla_model_tag_column(f.model), 0);
    close_model(&f);
}
