/* dureader.c - DuReader's questions: the paragraph and the span of the answer. JSON is
 * written with ' in place of ". */
#include "text/dureader.h"

#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/file.h"
#include "base/rng.h"
#include "support/support.h"
#include "text/match.h"

static cla_dureader_counts counts;
static char path[] = "/tmp/clattn-dureader-XXXXXX";

static cla_status read_text(cla_reading *r, const char *text,
                            cla_dureader_options options)
{
    char *copy = NULL;
    const size_t size = strlen(text);
    cr_assert_eq(cla_strdup(&copy, text), CLA_OK);
    for (size_t i = 0; i < size; i++) {
        copy[i] = (char)(copy[i] == '\'' ? '"' : copy[i]);
    }
    strcpy(path, "/tmp/clattn-dureader-XXXXXX");
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, copy, size), CLA_OK);
    const cla_status status = cla_dureader_read(r, path, &options, &counts);
    unlink(path);
    free(copy);
    return status;
}

#define QUESTION                                                                     \
    "{'question_id': 7, 'segmented_question': ['where', 'is', 'it'], "               \
    "'answers': ['not there', 'On the hill.'], "                                     \
    "'segmented_answers': [['not', 'there'], ['on', 'the', 'hill']], 'documents': [" \
    "{'is_selected': false, 'segmented_paragraphs': [['on', 'the', 'hill']]}, "      \
    "{'is_selected': true, 'segmented_paragraphs': [[''], "                          \
    "['where', 'is', 'it', '?'], ['it', 'is', 'on', '', '\xE6\x88\x98', 'hill', "    \
    "'I', 'think', 'so', 'the', 'sea'], ['on', 'hill', 'x']]}, "                     \
    "{'is_selected': true, 'segmented_paragraphs': [[], ['']]}]}\n"

static void quotes(const cla_reading *r, const cla_reading_answer *a, const char *want)
{
    cla_text quote = { 0 };
    cr_assert_eq(cla_reading_quote(r, (size_t)a->passage, a->first, a->last, &quote),
                 CLA_OK);
    cr_assert_str_eq(quote.data, want);
    cla_text_free(&quote);
}

/* Recall of "on the hill" is 1 in the third paragraph. Of its spans the one from "on"
 * to "hill", three words, has F1 4/6; with "the", seven words, it is 6/10. */
Test(dureader, paragraph_and_span_of_the_answer)
{
    cla_reading r;
    cr_assert_eq(read_text(&r, "\n" QUESTION, (cla_dureader_options){ 0 }), CLA_OK,
                 "%s", cla_error());
    cr_assert_eq(r.question_count, 1);
    cr_assert_eq(r.passage_count, 2);
    cr_assert_eq(r.passages[1].count, 10);
    cr_assert_str_eq(cla_reading_string(&r, r.passages[1].at),
                     "itison\xE6\x88\x98hillIthinksothesea");
    const cla_reading_question *q = &r.questions[0];
    cr_assert_str_eq(cla_reading_string(&r, q->id), "7");
    cr_assert(q->passage == 0 && q->passages == 2 && q->answers == 2);
    cr_assert_eq(q->text.count, 3);
    const cla_reading_answer *gold = cla_reading_gold(&r, q);
    cr_assert_eq(gold, &r.answers[1]);
    cr_assert_str_eq(cla_reading_string(&r, gold->text.at), "On the hill.");
    cr_assert_eq(r.answers[0].passage, -1);
    cr_assert(gold->passage == 1 && gold->first == 2 && gold->last == 4);
    quotes(&r, gold, "on\xE6\x88\x98hill");
    cr_assert_float_eq(counts.f1, 4 / 6.0, 1e-15);
    cr_assert_eq(counts.empty, 1);
    const cla_span *word = &r.words.word[r.passages[1].first + 3];
    cr_assert(word->from == 6 && word->to == 7 && word->at == 6 && word->size == 3);
    cla_reading_free(&r);
}

