/* lm.c - the language modelling task: texts as pieces, windows, scores, writing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "clattn/model.h"
#include "support/settings.h"
#include "support/support.h"
#include "tasks/language/language.h"
#include "train/step.h"

typedef struct fixture {
    char folder[32];
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
    language *t;
} fixture;

static void put(const fixture *f, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    TEST_OK(cla_file_write(path, text, strlen(text)));
}

static void make(fixture *f, const char *train)
{
    *f = (fixture){ .folder = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->folder));
    put(f, "train.txt", train);
    put(f, "dev.txt", train);
    TEST_OK(cla_runtime_new(&f->rt, NULL));
}

static cla_status open_with(fixture *f, const char *const *extra)
{
    static const char *const tiny[] = { "model=lm",  "dim=32",   "heads=2", "layers=1",
                                        "context=8", "inner=32", NULL };
    test_settings(&f->settings, f->folder, tiny);
    test_settings_add(&f->settings, extra);
    const cla_status status =
        cla_task_open(&f->task, f->rt, &f->settings, f->folder, CLA_TASK_NEW);
    f->t = (language *)f->task;
    return status;
}

static void unmake(fixture *f)
{
    char command[64];
    cla_task_close(&f->task);
    cla_config_fini(&f->settings);
    cla_runtime_free(&f->rt);
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    cr_assert_eq(system(command), 0);
}

/* ---- pieces ------------------------------------------------------------------ */

static void check_ids(const cla_ids *ids, const int32_t *want, size_t count)
{
    cr_assert_eq(ids->count, count, "%zu pieces, not %zu", ids->count, count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(ids->id[i], want[i], "piece %zu is %d", i, (int)ids->id[i]);
    }
}

/* Line ends of either kind are one new line, which the last may lack. */
Test(lm, texts_are_streams_of_bytes)
{
    fixture f;
    enum { A = CLA_SPECIALS + 'a', LINE = CLA_SPECIALS + '\n' };
    make(&f, "\xef\xbb\xbf"
             "ab\r\n\na");
    TEST_OK(open_with(&f, NULL));
    check_ids(&f.t->train.ids, (const int32_t[]){ A, A + 1, LINE, LINE, A, LINE }, 6);
    cr_assert_eq(f.t->train.bytes, 5);
    cr_assert_eq(f.t->config.pieces, CLA_SPECIALS + 256);
    unmake(&f);
}

/* Characters are numbered by falling counts; others are unknown. */
Test(lm, characters_of_the_training_text)
{
    static const char *const extra[] = { "pieces=characters", NULL };
    fixture f;
    cla_ids ids = { 0 };
    cla_text text = { 0 };
    make(&f, "bäää b\n");
    TEST_OK(open_with(&f, extra));
    cr_assert_eq(f.t->config.pieces, CLA_SPECIALS + 4);
    TEST_OK(cla_language_encode(f.t, "äbx\n", 5, &ids));
    check_ids(&ids, (const int32_t[]){ 3, 4, CLA_UNK, 6 }, 4);
    TEST_OK(cla_language_decode(f.t, ids.id, ids.count, &text));
    cr_assert_str_eq(text.data, "äb\n");
    cr_assert_eq(f.t->train.bytes, 9); // without the first
    cla_ids_free(&ids);
    cla_text_free(&text);
    unmake(&f);
}

/* Words are cut into byte pairs, and lines keep their ends. */
Test(lm, byte_pairs_of_words)
{
    static const char *const extra[] = { "pieces=bpe", "merges=3", NULL };
    static const char line[] = "aba, abab\n\nab";
    fixture f;
    cla_ids ids = { 0 };
    cla_text text = { 0 };
    make(&f, "abab ab, ab\nabab\n");
    TEST_OK(open_with(&f, extra));
    TEST_OK(cla_language_encode(f.t, line, strlen(line), &ids));
    cr_assert_lt(ids.count, strlen(line));
    cr_assert_eq(ids.id[ids.count - 2], f.t->line_end);
    cr_assert_eq(ids.id[ids.count - 3], f.t->line_end);
    TEST_OK(cla_language_decode(f.t, ids.id, ids.count, &text));
    cr_assert_str_eq(text.data, line);
    cr_assert_eq(f.t->train.bytes, 17 - 4); // without "abab"
    cla_ids_free(&ids);
    cla_text_free(&text);
    unmake(&f);
}

/* Blank lines separate documents, however many there are. */
Test(lm, documents_are_apart)
{
    static const char *const extra[] = { "documents=true", NULL };
    enum { A = CLA_SPECIALS + 'a', LINE = CLA_SPECIALS + '\n' };
    fixture f;
    make(&f, "\n\nab\nc\n \n\n\nd\n");
    TEST_OK(open_with(&f, extra));
    check_ids(
        &f.t->train.ids,
        (const int32_t[]){ CLA_EOS, A, A + 1, LINE, A + 2, CLA_EOS, A + 3, CLA_EOS },
        8);
    unmake(&f);
}

/* Training and held-out part are the whole text, at a document's start where these are
 * apart. */
