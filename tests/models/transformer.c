/* transformer.c - the Transformer: published sizes and signals, causality, and a tiny
 * one that learns a handful of pairs. */
#include "models/transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/support.h"
#include "support/waits.h"
#include "tasks/translation/translation.h"
#include "train/loop.h"

/* ---- numbers of the papers --------------------------------------------------- */

/* Returns the number of parameters of a configuration, without making them. */
static int64_t count(const transformer_config *config)
{
    transformer model;
    cla_params params = { 0 };
    int64_t n = 0;
    TEST_OK(cla_transformer_init(&model, config, &params));
    for (size_t i = 0; i < params.count; i++) {
        const int64_t *shape = params.list[i].shape;
        n += shape[0] * shape[1] * shape[2] * shape[3];
    }
    cla_params_free(&params);
    return n;
}

Test(transformer, has_the_published_parameters)
{
    transformer_config base = {
        .source_pieces = 100,
        .target_pieces = 90,
        .layers = 6,
        .tied = TRANSFORMER_SEPARATE,
        .coder = { .model = 512, .heads = 8, .inner = 2048, .pre_norm = true },
    };
    transformer_config big = base;
    big.coder =
        (coder_config){ .model = 1024, .heads = 16, .inner = 4096, .pre_norm = true };
    cr_assert_eq(count(&base), 44140544 + (100 + 90 + 90) * 512);
    cr_assert_eq(count(&big), 176361472 + (100 + 90 + 90) * 1024);
    base.tied = TRANSFORMER_TIED_OUTPUT;
    cr_assert_eq(count(&base), 44140544 + (100 + 90) * 512);
    base.tied = TRANSFORMER_TIED_ALL;
    base.source_vector = true;
    cr_assert_eq(count(&base), 44140544 + (90 + 1) * 512);
    big.coder.hard.on = true; // 6 (D^2 + D) in the place of 4 (D^2 + D)
    cr_assert_eq(count(&big),
                 176361472 + 2 * (1024 + 1) * 1024 + (100 + 90 + 90) * 1024);
    base.coder.pre_norm = false; // no norm at the stacks' ends
    cr_assert_eq(count(&base), 44140544 - 4 * 512 + (90 + 1) * 512);
}

Test(transformer, warms_up_as_published)
{
    const cla_optim base = { .schedule = 1, .dim = 512, .warmup = 4000, .rates.lr = 1 };
    const cla_optim big = { .schedule = 1, .dim = 1024, .warmup = 4000, .rates.lr = 1 };
    const cla_optim constant = { .rates.lr = 0.25 };
    static const int64_t step[] = { 1, 4000, 16000, 100000 };
    static const double at_512[] = { 1.746928e-7, 6.987712e-4, 3.493856e-4,
                                     1.397542e-4 };
    static const double at_1024[] = { 1.235265e-7, 4.941058e-4, 2.470529e-4,
                                      9.882118e-5 };
    for (int i = 0; i < 4; i++) {
        cr_assert_float_eq(cla_optim_rate(&base, step[i]) / at_512[i], 1, 1e-6);
        cr_assert_float_eq(cla_optim_rate(&big, step[i]) / at_1024[i], 1, 1e-6);
        cr_assert_eq(cla_optim_rate(&constant, step[i]), 0.25);
    }
}

/* The last four of ten steps have 4/5, 3/5, 2/5 and 1/5 of either schedule's rate. */
Test(transformer, anneals_to_the_end)
{
    for (int schedule = 0; schedule < 2; schedule++) {
        const cla_optim plain = {
            .schedule = schedule, .dim = 512, .warmup = 3, .rates.lr = 0.5
        };
        cla_optim annealed = plain;
        annealed.anneal = 4;
        annealed.steps = 10;
        for (int step = 1; step <= 12; step++) {
            const double part = step <= 6 ? 1 : step > 10 ? 0 : (11 - step) / 5.0;
            cr_assert_float_eq(cla_optim_rate(&annealed, step),
                               part * cla_optim_rate(&plain, step), 1e-12);
        }
    }
}

