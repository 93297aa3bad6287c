/* model.c - a translator inside an application: translations and errors. */
#include "clattn/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/support.h"
#include "train/loop.h"

typedef struct fixture {
    char root[32], run[48];
    cla_runtime *rt;
    cla_model *model;
} fixture;

static void put(const fixture *f, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", f->root, name);
    TEST_OK(cla_file_write(path, text, strlen(text)));
}

/* Trains long enough to prefer some pieces clearly. */
static void train(const fixture *f)
{
    static const char *const tiny[] = { "model=translator", "source=en", "target=de",
                                        "dim=16",           "heads=2",   "inner=32",
                                        "layers=1",         "merges=9",  "steps=40",
                                        "eval_every=40",    "warmup=20", "lr=0.4",
                                        "dropout=0" };
    char data[64];
    cla_config s = { .values = json_object(), .known = json_object() };
    cla_train_result result = { 0 };
    const cla_train_options options = { .out = f->run,
                                        .quiet = true,
                                        .parallel = { .size = 1 } };
    TEST_OK(cla_strdup(&s.path, "test"));
    snprintf(data, sizeof data, "data=%s", f->root);
    TEST_OK(cla_config_set(&s, data));
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        TEST_OK(cla_config_set(&s, tiny[i]));
    }
    TEST_OK(cla_train(f->rt, &s, &options, &result));
    cla_config_fini(&s);
}

static void make(fixture *f)
{
    *f = (fixture){ .root = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->root));
    snprintf(f->run, sizeof f->run, "%s/run", f->root);
    put(f, "train.en", "a dog\na cat\n");
    put(f, "train.de", "ein hund\neine katze\n");
    put(f, "dev.en", "a dog\n");
    put(f, "dev.de", "ein hund\n");
    TEST_OK(cla_runtime_new(&f->rt, NULL));
    train(f);
    TEST_OK(cla_model_load(&f->model, f->rt, f->run));
}

static void unmake(fixture *f)
{
    char **paths = NULL;
    size_t n = 0;
    cla_model_free(&f->model);
    cla_runtime_free(&f->rt);
    TEST_OK(cla_folder_list(f->root, "", &paths, &n));
    for (size_t i = 0; i < n; i++) {
        unlink(paths[i]);
    }
    cla_folder_list_free(&paths, n);
    rmdir(f->run);
    rmdir(f->root);
}

static void check_translations(const fixture *f)
{
    enum { LINES = 4 };
    static const char *const lines[LINES] = { "a dog", "", "a cat and a dog", "  " };
    cla_translation said[LINES], alone;
    const cla_translate_options options = { .beam = 3,
                                            .length_penalty = 0.6,
                                            .batch = 2 };
    char *text = NULL;
    TEST_OK(cla_model_translate(f->model, said, lines, LINES, &options));
    for (int i = 0; i < LINES; i++) {
        cr_assert_eq(said[i].logp < 0, i % 2 == 0);
        cr_assert(isfinite(said[i].score) && said[i].score >= said[i].logp);
        cr_assert(i % 2 == 0 || !*said[i].text);
    }
    const double logp = said[2].logp;
    TEST_OK(cla_strdup(&text, said[2].text));
    TEST_OK(cla_model_translate(f->model, &alone, &lines[2], 1, &options));
    cr_assert_str_eq(alone.text, text);
    cr_assert_float_eq(alone.logp, logp, 1e-4);
    TEST_OK(cla_model_translate(f->model, NULL, NULL, 0, NULL));
    free(text);
}

static void check_refusals(const fixture *f)
{
    static const cla_translate_options wrong[] = {
        { .beam = -1 },
        { .beam = 257 },
        { .length_penalty = -0.1 },
        { .length_penalty = 10.1 },
        { .length_penalty = NAN },
        { .batch = -1 },
        { .split = 2 },
    };
    static const char *const named[] = { "beam is -1",
                                         "beam is 257",
                                         "length_penalty is -0.1",
                                         "length_penalty is 10.1",
                                         "length_penalty is ",
                                         "batch is -1",
                                         "split is 2" };
    const char *lines[] = { "a dog", "a\nb" }, *tag = NULL;
    cla_translation said[2];
    for (int i = 0; i < 7; i++) {
        TEST_FAILS(cla_model_translate(f->model, said, lines, 1, &wrong[i]),
                   CLA_E_USAGE, named[i]);
    }
    TEST_FAILS(cla_model_translate(f->model, said, lines, 2, NULL), CLA_E_INPUT,
               "lines[1] holds a line end");
    lines[0] = "caf\xe9";
    TEST_FAILS(cla_model_translate(f->model, said, lines, 1, NULL), CLA_E_INPUT,
               "lines[0] is not UTF-8");
    TEST_FAILS(cla_model_tag(f->model, &tag, lines, 1), CLA_E_USAGE,
               "tag: the model is a translator");
    cla_quatrain *poem = NULL;
    TEST_FAILS(cla_model_compose(f->model, &poem, "a", NULL), CLA_E_USAGE,
               "compose: the model is a translator");
    cr_assert_null(poem);
}

static void check_nulls(const fixture *f)
{
    const char *texts[2] = { "a dog" }, *tag = NULL;
    cla_translation said[2];
    cla_quote quote;
    cla_quatrain *poem = NULL;
    size_t found = 0;
    cla_model *m = f->model;
    TEST_FAILS(cla_model_translate(m, said, NULL, 1, NULL), CLA_E_USAGE,
               "translate: lines is NULL");
    TEST_FAILS(cla_model_translate(m, said, texts, 2, NULL), CLA_E_USAGE,
               "translate: lines[1] is NULL");
    TEST_FAILS(cla_model_translate(m, NULL, texts, 1, NULL), CLA_E_USAGE,
               "translations is NULL");
    TEST_FAILS(cla_model_tag(m, &tag, NULL, 1), CLA_E_USAGE, "tag: words is NULL");
    TEST_FAILS(cla_model_tag(m, NULL, texts, 1), CLA_E_USAGE, "tags is NULL");
    TEST_FAILS(cla_model_answer(m, &quote, &found, NULL, texts, 1, 1), CLA_E_USAGE,
               "passage is NULL");
    TEST_FAILS(cla_model_answer(m, &quote, &found, "a", NULL, 1, 1), CLA_E_USAGE,
               "answer: questions is NULL");
    TEST_FAILS(cla_model_answer(m, &quote, NULL, "a", texts, 1, 1), CLA_E_USAGE,
               "found is NULL");
    TEST_FAILS(cla_model_answer(m, NULL, &found, "a", texts, 1, 1), CLA_E_USAGE,
               "quotes is NULL");
    TEST_FAILS(cla_model_compose(m, &poem, NULL, NULL), CLA_E_USAGE, "text is NULL");
    TEST_FAILS(cla_model_compose(m, NULL, "a", NULL), CLA_E_USAGE, "poem is NULL");
}

Test(model, translates)
{
    fixture f;
    make(&f);
    cr_assert_str_eq(cla_model_kind(f.model), "translator");
    check_translations(&f);
    check_refusals(&f);
    check_nulls(&f);
    unmake(&f);
}