Test(lm, holds_out_the_end)
{
    static const char *const plain[] = { "hold_out=0.3", NULL };
    static const char *const apart[] = { "hold_out=0.6", "documents=true", NULL };
    enum { A = CLA_SPECIALS + 'a' };
    fixture f;
    language_text dev = { 0 };
    make(&f, "abcdefghij");
    TEST_OK(open_with(&f, plain));
    cr_assert_eq(f.t->train.ids.count, 7);
    TEST_OK(cla_language_read_split(f.t, f.folder, "dev", &dev));
    check_ids(&dev.ids, (const int32_t[]){ A + 7, A + 8, A + 9, CLA_SPECIALS + '\n' },
              4);
    cla_language_text_free(&dev);
    unmake(&f);
    dev = (language_text){ 0 };
    make(&f, "abcd\n\nef\n\ng");
    TEST_OK(open_with(&f, apart));
    check_ids(&f.t->train.ids,
              (const int32_t[]){ CLA_EOS, A, A + 1, A + 2, A + 3, CLA_EOS }, 6);
    TEST_OK(cla_language_read_split(f.t, f.folder, "dev", &dev));
    check_ids(&dev.ids,
              (const int32_t[]){ CLA_EOS, A + 4, A + 5, CLA_EOS, A + 6, CLA_EOS }, 6);
    cla_language_text_free(&dev);
    unmake(&f);
}

/* ---- windows ----------------------------------------------------------------- */

/* Each piece but the first is the target of one window, behind the piece before it;
 * sequences begin with windows and documents. */
Test(lm, windows_predict_each_piece_once)
{
    enum { COUNT = 23, CONTEXT = 5 };
    int32_t id[COUNT];
    for (int i = 0; i < COUNT; i++) {
        id[i] = i == 7 || i == 8 || i == 15 ? CLA_EOS : 10 + i;
    }
    const cla_ids ids = { id, COUNT, COUNT };
    const language_cut cut = { &ids, 0, CONTEXT, CLA_EOS };
    const int64_t windows = cla_language_windows(COUNT, 0, CONTEXT);
    language_batch b;
    TEST_OK(cla_language_batch_make(&b, &cut, NULL, 0, windows));
    cr_assert_eq(windows, 5);
    cr_assert_eq(b.count, COUNT - 1);
    cr_assert_eq(b.sequences, 5 + 2); // 15 begins a window
    for (int i = 0; i < b.count; i++) {
        cr_assert_eq(b.id[i], id[i]);
        cr_assert_eq(b.target[i], id[i + 1]);
        const bool first = i % CONTEXT == 0 || id[i] == CLA_EOS;
        cr_assert_eq(b.position[i], first ? 0 : b.position[i - 1] + 1);
    }
    cr_assert_eq(b.offsets[2], 7);
    cr_assert_eq(b.offsets[b.sequences], COUNT - 1);
    cla_language_batch_free(&b);
}

/* An epoch has each window once and begins at a piece of its own. */
Test(lm, epochs_differ)
{
    enum { LETTERS = 100 };
    char text[LETTERS + 1] = "";
    int64_t order[LETTERS];
    bool seen[LETTERS] = { false }, shifted = false;
    fixture f;
    memset(text, 'x', LETTERS);
    make(&f, text);
    TEST_OK(open_with(&f, NULL));
    cr_assert_eq(f.task->examples, (LETTERS + 1 - 8) / 8);
    for (int epoch = 0; epoch < 4; epoch++) {
        TEST_OK(f.task->kind->order(f.task, order, epoch));
        shifted = shifted || f.t->shift;
        cr_assert(f.t->shift >= 0 && f.t->shift < 8);
        cr_assert_eq(f.task->kind->targets(f.task, order, f.task->examples),
                     8.0 * (double)f.task->examples);
    }
    for (int64_t i = 0; i < f.task->examples; i++) {
        cr_assert(order[i] >= 0 && order[i] < f.task->examples && !seen[order[i]]);
        seen[order[i]] = true;
    }
    cr_assert(shifted);
    unmake(&f);
}

/* ---- scores and writing ------------------------------------------------------ */

static const char poem[] = "one two three four five six seven eight\n";

static void train(fixture *f, int steps)
{
    const cla_parallel alone = { .size = 1 };
    cla_stepper stepper = { 0 };
    int64_t order[64];
    cr_assert(f->task->examples <= 64);
    TEST_OK(cla_stepper_configure(&stepper, f->task->kind, &f->settings));
    TEST_OK(cla_config_check(&f->settings));
    TEST_OK(cla_stepper_init(&stepper, f->task, &alone));
    for (int i = 0; i < steps; i++) {
        cla_step_result result = { 0 };
        TEST_OK(cla_stepper_order(&stepper, order, i));
        TEST_OK(cla_stepper_step(&stepper, order, f->task->examples, i, &result));
    }
    cla_stepper_fini(&stepper);
}

/* An untrained network is as good as chance, and a trained one knows its text. The
 * scores are those of their definitions. */