/* The signal has two halves, which are not interleaved; the last number of an odd width
 * is 0. */
Test(transformer, signals_places)
{
    float signal[3 * 7];
    cla_coder_signal(signal, 3, 7);
    for (int at = 0; at < 3; at++) {
        for (int k = 0; k < 3; k++) { // scales 1, 1/100, 1/10000
            const double angle = at * pow(100, -k);
            cr_assert_float_eq(signal[at * 7 + k], sin(angle), 1e-6);
            cr_assert_float_eq(signal[at * 7 + 3 + k], cos(angle), 1e-6);
        }
        cr_assert_eq(signal[at * 7 + 6], 0);
    }
}

/* Marian's signal has the sines of the even columns of the paper's table, then the
 * cosines of the odd ones. */
Test(transformer, signals_places_as_marian)
{
    float signal[3 * 7];
    cla_coder_signal_marian(signal, 3, 7);
    for (int at = 0; at < 3; at++) {
        for (int j = 0; j < 7; j++) {
            const double angle = at / pow(10000, 2 * (j / 2) / 7.0);
            const float got = signal[at * 7 + (j % 2 ? 4 + j / 2 : j / 2)];
            cr_assert_float_eq(got, j % 2 ? cos(angle) : sin(angle), 1e-6);
        }
    }
}

/* ---- a tiny one -------------------------------------------------------------- */

static const char source_text[] = "the red dog runs\nthe red cat sleeps\n"
                                  "a blue dog sleeps\na blue cat runs\n"
                                  "the green bird sings loudly\na bird\n";
static const char target_text[] = "der rote hund rennt\ndie rote katze schläft\n"
                                  "ein blauer hund schläft\neine blaue katze rennt\n"
                                  "der grüne vogel singt laut\nein vogel\n";

enum { PAIRS = 6 };

/* A tiny model on these pairs. */
typedef struct fixture {
    char folder[32];
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
    translation *t;
    cla_stepper stepper;
} fixture;

static void put(const fixture *f, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    TEST_OK(cla_file_write(path, text, strlen(text)));
}

static void set(fixture *f, const char *assignment)
{
    TEST_OK(cla_config_set(&f->settings, assignment));
}

static void make(fixture *f)
{
    *f = (fixture){ .folder = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->folder));
    put(f, "train.en", source_text);
    put(f, "train.de", target_text);
    put(f, "dev.en", "the red dog sleeps\n");
    put(f, "dev.de", "der rote hund schläft\n");
    TEST_OK(cla_runtime_new(&f->rt, NULL));
}

static void unmake(fixture *f)
{
    static const char *const below[] = { "whole", "parts" };
    char **paths = NULL;
    size_t n = 0;
    cla_runtime_free(&f->rt);
    TEST_OK(cla_folder_list(f->folder, "", &paths, &n));
    for (size_t i = 0; i < n; i++) {
        unlink(paths[i]);
    }
    cla_folder_list_free(&paths, n);
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", f->folder, below[i]);
        rmdir(path);
    }
    rmdir(f->folder);
}

static void settle(fixture *f, const char *const *extra)
{
    static const char *const tiny[] = { "model=translator", "source=en",  "target=de",
                                        "dim=16",           "heads=2",    "inner=32",
                                        "layers=2",         "merges=100", "tokens=24",
                                        "dropout=0.1",      "warmup=20",  "lr=0.3" };
    char data[64];
    f->settings = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&f->settings.path, "test"));
    snprintf(data, sizeof data, "data=%s", f->folder);
    set(f, data);
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        set(f, tiny[i]);
    }
    for (; *extra; extra++) {
        set(f, *extra);
    }
}

