/* kept.c - language models and translators start from numbers that were kept as from
 * the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/safetensors.h"
#include "support/settings.h"
#include "support/support.h"
#include "tasks/language/language.h"
#include "tasks/translation/translation.h"

typedef struct fixture {
    char folder[32];
    cla_runtime *rt;
    cla_config settings;
    cla_task *task;
} fixture;

/* Writes a text of more than a megabyte, whose last line ends in `end`. */
static void put(const fixture *f, const char *name, const char *line, const char *end)
{
    char path[64];
    cla_text text = { 0 };
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    for (int i = 0; text.size < 1100000; i++) {
        TEST_OK(cla_text_add(&text, "%s %d\n", line, i % 97));
    }
    TEST_OK(cla_text_add(&text, "%s\n", end));
    TEST_OK(cla_file_write(path, text.data, text.size));
    cla_text_free(&text);
}

static void begin(fixture *f)
{
    *f = (fixture){ .folder = "/tmp/clattn-test-XXXXXX" };
    cr_assert_not_null(mkdtemp(f->folder));
    TEST_OK(cla_runtime_new(&f->rt, NULL));
}

static void end(fixture *f)
{
    cla_runtime_free(&f->rt);
    TEST_OK(cla_folder_remove(f->folder));
}

static cla_status open_with(fixture *f, const char *const *settings, cla_task_mode mode)
{
    test_settings(&f->settings, f->folder, settings);
    return cla_task_open(&f->task, f->rt, &f->settings, f->folder, mode);
}

static void close_task(fixture *f)
{
    cla_task_close(&f->task);
    cla_config_fini(&f->settings);
}

/* Flips a bit in the middle of every file of numbers. */
static void damage(const fixture *f)
{
    char **paths = NULL, *data = NULL;
    size_t count = 0, size = 0;
    TEST_OK(cla_folder_list(f->folder, ".prepared", &paths, &count));
    cr_assert_gt(count, 0);
    for (size_t i = 0; i < count; i++) {
        TEST_OK(cla_file_read(paths[i], &data, &size));
        data[size / 2] ^= 1;
        TEST_OK(cla_file_write(paths[i], data, size));
        free(data);
    }
    cla_folder_list_free(&paths, count);
}

/* ---- language models ------------------------------------------------------------- */

static const char *const small[] = { "model=lm",       "dim=32",        "heads=2",
                                     "layers=1",       "context=8",     "inner=32",
                                     "train=text.txt", "dev=other.txt", NULL };

/* What a task reads at its start: ids and bytes of the training and dev texts, and the
 * pieces. */
typedef struct start {
    cla_ids train, dev;
    double bytes, dev_bytes;
    cla_text vocab;
    bool kept;
} start;

static void copy(cla_ids *to, const cla_ids *from)
{
    TEST_OK(cla_grow(&to->id, &to->cap, from->count, sizeof *to->id));
    memcpy(to->id, from->id, from->count * sizeof *to->id);
    to->count = from->count;
}

static void open_lm(fixture *f, const char *pieces, cla_task_mode mode, start *s)
{
    const char *settings[12] = { pieces, "merges=20" };
    language_text dev = { .bytes = 0 };
    memcpy(settings + 2, small, sizeof small);
    *s = (start){ .bytes = 0 };
    TEST_OK(open_with(f, settings, mode));
    language *t = (language *)f->task;
    copy(&s->train, &t->train.ids);
    s->bytes = t->train.bytes;
    s->kept = t->train.prepared.found;
    TEST_OK(cla_vocab_text(&t->subwords.vocab, &s->vocab));
    TEST_OK(cla_language_read_split(t, f->folder, "dev", &dev));
    copy(&s->dev, &dev.ids);
    s->dev_bytes = dev.bytes;
    cla_language_text_free(&dev);
    close_task(f);
}

static void free_start(start *s)
{
    cla_ids_free(&s->train);
    cla_ids_free(&s->dev);
    cla_text_free(&s->vocab);
}

static bool same_ids(const cla_ids *a, const cla_ids *b)
{
    return a->count == b->count && memcmp(a->id, b->id, a->count * sizeof *a->id) == 0;
}

static void check_same(const start *a, const start *b)
{
    cr_assert(same_ids(&a->train, &b->train));
    cr_assert(same_ids(&a->dev, &b->dev));
    cr_assert_eq(a->bytes, b->bytes);
    cr_assert_eq(a->dev_bytes, b->dev_bytes);
    cr_assert_str_eq(a->vocab.data ? a->vocab.data : "",
                     b->vocab.data ? b->vocab.data : "");
}

/* The second start and a resumed one are the first; so is one whose file is damaged. A
 * changed text is read. */