Test(lm, learns_a_line_by_heart)
{
    static const char *const extra[] = { "lr=0.01", "seed=3", NULL };
    fixture f;
    cla_metrics m = { 0 };
    make(&f, poem);
    TEST_OK(open_with(&f, extra));
    TEST_OK(f.task->kind->evaluate(f.task, NULL, "dev", &m));
    cr_assert_float_eq(m.row[0].value, log(259), 0.5);
    train(&f, 150);
    TEST_OK(f.task->kind->evaluate(f.task, NULL, "dev", &m));
    cr_assert_str_eq(m.row[0].name, "nll");
    cr_assert(m.row[0].value < 0.7, "nll is %g", m.row[0].value);
    cr_assert_float_eq(m.row[1].value, exp(m.row[0].value), 1e-9);
    cr_assert_float_eq(m.row[2].value, m.row[0].value / log(2), 1e-9);
    cr_assert_eq(m.row[3].value, strlen(poem) - 1);
    unmake(&f);
}

static cla_status collect(void *to, const char *text, size_t size)
{
    cr_assert_eq(strlen(text), size);
    cr_assert(size > 0);
    return cla_text_append(to, text, size);
}

static void write_text(fixture *f, const char *prompt, const language_writing *how,
                       cla_text *out)
{
    *out = (cla_text){ 0 };
    TEST_OK(cla_language_write(f->t, prompt, strlen(prompt), how, out));
}

/* The parts that are given are the text; a stop is not in it, nor what follows. A text
 * of many contexts goes on. */
Test(lm, writes_what_it_has_learnt)
{
    static const char *const extra[] = { "lr=0.01", "seed=3", NULL };
    static const char *const stop[] = { "zzz", "six" };
    cla_text parts = { 0 }, text, again;
    language_writing how = { .sample = { .greedy = true, .temperature = 1, .top_p = 1 },
                             .pieces = 60,
                             .take = collect,
                             .to = &parts };
    fixture f;
    make(&f, poem);
    TEST_OK(open_with(&f, extra));
    train(&f, 200);
    write_text(&f, "one two th", &how, &text);
    cr_assert_eq(strncmp(text.data, "ree four five", 13), 0, "'%s'", text.data);
    cr_assert_eq(text.size, 60);
    cr_assert_str_eq(parts.data, text.data);
    how.stop = stop;
    how.stops = 2;
    how.take = NULL;
    write_text(&f, "one two th", &how, &again);
    const char *end = strstr(text.data, "six");
    cr_assert_not_null(end);
    cr_assert_eq(again.size, (size_t)(end - text.data));
    cla_text_free(&parts);
    cla_text_free(&text);
    cla_text_free(&again);
    unmake(&f);
}

/* A piece of words may change the bytes before it: none is given that it changes. */
Test(lm, writes_words)
{
    static const char *const extra[] = { "pieces=bpe", "merges=6", "lr=0.01", NULL };
    cla_text parts = { 0 }, text;
    const language_writing how = {
        .sample = { .greedy = true, .temperature = 1, .top_p = 1 },
        .pieces = 40,
        .take = collect,
        .to = &parts,
    };
    fixture f;
    make(&f, "one, two (three) four.\n");
    TEST_OK(open_with(&f, extra));
    train(&f, 200);
    write_text(&f, "one, two", &how, &text);
    cr_assert_eq(strncmp(text.data, " (three) four.\n", 15), 0, "'%s'", text.data);
    cr_assert_str_eq(parts.data, text.data);
    cla_text_free(&parts);
    cla_text_free(&text);
    unmake(&f);
}

/* Draws of one seed repeat; texts are UTF-8, whatever bytes are drawn. */
Test(lm, draws_are_utf8)
{
    language_writing how = { .sample = { .temperature = 1, .top_p = 1, .seed = 1 },
                             .pieces = 300 };
    fixture f;
    cla_text a, b, c;
    make(&f, poem);
    TEST_OK(open_with(&f, NULL));
    write_text(&f, "", &how, &a);
    write_text(&f, "", &how, &b);
    how.sample.seed = 2;
    write_text(&f, "", &how, &c);
    cr_assert_str_eq(a.data, b.data);
    cr_assert(strcmp(a.data, c.data) != 0);
    cr_assert_not_null(strstr(a.data, "\xef\xbf\xbd"), "all bytes were good");
    cla_text_free(&a);
    cla_text_free(&b);
    cla_text_free(&c);
    unmake(&f);
}

/* ---- refusals ---------------------------------------------------------------- */

Test(lm, refuses_texts)
{
    static const char *const none[] = { NULL },
                             *const half[] = { "hold_out=0.5", NULL },
                             *const other[] = { "dev=nowhere.txt", NULL };
    static const struct {
        const char *text;
        const char *const *extra;
        cla_status status;
        const char *error;
    } cases[] = {
        { "", none, CLA_E_INPUT, "train.txt: has less than two pieces" },
        { "ab", half, CLA_E_INPUT, "less than two pieces" },
        { "good\nb\xff"
          "d\n",
          none, CLA_E_INPUT, "train.txt:2: not UTF-8" },
        { "good text\n", other, CLA_E_IO, "nowhere.txt" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        make(&f, cases[i].text);
        TEST_FAILS(open_with(&f, cases[i].extra), cases[i].status, cases[i].error);
        unmake(&f);
    }
}