static void open_tiny(fixture *f, const char *const *extra)
{
    const cla_parallel alone = { .size = 1 };
    make(f);
    settle(f, extra);
    TEST_OK(cla_task_open(&f->task, f->rt, &f->settings, NULL, CLA_TASK_NEW));
    f->t = (translation *)f->task;
    TEST_OK(cla_stepper_configure(&f->stepper, f->task->kind, &f->settings));
    TEST_OK(cla_config_check(&f->settings));
    TEST_OK(cla_stepper_init(&f->stepper, f->task, &alone));
}

static void close_tiny(fixture *f)
{
    cla_stepper_fini(&f->stepper);
    cla_task_close(&f->task);
    cla_config_fini(&f->settings);
    unmake(f);
}

/* Trains on all pairs in the order of the epochs. Returns the loss of the last
 * epoch. */
static double train(fixture *f, int epochs)
{
    int64_t pair[PAIRS], step = 0;
    double loss = 0, targets = 0;
    for (int epoch = 0; epoch < epochs; epoch++) {
        TEST_OK(cla_stepper_order(&f->stepper, pair, epoch));
        loss = targets = 0;
        for (int64_t next = 0, n; next < PAIRS; next += n) {
            cla_step_result result = { 0 };
            n = cla_stepper_take(&f->stepper, next);
            waits_begin(f->task->rt);
            TEST_OK(cla_stepper_step(&f->stepper, pair + next, n, step++, &result));
            if (step > 1) waits_end(f->task->rt, 1); // the first checks the library
            loss += result.loss * result.targets;
            targets += result.targets;
        }
    }
    return loss / targets;
}

/* Computes the scores of a pair whose target is changed from place changed on. */
static void look(fixture *f, int64_t pair, int64_t changed, float *logits)
{
    translation_batch b;
    cla_tape *tape = NULL;
    cla_tensor *memory = NULL, *out = NULL;
    TEST_OK(cla_translation_batch_make(f->rt, &f->t->text, &pair, 1, &b));
    for (int64_t i = changed; i < b.ids.target_count; i++) {
        b.ids.input[i] = CLA_UNK;
    }
    const transformer_batch view = cla_translation_batch_view(&b, 0, 0);
    TEST_OK(cla_tape_new(&tape, f->rt, false));
    TEST_OK(cla_transformer_encode(&f->t->model, tape, &memory, &view));
    TEST_OK(cla_transformer_logits(&f->t->model, tape, &out, memory, &view));
    TEST_OK(cla_tensor_download(out, logits));
    cla_tape_free(&tape);
    cla_translation_batch_free(&b);
}

/* Checks that rows before a changed piece keep their scores bit for bit, and that the
 * row of the piece does not. */
static void check_causality(fixture *f)
{
    enum { PAIR = 4, CHANGED = 3 };
    const int64_t V = f->t->config.target_pieces;
    const int64_t rows = f->t->text.target_at[PAIR + 1] - f->t->text.target_at[PAIR];
    float *whole = malloc((size_t)(rows * V) * sizeof *whole);
    float *cut = malloc((size_t)(rows * V) * sizeof *cut);
    look(f, PAIR, rows, whole);
    look(f, PAIR, CHANGED, cut);
    cr_assert_arr_eq(whole, cut, (size_t)(CHANGED * V) * sizeof *whole);
    cr_assert_neq(memcmp(whole + CHANGED * V, cut + CHANGED * V, (size_t)V * 4), 0);
    free(whole);
    free(cut);
}

/* Checks that an epoch has every pair once, in batches within the limit, and that
 * orders differ. */
static void check_order(fixture *f)
{
    int64_t first[PAIRS], again[PAIRS], other[PAIRS];
    TEST_OK(cla_stepper_order(&f->stepper, other, 1));
    TEST_OK(cla_stepper_order(&f->stepper, first, 0));
    int seen = 0, batches = 0;
    for (int64_t next = 0, n; next < PAIRS; next += n, batches++) {
        n = cla_stepper_take(&f->stepper, next);
        cr_assert(n > 0 && next + n <= PAIRS);
        cr_assert(n == 1 || f->task->kind->targets(f->task, first + next, n) <= 24);
        for (int64_t i = next; i < next + n; i++) {
            seen |= 1 << first[i];
        }
    }
    cr_assert_eq(seen, (1 << PAIRS) - 1);
    cr_assert_gt(batches, 1);
    TEST_OK(cla_stepper_order(&f->stepper, again, 0));
    cr_assert_arr_eq(first, again, sizeof first);
    cr_assert_neq(memcmp(first, other, sizeof first), 0);
}

