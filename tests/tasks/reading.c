/* reading.c - a reader's data, and a tiny reader that learns some questions by
 * heart. */
#include "tasks/reading/reading.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/lesson.h"
#include "train/checkpoint.h"

enum { PASSAGES = 16, QUESTIONS = 32 };

/* Writes sixteen passages with two questions each. */
static void write_data(const char *folder)
{
    static const char *const who[] = { "Ann", "Bob", "Eve", "Tom" };
    static const char *const what[] = { "red figs", "ripe plums", "green peas", "rye" };
    cla_text json = { 0 };
    char path[256];
    TEST_OK(cla_text_add(&json, "{\"data\": [{\"title\": \"t\", \"paragraphs\": ["));
    for (int i = 0; i < PASSAGES; i++) {
        const char *name = who[i % 4], *food = what[(i / 4 + i) % 4];
        TEST_OK(cla_text_add(
            &json,
            "%s{\"context\": \"%s%s sold %s on day %d.\", \"qas\": ["
            "{\"id\": \"a%d\", \"question\": \"What did %s sell?\", \"answers\": "
            "[{\"answer_start\": %d, \"text\": \"%s\"}]}, "
            "{\"id\": \"b%d\", \"question\": \"Who sold %s?\", \"answers\": "
            "[{\"answer_start\": %d, \"text\": \"%s\"}]}]}",
            i ? ", " : "", i % 3 ? "" : "So ", name, food, i, i, name, (i % 3 ? 9 : 12),
            food, i, food, (i % 3 ? 0 : 3), name));
    }
    TEST_OK(cla_text_add(&json, "]}]}"));
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.json", folder, i ? "dev" : "train");
        TEST_OK(cla_file_write(path, json.data, json.size));
    }
    cla_text_free(&json);
}

static void begin(lesson *s, const char *const *extra)
{
    lesson_begin(s, ".json", write_data, extra);
}

Test(reading, learns_questions_by_heart)
{
    static const char *const extra[] = { NULL };
    cla_metrics m = { 0 };
    lesson s;
    begin(&s, extra);
    cr_assert_eq(s.task->examples, QUESTIONS);
    const double loss = lesson_train(s.task, &s.settings, 40);
    cr_assert_lt(loss, 0.1, "the loss is %g", loss);
    TEST_OK(s.task->kind->evaluate(s.task, NULL, "dev", &m));
    cr_assert_str_eq(m.row[0].name, "f1");
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(m.row[i].value, 100, "%s is %g", m.row[i].name, m.row[i].value);
    }
    cr_assert_eq(m.row[3].value, QUESTIONS);
    lesson_end(&s);
}

static void check_by_heart(const char *const *extra)
{
    cla_metrics m = { 0 };
    lesson s;
    begin(&s, extra);
    const double loss = lesson_train(s.task, &s.settings, 40);
    cr_assert_lt(loss, 0.1, "the loss is %g", loss);
    TEST_OK(s.task->kind->evaluate(s.task, NULL, "dev", &m));
    cr_assert_eq(m.row[0].value, 100, "%s is %g", m.row[0].name, m.row[0].value);
    lesson_end(&s);
}

Test(reading, learns_by_heart_with_bidaf)
{
    static const char *const extra[] = { "network=bidaf", "depth=2", "ham_q2c=true",
                                         NULL };
    check_by_heart(extra);
}

/* The published form learns by heart, too, with characters of words. */
Test(reading, learns_by_heart_with_bidaf_as_published)
{
    static const char *const extra[] = { "network=bidaf", "form=original", "depth=2",
                                         "char_dim=4",    "char_width=6",  NULL };
    check_by_heart(extra);
}

/* ---- characters of words --------------------------------------------------------- */

/* The vocabulary has one word only: all others differ by their characters alone. */
static const char *const spelt[] = {
    "network=r_net", "char_dim=6", "char_width=12", "limit=4", "trait_dim=0",
    "lr=0.005",      NULL
};

Test(reading, learns_by_heart_from_characters)
{
    cla_metrics m = { 0 };
    lesson s;
    begin(&s, spelt);
    const double loss = lesson_train(s.task, &s.settings, 50);
    cr_assert_lt(loss, 0.1, "the loss is %g", loss);
    TEST_OK(s.task->kind->evaluate(s.task, NULL, "dev", &m));
    cr_assert_eq(m.row[0].value, 100, "%s is %g", m.row[0].name, m.row[0].value);
    TEST_OK(cla_tensor_fill(((reading *)s.task)->model.chars, 0));
    TEST_OK(s.task->kind->evaluate(s.task, NULL, "dev", &m));
    cr_assert_lt(m.row[0].value, 90, "it has no need of them");
    lesson_end(&s);
}

