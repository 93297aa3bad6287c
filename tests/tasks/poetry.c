/* poetry.c - the poem task: batches, words, and properties of composed quatrains. */
#include "tasks/poetry/poetry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "support/settings.h"
#include "support/support.h"

enum { POEMS = 24, WORDS = 9, FIRST = 0x4e00 };

typedef struct fixture {
    char folder[32];
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
    poetry *t;
} fixture;

static void add_letter(cla_text *text, int i)
{
    char letter[5];
    cla_utf8_put(FIRST + i, letter);
    TEST_OK(cla_text_add(text, "%s", letter));
}

/* Adds words of two letters, 2w and 2w + 1, and before the last one a single letter of
 * a higher number. */
static void add_line(cla_text *text, int words, int what)
{
    for (int k = 0; k < words; k++) {
        const int w = (what * 5 + k * 3 + what / 4) % WORDS;
        if (k + 1 == words) {
            add_letter(text, 2 * WORDS + what % 7);
        }
        add_letter(text, 2 * w);
        add_letter(text, 2 * w + 1);
    }
}

static void write_poems(const fixture *f, const char *name)
{
    cla_text text = { 0 };
    char path[64];
    for (int p = 0; p < POEMS; p++) {
        TEST_OK(cla_text_add(&text, "tang\tsomebody\ttitle %d\t", p));
        for (int i = 0; i < CLA_POEM_LINES; i++) {
            TEST_OK(cla_text_add(&text, "%s", i ? "|" : ""));
            add_line(&text, p % 3 ? 3 : 2, 4 * p + i);
        }
        TEST_OK(cla_text_add(&text, "\n"));
    }
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    TEST_OK(cla_file_write(path, text.data, text.size));
    cla_text_free(&text);
}

static void settle(fixture *f, const char *extra)
{
    static const char *const tiny[] = { "model=poet",   "hidden=16",
                                        "depth=2",      "word_count=3",
                                        "word_ratio=2", "vector_epochs=1",
                                        "batch=10",     NULL };
    test_settings(&f->settings, f->folder, tiny);
    test_settings_add(&f->settings, (const char *const[]){ extra, NULL });
}

static void open_poems(fixture *f)
{
    *f = (fixture){ .folder = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->folder));
    write_poems(f, "train.tsv");
    TEST_OK(cla_runtime_new(&f->rt, NULL));
}

static void open_task(fixture *f, const char *extra)
{
    settle(f, extra);
    TEST_OK(cla_task_open(&f->task, f->rt, &f->settings, f->folder, CLA_TASK_NEW));
    f->t = (poetry *)f->task;
}

static void close_poems(fixture *f)
{
    char command[64];
    cla_task_close(&f->task);
    cla_config_fini(&f->settings);
    cla_runtime_free(&f->rt);
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    cr_assert_eq(system(command), 0);
}

/* An epoch has each example once. The lines of a batch have one length, and a batch is
 * full where enough lines are left; seed and epoch alone decide. */
Test(poetry, batches_of_one_length)
{
    enum { EXAMPLES = POEMS * CLA_POEM_LINES };
    fixture f;
    int64_t order[3][EXAMPLES];
    bool seen[EXAMPLES] = { false };
    int full = 0;
    open_poems(&f);
    open_task(&f, NULL);
    cr_assert_eq(f.task->examples, EXAMPLES);
    TEST_OK(f.task->kind->order(f.task, order[1], 1));
    TEST_OK(f.task->kind->order(f.task, order[2], 0));
    TEST_OK(f.task->kind->order(f.task, order[0], 0));
    cr_assert(memcmp(order[0], order[1], sizeof order[0]) != 0, "epochs are alike");
    cr_assert_arr_eq(order[0], order[2], sizeof order[0]);
    for (int64_t next = 0, n = 0; next < EXAMPLES; next += n) {
        n = f.task->kind->take(f.task, next);
        cr_assert(n >= 1 && n <= 10 && next + n <= EXAMPLES);
        full += n == 10;
        for (int64_t i = next; i < next + n; i++) {
            const int64_t e = order[0][i];
            cr_assert(!seen[e], "example %d twice", (int)e);
            seen[e] = true;
            cr_assert_eq(f.t->train.length[e / CLA_POEM_LINES],
                         f.t->train.length[order[0][next] / CLA_POEM_LINES]);
        }
    }
    cr_assert_eq(full, 3 + 6); // of 32 lines of five characters, 64 of seven
    close_poems(&f);
}

/* The poems' words are found, and no letter of them alone has a rank. */
Test(poetry, words_of_the_poems)
{
    fixture f;
    open_poems(&f);
    open_task(&f, NULL);
    for (int w = 0; w < WORDS; w++) {
        cla_text word = { 0 };
        add_letter(&word, 2 * w);
        cr_assert_lt(cla_vocab_find(&f.t->ranking.words, word.data), 0);
        add_letter(&word, 2 * w + 1);
        cr_assert_geq(cla_vocab_find(&f.t->ranking.words, word.data), 0, "'%s'",
                      word.data);
        cla_text_free(&word);
    }
    close_poems(&f);
}

