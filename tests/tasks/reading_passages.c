/* reading_passages.c - a tiny reader of questions with several passages. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/lesson.h"

enum { QUESTIONS = 32, DOCUMENTS = 3, MOST = 48 };

/* Adds three documents, one each of who ate, who sold, and who sold something else, in
 * an order that changes. */
static void add_documents(cla_text *json, int i)
{
    static const char *const who[] = { "Annie", "Robert", "Evelyn", "Thomas" };
    static const char *const what[] = { "figs", "plums", "peas", "rye" };
    for (int k = 0; k < DOCUMENTS; k++) {
        const int part = (k + i) % DOCUMENTS; // 1: the answer
        TEST_OK(cla_text_add(json,
                             "%s{\"is_selected\": %s, \"segmented_paragraphs\": "
                             "[[\"%s\", \"%s\", \"%s\", \"today\"]]}",
                             k ? ", " : "", part == 1 ? "true" : "false",
                             who[(i / 2 + part) % 4], part == 0 ? "ate" : "sold",
                             what[(i + (part == 2)) % 4]));
    }
}

static void write_data(const char *folder)
{
    static const char *const who[] = { "Annie", "Robert", "Evelyn", "Thomas" };
    static const char *const what[] = { "figs", "plums", "peas", "rye" };
    cla_text json = { 0 };
    char path[MOST];
    for (int i = 0; i < QUESTIONS; i++) {
        const char *name = who[(i / 2 + 1) % 4];
        TEST_OK(cla_text_add(&json,
                             "{\"question_id\": %d, \"segmented_question\": [\"who\", "
                             "\"sold\", \"%s\"], \"answers\": [\"%s\"], "
                             "\"segmented_answers\": [[\"%s\"]], \"documents\": [",
                             i, what[i % 4], name, name));
        add_documents(&json, i);
        TEST_OK(cla_text_add(&json, "]}\n"));
    }
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.jsonl", folder, i ? "dev" : "train");
        TEST_OK(cla_file_write(path, json.data, json.size));
    }
    cla_text_free(&json);
}

static void begin(lesson *s, const char *const *extra)
{
    lesson_begin(s, ".jsonl", write_data, extra);
}

static double value_of(const cla_metrics *m, const char *name)
{
    for (int i = 0; i < m->count; i++) {
        if (strcmp(m->row[i].name, name) == 0) {
            return m->row[i].value;
        }
    }
    cr_assert_fail("there is no %s", name);
    return NAN;
}

static const char *const three[] = { "network=bidaf", "passages=3", NULL };

Test(reading_passages, learns_by_heart)
{
    static const char *const names[] = {
        "bleu4", "rouge_l", "bleu1", "f1", "em", "span"
    };
    cla_metrics m = { 0 };
    lesson s;
    begin(&s, three);
    cr_assert_eq(s.task->examples, QUESTIONS);
    const double loss = lesson_train(s.task, &s.settings, 40);
    cr_assert_lt(loss, 0.1, "the loss is %g", loss);
    TEST_OK(s.task->kind->evaluate(s.task, NULL, "dev", &m));
    for (int i = 0; i < 6; i++) {
        cr_assert_str_eq(m.row[i].name, names[i]);
        cr_assert_float_eq(m.row[i].value, 100, 1e-4, "%s is %g", names[i],
                           m.row[i].value);
    }
    cr_assert_eq(value_of(&m, "questions"), QUESTIONS);
    lesson_end(&s);
}

/* ---- MS MARCO's layout ----------------------------------------------------------- */

/* Writes the same questions; names have two words with a blank between them. */
static void write_msmarco(const char *folder)
{
    static const char *const who[] = { "Ann Lee", "Rob Ray", "Eve Poe", "Tom Orr" };
    static const char *const what[] = { "figs", "plums", "peas", "rye" };
    cla_text json = { 0 };
    char path[MOST];
    for (int i = 0; i < QUESTIONS; i++) {
        const char *name = who[(i / 2 + 1) % 4];
        TEST_OK(cla_text_add(
            &json,
            "{\"query_id\": %d, \"query\": \"Who sold %s?\", "
            "\"answers\": [\"%s\"], \"passages\": ["
            "{\"is_selected\": 0, \"passage_text\": \"%s ate %s.\"}, "
            "{\"is_selected\": 1, \"passage_text\": \"%s sold %s.\"}]}\n",
            i, what[i % 4], name, who[i / 2 % 4], what[i % 4], name, what[i % 4]));
    }
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.jsonl", folder, i ? "dev" : "train");
        TEST_OK(cla_file_write(path, json.data, json.size));
    }
    cla_text_free(&json);
}