/* A word as it is written, and its number in the batch. */
typedef struct written {
    cla_text form;
    int32_t number;
} written;

static int take_written(const reading *t, const cla_reading_text *text,
                        const int32_t *number, written *out)
{
    const cla_reading *r = &t->train.text;
    for (size_t i = 0; i < text->count; i++) {
        TEST_OK(cla_words_form(r->bytes.data + text->at,
                               &r->words.word[text->first + i], false, &out[i].form));
        out[i].number = number[i];
    }
    return (int)text->count;
}

/* Checks that each word is spelt by its first characters, up to the limit, and that no
 * word is spelt twice. */
static void check_written(const reading *t, const reader_chars *c, const written *w,
                          int n)
{
    for (int i = 0; i < n; i++) {
        cla_text got = { 0 };
        const int32_t *at = c->rows->offsets + w[i].number;
        for (int32_t k = at[0]; k < at[1]; k++) {
            TEST_OK(cla_text_add(&got, "%s", t->chars.tokens[c->id[k]]));
        }
        cr_assert(strncmp(got.data, w[i].form.data, (size_t)t->char_limit) == 0,
                  "%s for %s", got.data, w[i].form.data);
        cr_assert_leq(at[1] - at[0], t->char_limit);
        cla_text_free(&got);
        for (int k = 0; k < i; k++) {
            cr_assert_eq(strcmp(w[i].form.data, w[k].form.data) == 0,
                         w[i].number == w[k].number, "%s, %s", w[i].form.data,
                         w[k].form.data);
        }
    }
}

Test(reading, batches_spell_each_word_once)
{
    static const char *const extra[] = { "network=r_net", "char_dim=6", "char_limit=4",
                                         NULL };
    static const int64_t questions[] = { 2, 9, 30, 3 };
    written w[128] = { { { 0 }, 0 } };
    int n = 0;
    reading_batch b;
    lesson s;
    begin(&s, extra);
    const reading *t = (const reading *)s.task;
    for (int again = 0; again < 2; again++, n = 0) {
        TEST_OK(cla_reading_batch_make(t, &t->train, questions, 4, &b));
        const int32_t *question = b.ids.chars.question, *passage = b.ids.chars.passage;
        for (int i = 0; i < 4; i++) {
            const cla_reading_question *q = &t->train.text.questions[b.question[i]];
            const cla_reading_text *p = &t->train.text.passages[q->passage];
            n += take_written(t, &q->text, question + b.question_rows->offsets[i],
                              w + n);
            n += take_written(t, p, passage + b.passage_rows->offsets[i], w + n);
        }
        check_written(t, &b.ids.chars, w, n);
        cr_assert_lt(b.letter_rows->sequences, n, "no word is there twice");
        cla_reading_batch_free(&b);
        for (int i = 0; i < n; i++) {
            cla_text_free(&w[i].form);
        }
    }
    lesson_end(&s);
}

/* Saves a folder from which the task can be opened again. */
static void save(const lesson *s, const char *path[4])
{
    const reading *t = (const reading *)s->task;
    const cla_progress done = { .step = 1 };
    TEST_OK(cla_config_save(&s->settings, path[0]));
    TEST_OK(cla_checkpoint_save(path[1], &s->task->params, NULL, &done));
    TEST_OK(cla_vocab_save(&t->words, path[2]));
    TEST_OK(cla_vocab_save(&t->chars, path[3]));
}

Test(reading, answers_the_same_from_its_folder)
{
    static const char *const names[] = { "config.json", "last.ckpt.safetensors",
                                         "words.txt", "chars.txt" };
    char text[4][64];
    const char *path[4];
    cla_answer out[2][QUESTIONS];
    size_t found[2][QUESTIONS];
    cla_task *task = NULL;
    lesson s;
    begin(&s, spelt);
    lesson_train(s.task, &s.settings, 2);
    for (int i = 0; i < 4; i++) {
        snprintf(text[i], sizeof text[i], "%s/%s", s.folder, names[i]);
        path[i] = text[i];
    }
    save(&s, path);
    TEST_OK(cla_task_load(&task, s.rt, s.folder, NULL));
    reading *const t[] = { (reading *)s.task, (reading *)task };
    for (int i = 0; i < 2; i++) {
        TEST_OK(cla_reading_answers(t[i], &t[0]->train, 1, out[i], found[i]));
    }
    for (int i = 0; i < QUESTIONS; i++) {
        cr_assert(out[0][i].first == out[1][i].first &&
                  out[0][i].last == out[1][i].last &&
                  out[0][i].score == out[1][i].score);
    }
    cla_task_close(&task);
    TEST_OK(cla_file_write(path[3], "a\n", 2));
    TEST_FAILS(cla_task_load(&task, s.rt, s.folder, NULL), CLA_E_INPUT,
               "chars.txt: too few");
    unlink(path[3]);
    TEST_FAILS(cla_task_load(&task, s.rt, s.folder, NULL), CLA_E_IO, "chars.txt");
    for (int i = 0; i < 3; i++) {
        unlink(path[i]);
    }
    lesson_end(&s);
}

