/* door.c - clattn/model.h does what the program does, with the models of the fuzz
 * targets. */
#include "tasks/door.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "support/support.h"

const char *const lines[LINES] = { "a b c", "", "d e", "a", "c c b a", "b d" };

fixture open_model(const char *kind, const cla_model_options *options)
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

void close_model(fixture *f)
{
    cla_model_free(&f->model);
    cla_runtime_free(&f->rt);
}

/* ---- loading --------------------------------------------------------------------- */

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

/* ---- workers --------------------------------------------------------------------- */

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

/* ---- tags ------------------------------------------------------------------------ */

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

/* ---- answers --------------------------------------------------------------------- */

Test(door, questions_have_passages_of_their_own)
{
    enum { QUESTIONS = 4, ANSWERS = 2 };
    static const char *const ann[] = { "Ann came to the old house.", "" },
                             *const ben[] = { "Ben saw her there at noon." };
    static const cla_question asked[QUESTIONS] = {
        { "who came", ann, 1 }, { "where", ann, 1 }, { "when", ben, 1 }, { " ", ben, 1 }
    };
    static const cla_answer_options options = { .best = ANSWERS },
                                    few = { .max_words = 4 }, wrong = { .best = 1001 },
                                    below = { .max_words = -1 };
    fixture f = open_model("reader", NULL);
    cla_passage_quote all[QUESTIONS * ANSWERS];
    cla_quote alone[ANSWERS];
    size_t found[QUESTIONS], n = 0;
    TEST_OK(cla_model_ask(f.model, all, found, asked, QUESTIONS, &options));
    for (int i = 0; i < QUESTIONS; i++) {
        TEST_OK(cla_model_answer(f.model, alone, &n, asked[i].passages[0],
                                 &asked[i].text, 1, ANSWERS));
        cr_expect_eq(found[i], n);
        for (size_t k = 0; k < n; k++) {
            const cla_passage_quote *q = &all[i * ANSWERS + (int)k];
            cr_expect_eq(q->passage, 0);
            cr_expect(q->quote.at == alone[k].at && q->quote.size == alone[k].size);
            cr_expect_float_eq(q->quote.logp, alone[k].logp, 1e-4);
        }
    }
    cr_expect(found[0] == 2 && found[3] == 0);
    TEST_FAILS(cla_model_ask(f.model, all, found, asked, 1, &few), CLA_E_INPUT,
               "passage[0] has 7 words, more than 4");
    TEST_FAILS(cla_model_ask(f.model, all, found, asked, 1, &wrong), CLA_E_USAGE,
               "best is 1001");
    TEST_FAILS(cla_model_ask(f.model, all, found, asked, 1, &below), CLA_E_USAGE,
               "max_words is -1");
    TEST_FAILS(cla_model_ask(f.model, all, found, &(cla_question){ 0 }, 1, NULL),
               CLA_E_USAGE, "questions[0].text is NULL");
    TEST_FAILS(
        cla_model_ask(f.model, all, found, &(cla_question){ "a", NULL, 1 }, 1, NULL),
        CLA_E_USAGE, "passages is NULL");
    close_model(&f);
}

/* ---- progress -------------------------------------------------------------------- */

typedef struct heard {
    size_t calls, done, count, stop; // stop: the call that ends the work; 0: none
} heard;

static cla_status hear(void *to, size_t done, size_t count)
{
    heard *h = to;
    cr_expect(done > h->done && done <= count);
    h->calls++;
    h->done = done;
    h->count = count;
    return h->calls == h->stop ? CLA_E_INPUT : CLA_OK;
}

static cla_status work(cla_model *model)
{
    static const cla_translate_options each = { .batch = 1 };
    static const char *const passage = "Ann came.", *const question = "who";
    static const cla_question asked = { question, &passage, 1 };
    const char *kind = cla_model_kind(model), *tag;
    cla_translation said[LINES];
    cla_passage_quote quote;
    cla_quatrain *poem = NULL;
    size_t found;
    if (strcmp(kind, "tagger") == 0) {
        return cla_model_tag(model, &tag, lines, 1);
    }
    if (strcmp(kind, "translator") == 0) {
        return cla_model_translate(model, said, lines, LINES, &each);
    }
    if (strcmp(kind, "reader") == 0) {
        return cla_model_ask(model, &quote, &found, &asked, 1, NULL);
    }
    const cla_status status = cla_model_compose(model, &poem, "", NULL);
    cla_quatrain_free(&poem);
    return status;
}

Test(door, a_watcher_hears_of_batches_and_can_end_them)
{
    static const struct {
        const char *kind;
        size_t calls, count; // a blank line does not count
    } kinds[] = { { "tagger", 1, 1 },
                  { "translator", LINES - 1, LINES - 1 },
                  { "reader", 1, 1 },
                  { "poet", 4, 4 } };
    for (int i = 0; i < 4; i++) {
        fixture f = open_model(kinds[i].kind, NULL);
        heard all = { 0 }, first = { .stop = 1 };
        TEST_OK(cla_model_watch(f.model, hear, &all));
        TEST_OK(work(f.model));
        cr_expect(all.calls == kinds[i].calls && all.count == kinds[i].count,
                  "%s: %zu calls of %zu", kinds[i].kind, all.calls, all.count);
        cr_expect_eq(all.done, all.count);
        TEST_OK(cla_model_watch(f.model, hear, &first));
        TEST_FAILS(work(f.model), CLA_E_INPUT, "stopped after 1 of ");
        cr_expect_eq(first.calls, 1);
        TEST_OK(cla_model_watch(f.model, NULL, NULL));
        TEST_OK(work(f.model));
        close_model(&f);
    }
}