static void check_line(const fixture *f, const char *line, int length)
{
    int letters = 0;
    for (int32_t code = 0; *line; letters++) {
        char letter[5];
        line += cla_utf8_next(line, &code);
        cla_utf8_put(code, letter);
        cr_assert(cla_utf8_is_letter(code), "U+%04X in a line", (unsigned)code);
        cr_assert_geq(cla_vocab_find(&f->t->characters, letter), CLA_SPECIALS);
    }
    cr_assert_eq(letters, length);
}

static bool same_lines(const poetry_poem *a, const poetry_poem *b, int from, int end)
{
    for (int i = from; i < end; i++) {
        if (strcmp(a->line[i].data, b->line[i].data) != 0) {
            return false;
        }
    }
    return true;
}

/* A poem has four lines of the requested length, of characters only. The same text and
 * seed give the same poem. A text without words gives a poem, too. */
Test(poetry, quatrains_of_a_length)
{
    static const char *const texts[] = { "", "一丁", "spring \xff\xe4", "春" };
    fixture f;
    open_poems(&f);
    open_task(&f, NULL);
    for (int k = 0; k < 8; k++) {
        const cla_compose_options o = { .characters = k % 2 ? 7 : 5,
                                        .beam = k < 4 ? 1 : 3,
                                        .seed = 11 };
        const char *text = texts[k / 2];
        poetry_poem a, b;
        TEST_OK(cla_poetry_compose(f.t, text, strlen(text), &o, &a));
        TEST_OK(cla_poetry_compose(f.t, text, strlen(text), &o, &b));
        for (int i = 0; i < CLA_POEM_LINES; i++) {
            check_line(&f, a.line[i].data, o.characters);
        }
        cr_assert(same_lines(&a, &b, 0, CLA_POEM_LINES), "'%s' gives two poems", text);
        cr_assert(a.logp == b.logp && a.logp < 0);
        cr_assert_eq(a.plan.from_text, k / 2 == 1);
        cla_poetry_poem_free(&a);
        cla_poetry_poem_free(&b);
    }
    close_poems(&f);
}

/* A line depends on its own keyword and the lines before it, not on later ones. */
Test(poetry, third_keyword_leaves_lines_before_it)
{
    fixture f;
    open_poems(&f);
    open_task(&f, NULL);
    const cla_compose_options o = { .characters = 7, .beam = 1 };
    const cla_plan first = { .word = { 0, 1, 2, 3 } },
                   second = { .word = { 0, 1, 8, 3 } };
    poetry_poem a, b;
    TEST_OK(cla_poetry_write(f.t, &first, &o, &a));
    TEST_OK(cla_poetry_write(f.t, &second, &o, &b));
    cr_assert(same_lines(&a, &b, 0, 2));
    cr_assert(a.logp != b.logp, "the third keyword is not heard");
    cla_poetry_poem_free(&a);
    cla_poetry_poem_free(&b);
    close_poems(&f);
}

/* Embeddings begin as the vectors of a file; those of other characters are drawn. */
Test(poetry, embeddings_begin_as_vectors)
{
    enum { DIM = 16 };
    fixture f;
    cla_vectors v = { .dim = DIM };
    float *vector = NULL;
    char path[64], extra[80];
    open_poems(&f);
    TEST_OK(cla_vectors_add(&v, "丁", &vector)); // FIRST + 1
    for (int i = 0; i < DIM; i++) {
        vector[i] = (float)(i + 1);
    }
    snprintf(path, sizeof path, "%s/given.vec", f.folder);
    TEST_OK(cla_vectors_write(&v, path));
    snprintf(extra, sizeof extra, "vectors=%s", path);
    open_task(&f, extra);
    const cla_tensor *table = f.t->model.table;
    float *values = calloc((size_t)cla_tensor_size(table), sizeof *values);
    TEST_OK(cla_tensor_download(table, values));
    const int given = cla_vocab_find(&f.t->characters, "丁");
    for (int i = 0; i < DIM * (int)cla_tensor_dim(table, 0); i++) {
        cr_assert(i / DIM == given ? values[i] == (float)(i % DIM + 1)
                                   : values[i] >= -0.05f && values[i] <= 0.05f);
    }
    free(values);
    cla_vectors_free(&v);
    close_poems(&f);
}

Test(poetry, refusals)
{
    fixture f;
    open_poems(&f);
    settle(&f, "word_count=1000");
    TEST_FAILS(cla_task_open(&f.task, f.rt, &f.settings, f.folder, CLA_TASK_NEW),
               CLA_E_INPUT, "no pair of characters occurs 1000 times");
    close_poems(&f);
}
