/* toy.c - a tiny translator of made-up sentences. */
#include "support/toy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/settings.h"
#include "support/support.h"

enum { WORDS = 9, MOST_WORDS = 5 };

static void put(const toy *f, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    TEST_OK(cla_file_write(path, text, strlen(text)));
}

/* Writes the corpus, the same for each split. */
static void put_pairs(const toy *f)
{
    char source[TOY_PAIRS * 3 * MOST_WORDS + 1] = "", target[sizeof source] = "";
    size_t at = 0;
    for (unsigned i = 0; i < TOY_PAIRS; i++) {
        const unsigned words = 2 + i % (MOST_WORDS - 1);
        for (unsigned k = 0; k < words; k++, at += 2) {
            const unsigned word = (i * 7 + k * k * (i + 3) + k) % WORDS;
            const char end = k + 1 < words ? ' ' : '\n';
            snprintf(source + at, 3, "%c%c", 'a' + word, end);
            snprintf(target + at, 3, "%c%c", 'z' - word, end);
        }
    }
    put(f, "train.en", source);
    put(f, "train.de", target);
    put(f, "dev.en", source);
    put(f, "dev.de", target);
}

void toy_make(toy *f)
{
    *f = (toy){ .folder = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->folder));
    put_pairs(f);
    TEST_OK(cla_runtime_new(&f->rt, NULL));
}

void toy_unmake(toy *f)
{
    cla_runtime_free(&f->rt);
    TEST_OK(cla_folder_remove(f->folder));
}

void toy_settle(toy *f, const char *const *extra)
{
    static const char *const tiny[] = {
        "model=translator",
        "source=en",
        "target=de",
        "preset=hard",
        "dim=32",
        "heads=2",
        "inner=64",
        "layers=2",
        "merges=0",
        "tokens=200",
        "warmup=40",
        "lr=0.7",
        "dropout=0",
        "cross=hard",
        "smoothing=0.0",
        "score_scale=rsqrt",
        "attention_dropout=0",
        "relu_dropout=0",
        NULL,
    };
    test_settings(&f->settings, f->folder, tiny);
    test_settings_add(&f->settings, extra);
}

void toy_open(toy *f, const char *const *extra)
{
    const cla_parallel alone = { .size = 1 };
    toy_settle(f, extra);
    TEST_OK(cla_task_open(&f->task, f->rt, &f->settings, NULL, CLA_TASK_NEW));
    f->t = (translation *)f->task;
    TEST_OK(cla_stepper_configure(&f->stepper, f->task->kind, &f->settings));
    TEST_OK(cla_config_check(&f->settings));
    TEST_OK(cla_stepper_init(&f->stepper, f->task, &alone));
}

void toy_close(toy *f)
{
    cla_stepper_fini(&f->stepper);
    cla_task_close(&f->task);
    cla_config_fini(&f->settings);
}

void toy_train(toy *f, int epochs)
{
    int64_t pair[TOY_PAIRS], step = 0;
    for (int epoch = 0; epoch < epochs; epoch++) {
        TEST_OK(cla_stepper_order(&f->stepper, pair, epoch));
        for (int64_t next = 0, n; next < TOY_PAIRS; next += n) {
            cla_step_result result = { 0 };
            n = cla_stepper_take(&f->stepper, next);
            TEST_OK(cla_stepper_step(&f->stepper, pair + next, n, step++, &result));
        }
    }
}