/* Checks that the loss of a handful of pairs falls from that of a guess to a small part
 * of it. */
static void check_learning(const char *const *extra)
{
    fixture f;
    cla_metrics before, after;
    open_tiny(&f, extra);
    TEST_OK(f.task->kind->evaluate(f.task, NULL, "train", &before));
    const double guess = log(f.t->config.target_pieces);
    cr_assert(before.row[1].value > 0.7 * guess, "%g nats before, a guess has %g",
              before.row[1].value, guess);
    check_order(&f);
    const double loss = train(&f, 40);
    TEST_OK(f.task->kind->evaluate(f.task, NULL, "train", &after));
    cr_assert(after.row[1].value < 0.3 * before.row[1].value,
              "%g nats after, %g before, loss %g", after.row[1].value,
              before.row[1].value, loss);
    check_causality(&f);
    close_tiny(&f);
}

Test(transformer, learns_a_handful_of_pairs)
{
    check_learning((const char *const[]){ "preset=vaswani", NULL });
    check_learning((const char *const[]){ "preset=csan", "tied=output", NULL });
}

/* Trains into folder/name, stopped after every step and resumed, or at one go. */
static void run(fixture *f, const char *name, bool stopped)
{
    static const char *const few[] = { "preset=csan", "steps=7", "eval_every=3",
                                       "log_every=2", NULL };
    static const int stop = 1;
    char out[64];
    cla_train_result result = { .interrupted = true };
    snprintf(out, sizeof out, "%s/%s", f->folder, name);
    cla_train_options options = { .out = out,
                                  .quiet = true,
                                  .parallel = { .size = 1 },
                                  .signal = stopped ? &stop : NULL };
    for (int part = 0; result.interrupted; part++) {
        settle(f, few);
        options.resume = part > 0;
        TEST_OK(cla_train(f->rt, &f->settings, &options, &result));
        cr_assert_eq(result.step, stopped ? part + 1 : 7);
        cla_config_fini(&f->settings);
    }
    cr_assert_eq(result.step, 7);
}

static void read_weights(const fixture *f, const char *name, char **data, size_t *size)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s/last.ckpt.safetensors", f->folder, name);
    TEST_OK(cla_file_read(path, data, size));
}

/* A resumed run ends in the same bits, after more than two epochs of batches by the
 * token. */
Test(transformer, resumes_exactly)
{
    fixture f;
    char *whole = NULL, *parts = NULL;
    size_t whole_size = 0, parts_size = 0;
    make(&f);
    run(&f, "whole", false);
    run(&f, "parts", true);
    read_weights(&f, "whole", &whole, &whole_size);
    read_weights(&f, "parts", &parts, &parts_size);
    cr_assert_eq(whole_size, parts_size);
    cr_assert_arr_eq(whole, parts, whole_size);
    free(whole);
    free(parts);
    unmake(&f);
}

Test(transformer, refuses_what_does_not_fit)
{
    static const char *const wrong[][2] = {
        { "heads=3", "dim 16 is no multiple of 3 heads" },
        { "preset=base", "preset" },
    };
    for (int i = 0; i < 2; i++) {
        cla_config s = { .values = json_object(), .known = json_object() };
        transformer_config config;
        TEST_OK(cla_strdup(&s.path, "test"));
        TEST_OK(cla_config_set(&s, "dim=16"));
        TEST_OK(cla_config_set(&s, wrong[i][0]));
        TEST_FAILS(cla_transformer_configure(&config, &s), CLA_E_INPUT, wrong[i][1]);
        cla_config_fini(&s);
    }
}