/* With by_question, the paragraph is the one that repeats the question. It has no
 * answer. */
Test(dureader, paragraph_of_the_question)
{
    cla_reading r;
    const cla_dureader_options o = { .by_question = true, .unanswered = true };
    cr_assert_eq(read_text(&r, QUESTION, o), CLA_OK, "%s", cla_error());
    cr_assert_str_eq(cla_reading_string(&r, r.passages[1].at), "whereisit?");
    cr_assert_null(cla_reading_gold(&r, &r.questions[0]));
    cr_assert_eq(r.questions[0].answers, 2);
    cr_assert_eq(counts.answerless, 1);
    cla_reading_free(&r);
    cr_assert_eq(read_text(&r, QUESTION, (cla_dureader_options){ .by_question = true }),
                 CLA_E_INPUT);
    cr_assert(strstr(cla_error(), ": holds no question that can be answered") != NULL);
}

Test(dureader, limits)
{
    cla_reading r;
    const cla_dureader_options o = {
        .question_limit = 2, .passages = 2, .passage_limit = 4, .answer_limit = 1
    };
    cr_assert_eq(read_text(&r, QUESTION QUESTION, o), CLA_OK, "%s", cla_error());
    cr_assert_eq(r.question_count, 2);
    const cla_reading_question *q = &r.questions[1];
    cr_assert_eq(q->text.count, 2);
    cr_assert(q->passage == 2 && q->passages == 2);
    cr_assert_eq(r.passages[3].count, 4);
    const cla_reading_answer *gold = cla_reading_gold(&r, q);
    cr_assert(gold->passage == 3 && gold->first == 2 && gold->last == 2);
    cr_assert_eq(counts.cut, 2);
    cr_assert_eq(counts.empty, 2);
    cla_reading_free(&r);
}

static const char many[] =
    "{'question_id': 'm', 'segmented_question': ['u', 'v'], 'segmented_answers': "
    "[['a', 'b', 'c']], 'documents': ["
    "{'is_selected': false, 'segmented_paragraphs': [['a', 'u']]}, "
    "{'is_selected': true, 'segmented_paragraphs': [['a', 'x']]}, "
    "{'is_selected': false, 'segmented_paragraphs': [['a', 'b', 'c']]}, "
    "{'is_selected': true, 'segmented_paragraphs': [['b', 'c', 'x', 'u', 'v']]}, "
    "{'is_selected': false, 'segmented_paragraphs': [['']]}, "
    "{'is_selected': false, 'segmented_paragraphs': [['v', 'y']]}]}\n";

static void keeps(cla_dureader_options options, const char *want)
{
    cla_reading r;
    char got[64] = "";
    options.unanswered = true;
    cr_assert_eq(read_text(&r, many, options), CLA_OK, "%s", cla_error());
    for (size_t i = 0; i < r.passage_count; i++) {
        strcat(strcat(got, cla_reading_string(&r, r.passages[i].at)), " ");
    }
    cr_assert_str_eq(got, want);
    cr_assert_eq(r.questions[0].passages, (int32_t)r.passage_count);
    cla_reading_free(&r);
}

/* Recall of the answer is 1/3, 1/3, 1, 2/3 and 0, of the question 1/2, 0, 0, 1 and 1/2.
 * The best passages are kept in the order of the data. */
Test(dureader, best_documents_stay)
{
    keeps((cla_dureader_options){ .passages = 0 }, "au ax abc bcxuv vy ");
    keeps((cla_dureader_options){ .passages = 9 }, "au ax abc bcxuv vy ");
    keeps((cla_dureader_options){ .passages = 1 }, "bcxuv ");
    keeps((cla_dureader_options){ .passages = 2 }, "ax bcxuv ");
    keeps((cla_dureader_options){ .passages = 3 }, "ax abc bcxuv ");
    keeps((cla_dureader_options){ .passages = 4 }, "au ax abc bcxuv ");
    keeps((cla_dureader_options){ .passages = 1, .by_question = true }, "bcxuv ");
    keeps((cla_dureader_options){ .passages = 2, .by_question = true }, "au bcxuv ");
    keeps((cla_dureader_options){ .passages = 3, .by_question = true }, "au bcxuv vy ");
}