static void check_lm(const char *pieces)
{
    fixture f;
    start first, again;
    begin(&f);
    put(&f, "text.txt", "one two, three", "four");
    put(&f, "other.txt", "two one", "xyz");
    open_lm(&f, pieces, CLA_TASK_NEW, &first);
    cr_assert_not(first.kept);
    for (int i = 0; i < 3; i++) {
        open_lm(&f, pieces, i ? CLA_TASK_RESUMED : CLA_TASK_NEW, &again);
        cr_assert_eq(again.kept, i < 2, "%s, start %d", pieces, i);
        check_same(&first, &again);
        free_start(&again);
        if (i == 1) {
            damage(&f);
        }
    }
    put(&f, "text.txt", "one two, three", "five");
    open_lm(&f, pieces, CLA_TASK_NEW, &again);
    cr_assert_not(again.kept);
    cr_assert_not(same_ids(&first.train, &again.train));
    free_start(&first);
    free_start(&again);
    end(&f);
}

Test(kept, language_model_of_bytes)
{
    check_lm("pieces=bytes");
}

Test(kept, language_model_of_characters)
{
    check_lm("pieces=characters");
}

Test(kept, language_model_of_byte_pairs)
{
    check_lm("pieces=bpe");
}

/* ---- translators ----------------------------------------------------------------- */

typedef struct pairs {
    cla_ids source, target;
    int64_t count, empty, last;
    size_t vocab[2];
} pairs;

static void open_pairs(fixture *f, cla_task_mode mode, bool kept, pairs *p)
{
    static const char *const settings[] = { "model=translator", "source=a", "target=b",
                                            "dim=32",           "heads=2",  "layers=1",
                                            "inner=32",         "merges=9", NULL };
    TEST_OK(open_with(f, settings, mode));
    const translation *t = (const translation *)f->task;
    const size_t n = (size_t)t->text.count;
    *p = (pairs){ .count = t->text.count,
                  .empty = t->text.empty,
                  .last = t->text.line[n - 1],
                  .vocab = { t->source.vocab.count, t->target.vocab.count } };
    copy(&p->source, &(cla_ids){ t->text.source, (size_t)t->text.source_at[n], 0 });
    copy(&p->target, &(cla_ids){ t->text.target, (size_t)t->text.target_at[n], 0 });
    cr_assert_eq(t->prepared.found, kept);
    close_task(f);
}

Test(kept, translator)
{
    fixture f;
    pairs first, again;
    begin(&f);
    put(&f, "train.a", "one two, three", "four");
    put(&f, "train.b", "one two, three", " "); // a pair with an empty side
    put(&f, "dev.a", "one", "two");
    put(&f, "dev.b", "one", "two");
    open_pairs(&f, CLA_TASK_NEW, false, &first);
    cr_assert_eq(first.empty, 1);
    for (int i = 0; i < 3; i++) {
        open_pairs(&f, i ? CLA_TASK_RESUMED : CLA_TASK_NEW, i < 2, &again);
        cr_assert(same_ids(&first.source, &again.source));
        cr_assert(same_ids(&first.target, &again.target));
        cr_assert_eq(first.count, again.count);
        cr_assert_eq(first.empty, again.empty);
        cr_assert_eq(first.last, again.last);
        cr_assert_eq(first.vocab[0], again.vocab[0]);
        cr_assert_eq(first.vocab[1], again.vocab[1]);
        cla_ids_free(&again.source);
        cla_ids_free(&again.target);
        if (i == 1) {
            damage(&f);
        }
    }
    cla_ids_free(&first.source);
    cla_ids_free(&first.target);
    end(&f);
}

/* Parts that are no pairs: offsets that fall, ids that no piece has, sizes that do not
 * fit. */
Test(kept, parts_that_are_no_pairs)
{
    int32_t source[] = { 4, 5, 1 }, target[] = { 6, 1, 1 }, line[] = { 1, 2 };
    int64_t source_at[] = { 0, 2, 3 }, target_at[] = { 0, 2, 3 }, counts[3];
    const size_t most[] = { 6, 7 };
    cla_bitext b = { source, target, source_at, target_at, line, 2, 0, 0, true };
    cla_bitext taken;
    cla_part part[CLA_BITEXT_PARTS];
    cla_bitext_give(&b, counts, part);
    TEST_OK(cla_bitext_take(&taken, part, most));
    cr_assert_eq(taken.count, 2);
    for (int i = 0; i < CLA_BITEXT_PARTS; i++) {
        cla_part wrong[CLA_BITEXT_PARTS];
        memcpy(wrong, part, sizeof part);
        wrong[i].size -= 4;
        TEST_FAILS(cla_bitext_take(&taken, wrong, most), CLA_E_INPUT, "holds no pairs");
    }
    int64_t *const at[] = { &source_at[1], &target_at[1], &source_at[2], &counts[0] };
    for (int i = 0; i < 4; i++) {
        for (int64_t value = -1; value < 6; value++) {
            const int64_t before = *at[i];
            *at[i] = value;
            const bool fits = value == before || (i < 2 && value == 1);
            cr_assert_eq(cla_bitext_take(&taken, part, most),
                         fits ? CLA_OK : CLA_E_INPUT, "%d: %d", i, (int)value);
            *at[i] = before;
        }
    }
    source[0] = 6;
    TEST_FAILS(cla_bitext_take(&taken, part, most), CLA_E_INPUT, "holds no pairs");
    source[0] = 4;
    target[2] = -1;
    TEST_FAILS(cla_bitext_take(&taken, part, most), CLA_E_INPUT, "holds no pairs");
}