/* Scores are of words, ROUGE-L first; answers of two words have no four-grams. */
Test(reading_passages, learns_msmarco_by_heart)
{
    static const char *const names[] = {
        "rouge_l", "bleu4", "bleu1", "f1", "em", "span"
    };
    cla_metrics m = { 0 };
    lesson s;
    lesson_begin(&s, ".jsonl", write_msmarco, three);
    cr_assert_eq(s.task->examples, QUESTIONS);
    const double loss = lesson_train(s.task, &s.settings, 40);
    cr_assert_lt(loss, 0.1, "the loss is %g", loss);
    TEST_OK(s.task->kind->evaluate(s.task, NULL, "dev", &m));
    for (int i = 0; i < 6; i++) {
        cr_assert_str_eq(m.row[i].name, names[i]);
        cr_assert_float_eq(m.row[i].value, i == 1 ? 0 : 100, i == 1 ? 1 : 1e-4,
                           "%s is %g", names[i], m.row[i].value);
    }
    cr_assert_eq(m.count, 7); // and the number of questions: no score is of characters
    lesson_end(&s);
}

/* ---- answers --------------------------------------------------------------------- */

/* An answer lies in one passage; the best of all comes first. */
Test(reading_passages, answers_are_inside_a_passage)
{
    enum { BEST = 20 };
    cla_answer out[QUESTIONS * BEST];
    size_t found[QUESTIONS];
    bool other = false;
    lesson s;
    begin(&s, three);
    reading *t = (reading *)s.task;
    TEST_OK(cla_reading_answers(t, &t->train, BEST, out, found));
    for (int i = 0; i < QUESTIONS; i++) {
        const cla_reading_question *q = &t->train.text.questions[i];
        cr_assert_eq(q->passages, DOCUMENTS);
        cr_assert_eq(found[i], BEST); // of thirty: ten in each passage of four words
        for (int k = 0; k < BEST; k++) {
            const cla_answer *a = &out[i * BEST + k];
            cr_assert(a->passage >= 0 && a->passage < DOCUMENTS);
            cr_assert(a->first >= 0 && a->first <= a->last && a->last < 4);
            cr_assert(k == 0 || a->score <= a[-1].score);
            other = other || a->passage > 0;
        }
    }
    cr_assert(other, "all answers are in the first passage");
    lesson_end(&s);
}

/* Positions count from the first word of the question's first passage. */
Test(reading_passages, batches_have_passages_in_their_order)
{
    const int64_t questions[] = { 0, 1, 2 };
    reading_batch b;
    lesson s;
    begin(&s, three);
    reading *t = (reading *)s.task;
    TEST_OK(cla_reading_batch_make(t, &t->train, questions, 3, &b));
    cr_assert_eq(cla_ragged_sequences(b.passage_rows), 9);
    cr_assert_eq(cla_ragged_sequences(b.asked_rows), 3);
    for (int i = 0; i < 3; i++) {
        const int32_t place = i == 0 ? 1 : i == 1 ? 0 : 2; // where part 1 is
        cr_assert_eq(b.ids.first[i], 4 * place, "%d", b.ids.first[i]);
        cr_assert_eq(b.ids.last[i], b.ids.first[i]);
        cr_assert_eq(b.ids.asker[3 * i + 2], i);
    }
    cla_reading_batch_free(&b);
    lesson_end(&s);
}

/* Of three documents two are kept, the right one among them. With one passage the batch
 * is that of a reader of single passages. */
Test(reading_passages, the_key_says_how_many)
{
    static const char *const two[] = { "network=bidaf", "passages=2", NULL };
    static const char *const one[] = { "network=match_lstm", NULL };
    const int64_t questions[] = { 0, 1 };
    reading_batch b;
    lesson s;
    begin(&s, two);
    cr_assert_eq(s.task->examples, QUESTIONS);
    const reading *t = (const reading *)s.task;
    cr_assert_eq(t->train.text.passage_count, 2 * QUESTIONS);
    lesson_end(&s);
    begin(&s, one);
    cr_assert_eq(s.task->examples, QUESTIONS);
    t = (const reading *)s.task;
    cr_assert_eq(t->train.text.passage_count, QUESTIONS);
    TEST_OK(cla_reading_batch_make(t, &t->train, questions, 2, &b));
    cr_assert_null(b.ids.asked_rows);
    cr_assert_null(b.ids.asker);
    cla_reading_batch_free(&b);
    lesson_end(&s);
}

/* ---- questions at hand ----------------------------------------------------------- */

Test(reading_passages, asks_about_several)
{
    static const char *const passages[] = { "Robert ate figs", " ", "Annie sold figs" };
    static const char *const questions[] = { "who sold figs", "" };
    static const cla_answer_options best = { .best = 1 };
    const cla_question all[] = { { questions[0], passages, 3 },
                                 { questions[1], passages, 3 } };
    const cla_question blank[] = { { questions[0], passages + 1, 1 },
                                   { questions[1], passages + 1, 1 } };
    const cla_question none = { questions[0], NULL, 0 };
    cla_passage_quote out[2];
    size_t found[2] = { 7, 7 };
    lesson s;
    begin(&s, three);
    lesson_train(s.task, &s.settings, 40);
    reading *t = (reading *)s.task;
    TEST_OK(cla_reading_ask(t, all, 2, &best, out, found));
    cr_assert(found[0] == 1 && found[1] == 0);
    cr_assert_eq(out[0].passage, 2);
    cr_assert(out[0].quote.from == 0 && out[0].quote.to == 5);
    TEST_OK(cla_reading_ask(t, blank, 2, &best, out, found));
    cr_assert(found[0] == 0 && found[1] == 0, "an answer from nothing");
    TEST_OK(cla_reading_ask(t, &none, 1, &best, out, found));
    cr_assert(found[0] == 0, "an answer from nowhere");
    lesson_end(&s);
}