/* Each question is in one of the three parts. */
Test(dureader, parts)
{
    cla_text text = { 0 };
    size_t sum = 0;
    for (int i = 0; i < 200; i++) {
        cr_assert_eq(cla_text_add(&text,
                                  "{'question_id': %d, 'segmented_question': ['x'], "
                                  "'segmented_answers': [['y']], 'documents': "
                                  "[{'is_selected': true, 'segmented_paragraphs': "
                                  "[['y']]}]}\n",
                                  i),
                     CLA_OK);
    }
    for (int part = CLA_SQUAD_TRAIN; part <= CLA_SQUAD_TEST; part++) {
        cla_reading r;
        const cla_dureader_options o = { .part = (cla_squad_part)part };
        cr_assert_eq(read_text(&r, text.data, o), CLA_OK, "%s", cla_error());
        // 80 and 10 per cent, four deviations of the binomial (5.7 and 4.2) around
        const int64_t want = part == CLA_SQUAD_TRAIN ? 160 : 20;
        const int64_t far = part == CLA_SQUAD_TRAIN ? 23 : 17;
        cr_assert(llabs(counts.lines - want) <= far, "part %d: %lld", part,
                  (long long)counts.lines);
        cr_assert(r.free_words);
        sum += r.question_count;
        cla_reading_free(&r);
    }
    cr_assert_eq(sum, 200);
    cla_text_free(&text);
}

/* Skipped questions leave nothing behind. */
Test(dureader, passes_over)
{
    cla_reading r;
    const char *text =
        "{'question_id': 'a', 'segmented_question': ['x'], 'documents': []}\n"
        "{'question_id': 'b', 'segmented_question': [], 'documents': "
        "[{'segmented_paragraphs': [['y']]}]}\n"
        "{'question_id': 'c', 'segmented_question': ['x'], 'segmented_answers': "
        "[['y']], 'documents': [{'segmented_paragraphs': [['y']]}]}\n"
        "{'question_id': 'd', 'segmented_question': ['x'], 'segmented_answers': [], "
        "'documents': [{'is_selected': true, 'segmented_paragraphs': [['y']]}]}\n"
        "{'question_id': 'e', 'segmented_question': ['x'], 'segmented_answers': "
        "[[], ['z'], ['y']], 'documents': [{'is_selected': true, "
        "'segmented_paragraphs': [['y']]}]}";
    cr_assert_eq(read_text(&r, text, (cla_dureader_options){ 0 }), CLA_OK, "%s",
                 cla_error());
    cr_assert_eq(counts.lines, 5);
    cr_assert_eq(counts.wordless, 2);
    cr_assert_eq(counts.unselected, 1);
    cr_assert_eq(counts.answerless, 1);
    cr_assert_eq(r.question_count, 1);
    cr_assert_eq(r.passage_count, 1);
    cr_assert_eq(r.words.count, 2);
    cr_assert_str_eq(cla_reading_string(&r, r.questions[0].id), "e");
    cr_assert_eq(cla_reading_gold(&r, &r.questions[0]), &r.answers[2]);
    quotes(&r, &r.answers[2], "y");
    cr_assert_str_eq(cla_reading_string(&r, r.answers[2].text.at), "y");
    cla_reading_free(&r);
}

static void refused(const char *text, const char *message)
{
    cla_reading r;
    cr_assert_eq(read_text(&r, text, (cla_dureader_options){ 0 }), CLA_E_INPUT,
                 "accepted: %s", text);
    cr_assert(strstr(cla_error(), message) != NULL, "'%s' lacks '%s'", cla_error(),
              message);
    cr_assert(strstr(cla_error(), path) != NULL);
}