Test(reading, refuses_characters_without_a_use)
{
    static const char *const wrong[][2] = {
        { "network=match_lstm", "network 'match_lstm' takes no characters" },
        { "char_limit=0", "char_limit" },
        { "char_dim=-1", "char_dim" },
        { "char_width=0", "char_width" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cla_task *task = NULL;
        cla_config settings = { .values = json_object(), .known = json_object() };
        TEST_OK(cla_strdup(&settings.path, "test"));
        TEST_OK(cla_config_set(&settings, "model=reader"));
        TEST_OK(cla_config_set(&settings, "data=nowhere"));
        TEST_OK(cla_config_set(&settings, "network=r_net"));
        TEST_OK(cla_config_set(&settings, "char_dim=4"));
        TEST_OK(cla_config_set(&settings, wrong[i][0]));
        TEST_FAILS(cla_task_open(&task, NULL, &settings, NULL, CLA_TASK_NEW),
                   CLA_E_INPUT, wrong[i][1]);
        cla_config_fini(&settings);
    }
}

/* ---- order and answers ----------------------------------------------------------- */

/* An epoch has each question once, by falling length within a batch; epochs differ. */
Test(reading, epochs_have_each_question_once)
{
    static const char *const extra[] = { "batch=5", NULL };
    int64_t order[2][QUESTIONS];
    bool seen[QUESTIONS] = { false };
    lesson s;
    begin(&s, extra);
    const reading *t = (const reading *)s.task;
    for (int e = 0; e < 2; e++) {
        TEST_OK(s.task->kind->order(s.task, order[e], e));
    }
    for (int i = 0; i < QUESTIONS; i++) {
        const int64_t at = order[0][i];
        cr_assert(at >= 0 && at < QUESTIONS && !seen[at]);
        seen[at] = true;
        cr_assert(i % 5 == 0 || cla_reading_length(&t->train, order[0][i - 1]) >=
                                    cla_reading_length(&t->train, at));
    }
    cr_assert(memcmp(order[0], order[1], sizeof order[0]) != 0);
    lesson_end(&s);
}

/* The n best answers have falling scores and keep to the limit. */
Test(reading, answers_keep_to_the_limit)
{
    enum { BEST = 4 };
    static const char *const extra[] = { "answer_limit=2", NULL };
    cla_answer out[QUESTIONS * BEST];
    size_t found[QUESTIONS];
    lesson s;
    begin(&s, extra);
    reading *t = (reading *)s.task;
    TEST_OK(cla_reading_answers(t, &t->train, BEST, out, found));
    for (int i = 0; i < QUESTIONS; i++) {
        cr_assert_eq(found[i], BEST);
        for (int k = 0; k < BEST; k++) {
            const cla_answer *a = &out[i * BEST + k];
            cr_assert(a->first <= a->last && a->last < a->first + 2 && a->score < 0);
            cr_assert(a->last < cla_reading_length(&t->train, i));
            cr_assert(k == 0 || a->score <= a[-1].score);
            for (int j = 1; j <= k; j++) {
                cr_assert(a->first != a[-j].first || a->last != a[-j].last, "distinct");
            }
        }
    }
    lesson_end(&s);
}

/* Vectors from a file are there from the start, and do not change when frozen. */
Test(reading, begins_from_given_vectors)
{
    char path[64], setting[80];
    const char *const extra[] = { setting, "freeze=true", "word_dim=3", "lower=true",
                                  NULL };
    static const char vectors[] = "2 3\nsold 1 2 3\nnowhere 4 5 6\n";
    snprintf(path, sizeof path, "/tmp/clattn-vectors-%ld", (long)getpid());
    snprintf(setting, sizeof setting, "vectors=%s", path);
    TEST_OK(cla_file_write(path, vectors, sizeof vectors - 1));
    lesson s;
    begin(&s, extra);
    reading *t = (reading *)s.task;
    lesson_train(s.task, &s.settings, 1);
    float *table = calloc(t->words.count * 3, sizeof *table);
    TEST_OK(cla_tensor_download(t->model.words, table));
    const float *sold = table + 3 * cla_vocab_find(&t->words, "sold");
    cr_assert(sold[0] == 1 && sold[1] == 2 && sold[2] == 3);
    cr_assert_eq(cla_vocab_find(&t->words, "nowhere"), -1);
    free(table);
    unlink(path);
    lesson_end(&s);
}
