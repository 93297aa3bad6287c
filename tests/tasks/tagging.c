/* tagging.c - the tagger's data: counts of a real treebank, chunks, the baseline. */
#include "tasks/tagging/tagging.h"

#include <stdlib.h>
#include <string.h>

#include "support/support.h"

static cla_task *open_treebank(cla_runtime *rt, cla_config *settings, const char *extra)
{
    const char *folder = getenv("CLATTN_TEST_TREEBANK");
    cr_assert_not_null(folder,
                       "CLATTN_TEST_TREEBANK is not set: run through meson test");
    cla_task *task = NULL;
    char data[512];
    *settings = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&settings->path, "test"));
    snprintf(data, sizeof data, "data=%s", folder);
    TEST_OK(cla_config_set(settings, "model=tagger"));
    TEST_OK(cla_config_set(settings, data));
    if (extra) {
        TEST_OK(cla_config_set(settings, extra));
    }
    TEST_OK(cla_task_open(&task, rt, settings, NULL, CLA_TASK_NEW));
    return task;
}

/* The treebank has the counts of UD 2.2's own statistics of French-Spoken. */
Test(tagging, counts_of_a_treebank)
{
    cla_runtime *rt = NULL;
    cla_config settings;
    TEST_OK(cla_runtime_new(&rt, NULL));
    cla_task *task = open_treebank(rt, &settings, NULL);
    tagging *t = (tagging *)task;
    cr_assert_eq(t->train.file.sentence_count, 1153);
    cr_assert_eq(t->train.tokens, 14952);
    cr_assert_eq(t->tags.count, 16 + TAGGING_SPECIAL);
    cr_assert_eq(t->lexicon.forms.count, 2529);
    int letters = 0; // the padding word's own are counted 0 times
    for (size_t i = 0; i < t->chars.count; i++) {
        letters += t->chars.counts[i] > 0;
    }
    cr_assert_eq(letters, 68);
    /* Sentences longer than 60 words are cut; each word is predicted once. */
    int64_t kept = 0;
    for (size_t i = 0; i < t->train.chunk_count; i++) {
        const chunk *c = &t->train.chunks[i];
        cr_assert_leq(c->count, 60);
        kept += c->keep_end - c->keep_first;
    }
    cr_assert_eq(kept, 14952);
    cr_assert_gt(t->train.chunk_count, 1153);
    cla_task_close(&task);
    cla_config_fini(&settings);
    cla_runtime_free(&rt);
}

/* The most frequent tag of each form is right for 77.18 % of all test words, 1.23 % of
 * unseen ones and 83.57 % of ambiguous ones. */
Test(tagging, majority_baseline)
{
    cla_runtime *rt = NULL;
    cla_config settings;
    cla_metrics m = { 0 };
    TEST_OK(cla_runtime_new(&rt, NULL));
    cla_task *task = open_treebank(rt, &settings, "layers=1");
    TEST_OK(task->kind->evaluate(task, NULL, "test", &m));
    const double want[] = { 77.1828, 1.2339, 83.5743 };
    for (int i = 0; i < 3; i++) {
        cr_assert_float_eq(m.row[3 + i].value, want[i], 1e-4, "%s is %g",
                           m.row[3 + i].name, m.row[3 + i].value);
    }
    cr_assert_eq(m.row[6].value, 10010);
    cla_task_close(&task);
    cla_config_fini(&settings);
    cla_runtime_free(&rt);
}

static void split_of(tagging *t, tagging_split *s, int words)
{
    cla_text text = { 0 };
    cla_conllu file;
    for (int i = 0; i < words; i++) {
        TEST_OK(cla_text_add(&text, "w%d ", i));
    }
    TEST_OK(cla_conllu_from_lines(&file, "words", 0, text.data, text.size));
    TEST_OK(cla_tagging_split_build(t, s, &file));
}

/* Chunks of a long sentence overlap; each word counts once, near the middle of its
 * chunk. */
Test(tagging, overlapping_chunks_cover_each_word_once)
{
    static const int sizes[] = { 1, 9, 10, 11, 14, 15, 16, 20, 99, 1000 };
    tagging t = { .preset = TAGGING_MODERN };
    t.config = (tagger_config){ .length = 10,
                                .char_length = 4,
                                .positions = TAGGER_POSITIONS_ADD };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        tagging_split s;
        split_of(&t, &s, sizes[k]);
        int64_t next = 0;
        for (size_t i = 0; i < s.chunk_count; i++) {
            const chunk *c = &s.chunks[i];
            cr_assert_eq(c->keep_first, next, "%d words, chunk %zu", sizes[k], i);
            cr_assert(c->keep_end > c->keep_first && c->keep_first >= c->first);
            cr_assert(c->keep_end <= c->first + c->count && c->count <= 10);
            next = c->keep_end;
            const bool inner = i && i + 1 < s.chunk_count;
            cr_assert(!inner || (c->keep_first - c->first >= 2 &&
                                 c->first + c->count - c->keep_end >= 2));
        }
        cr_assert_eq(next, sizes[k]);
        cla_tagging_split_free(&s);
    }
}