Test(dureader, names_what_is_wrong)
{
    cla_reading r;
    const cla_dureader_options any = { 0 };
    refused("", ": holds no question");
    refused(QUESTION "{'a'}\n", ":2:5: ");
    refused(QUESTION "[]\n", ":2: is no object");
    refused(QUESTION "\n{}\n", ":3: there is no list of words 'segmented_question'");
    refused("{'segmented_question': ['a', 7]}", ":1: there is no list of words");
    refused("{'segmented_question': ['a']}", ":1: there is no list 'documents'");
    refused("{'segmented_question': ['a'], 'documents': []}", ":1: there is no 'quest");
    refused("{'segmented_question': ['a'], 'documents': [7]}", ":1: a document has no");
    refused("{'segmented_question': ['a'], 'documents': "
            "[{'segmented_paragraphs': ['a']}]}",
            ":1: a paragraph is no list of words");
    refused("{'segmented_question': ['a'], 'segmented_answers': ['a']}",
            ":1: an answer is no list of words");
    refused("{'segmented_question': ['a'], 'segmented_answers': 'a'}", "is no list");
    refused("\xFF\n", ":1: not UTF-8");
    cr_assert_eq(cla_dureader_read(&r, "/nowhere/x", &any, &counts), CLA_E_IO);
}

/* ---- the match --------------------------------------------------------------- */

enum { WORDS = 9, ANSWERS = 2 };

static double f1_of(const int32_t *id, size_t n, const int32_t *answer, size_t length)
{
    bool used[32] = { false };
    double same = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < length; k++) {
            if (!used[k] && id[i] == answer[k]) {
                used[k] = true;
                same++;
                break;
            }
        }
    }
    return 2 * same / (double)(n + length);
}

/* The best span is the best of all spans and answers, tried one after the other. */
Test(dureader, best_span_is_the_best)
{
    for (uint32_t round = 0; round < 300; round++) {
        int32_t id[WORDS], answer[ANSWERS][5];
        cla_match m = { 0 };
        cla_match_span got;
        uint32_t draw = 0;
        const size_t limit = round % 3 ? 0 : 3;
        for (size_t k = 0; k < ANSWERS; k++) {
            const size_t length = 1 + (round + k) % 5;
            for (size_t i = 0; i < length; i++) {
                const uint32_t counter[4] = { round, draw++, 0, 0 };
                const uint32_t key[2] = { test_seed(), 0 };
                const char word[] = {
                    (char)('a' + cla_philox4x32(counter, key).v[0] % 4), 0
                };
                cr_assert_eq(cla_match_add(&m, word), CLA_OK);
                answer[k][i] = cla_vocab_find(&m.words, word);
            }
            cr_assert_eq(cla_match_end(&m), CLA_OK);
        }
        for (size_t i = 0; i < WORDS; i++) {
            const uint32_t counter[4] = { round, draw++, 0, 0 };
            const uint32_t key[2] = { test_seed(), 0 };
            const int32_t word = (int32_t)(cla_philox4x32(counter, key).v[0] % 6);
            id[i] = word < (int32_t)m.words.count ? word : -1;
        }
        double best = 0;
        for (size_t first = 0; first < WORDS; first++) {
            for (size_t last = first; last < WORDS; last++) {
                for (size_t k = 0; k < ANSWERS && (!limit || last < first + limit);
                     k++) {
                    const double f1 = f1_of(id + first, last - first + 1, answer[k],
                                            1 + (round + k) % 5);
                    best = f1 > best ? f1 : best;
                }
            }
        }
        cr_assert_eq(cla_match_best(&m, id, WORDS, limit, &got), CLA_OK);
        cr_assert_eq(got.f1, best, "round %u: %g, must be %g", round, got.f1, best);
        if (best > 0) {
            cr_assert_eq(f1_of(id + got.first, got.last - got.first + 1,
                               answer[got.answer], 1 + (round + got.answer) % 5),
                         best);
        }
        cla_match_free(&m);
    }
}