Test(reading_passages, a_network_that_reads_one_says_so)
{
    static const char *const one[] = { "network=match_lstm", NULL };
    static const char *const passages[] = { "Robert ate figs", " ", "Annie sold figs" };
    static const cla_answer_options best = { .best = 1 };
    const cla_question two = { "who sold figs", passages, 2 };
    const cla_question three_of_them = { "who sold figs", passages, 3 };
    cla_passage_quote out[1];
    size_t found[1];
    lesson s;
    begin(&s, one);
    reading *t = (reading *)s.task;
    TEST_OK(cla_reading_ask(t, &two, 1, &best, out, found));
    cr_assert_eq(found[0], 1); // one of the two has words
    TEST_FAILS(cla_reading_ask(t, &three_of_them, 1, &best, out, found), CLA_E_INPUT,
               "match_lstm reads one passage a question, not 2");
    lesson_end(&s);
}

/* ---- scores of characters -------------------------------------------------------- */

/* An answer of k of the six equal ideographs, k at most 2, has these scores. */
Test(reading_passages, ideographs_have_scores_of_characters)
{
#define SAME "\xE5\xB1\xB1\xE5\xB1\xB1\xE5\xB1\xB1\xE5\xB1\xB1\xE5\xB1\xB1\xE5\xB1\xB1"
    static const char *const extra[] = { "network=bidaf", "answer_limit=2", NULL };
    static const char data[] =
        "{\"data\": [{\"paragraphs\": [{\"context\": \"" SAME "\", \"qas\": [{\"id\": "
        "\"a\", \"question\": \"" SAME "\", \"answers\": [{\"answer_start\": 0, "
        "\"text\": \"" SAME "\"}]}]}]}]}";
    char path[MOST];
    cla_metrics m = { 0 };
    cla_reading text = { 0 };
    reading_split split = { 0 };
    cla_answer a;
    size_t found = 0;
    lesson s;
    begin(&s, extra);
    reading *t = (reading *)s.task;
    snprintf(path, sizeof path, "%s/other.json", s.folder);
    TEST_OK(cla_file_write(path, data, sizeof data - 1));
    TEST_OK(cla_reading_read_file(t, path, &text));
    TEST_OK(cla_reading_split_build(t, &split, &text));
    TEST_OK(cla_reading_answers(t, &split, 1, &a, &found));
    TEST_OK(s.task->kind->evaluate(s.task, path, "test", &m));
    cr_assert_str_eq(m.row[0].name, "f1");
    const double k = a.last - a.first + 1, recall = k / 6;
    cr_assert_eq(value_of(&m, "em"), 0);
    cr_assert_float_eq(value_of(&m, "f1_char"), 100 * 2 * k / (k + 6), 1e-9);
    cr_assert_float_eq(value_of(&m, "rouge_l"), 100 * 2.44 * recall / (recall + 1.44),
                       1e-9);
    cr_assert_lt(value_of(&m, "bleu4"), 1); // no four-grams of characters
    unlink(path);
    cla_reading_split_free(&split);
    lesson_end(&s);
}

Test(reading_passages, asks_each_about_its_own)
{
    static const char *const one[] = { "network=match_lstm", NULL };
    static const char *const passages[] = { "Robert ate figs", "Annie sold red figs",
                                            "", "Annie sold red figs" };
    static const cla_answer_options best = { .best = 2 },
                                    few = { .best = 2, .max_words = 3 };
    const cla_question asked[] = { { "who ate figs", &passages[0], 1 },
                                   { "who sold figs", &passages[1], 1 },
                                   { "who", &passages[2], 1 },
                                   { " ", &passages[3], 1 } };
    cla_passage_quote out[4][2], alone[2];
    size_t found[4], n;
    lesson s;
    begin(&s, one);
    lesson_train(s.task, &s.settings, 20);
    reading *t = (reading *)s.task;
    TEST_OK(cla_reading_ask(t, asked, 4, &best, out[0], found));
    cr_assert(found[2] == 0 && found[3] == 0, "an answer from nothing");
    for (size_t i = 0; i < 2; i++) {
        TEST_OK(cla_reading_ask(t, &asked[i], 1, &best, alone, &n));
        cr_assert_eq(found[i], n);
        for (size_t k = 0; k < n; k++) {
            cr_assert_eq(out[i][k].passage, 0);
            cr_assert_eq(out[i][k].quote.from, alone[k].quote.from);
            cr_assert_eq(out[i][k].quote.to, alone[k].quote.to);
            cr_assert_float_eq(out[i][k].quote.logp, alone[k].quote.logp, 1e-5);
        }
    }
    TEST_OK(cla_reading_ask(t, asked, 0, &best, out[0], found));
    TEST_FAILS(cla_reading_ask(t, asked, 4, &few, out[0], found), CLA_E_INPUT,
               "passage[0] has 4 words, more than 3");
    lesson_end(&s);
}
