/* msmarco.c - MS MARCO's questions: passages as they were written, spans of answers in
 * free words. JSON is written with ' in place of ". */
#include "text/msmarco.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/support.h"
#include "text/dureader.h"

static cla_dureader_counts counts;

static cla_status read_text(cla_reading *r, const char *text, bool unanswered)
{
    const cla_dureader_options options = { .unanswered = unanswered };
    char path[] = "/tmp/clattn-msmarco-XXXXXX", *copy = NULL;
    const size_t size = strlen(text);
    cr_assert_eq(cla_strdup(&copy, text), CLA_OK);
    for (size_t i = 0; i < size; i++) {
        copy[i] = (char)(copy[i] == '\'' ? '"' : copy[i]);
    }
    close(mkstemp(path));
    cr_assert_eq(cla_file_write(path, copy, size), CLA_OK);
    const cla_status status = cla_dureader_read(r, path, &options, &counts);
    unlink(path);
    free(copy);
    return status;
}

#define QUESTION                                                                   \
    "{'query': 'Where is it?', 'query_id': 7, 'query_type': 'location', "          \
    "'answers': ['not there', 'on the hill'], 'passages': ["                       \
    "{'is_selected': 0, 'passage_text': 'It is on the hill.', 'url': 'u'}, "       \
    "{'is_selected': 1, 'passage_text': 'You see it  On THE  small Hill, Ann.'}, " \
    "{'is_selected': 1, 'passage_text': ' '}]}\n"

/* Texts keep their case and their blanks. The span has four words, three of which are
 * the answer's: F1 6/7. */
Test(msmarco, span_of_the_answer)
{
    cla_reading r;
    cla_text quote = { 0 };
    cr_assert_eq(read_text(&r, "\n" QUESTION, false), CLA_OK, "%s", cla_error());
    const cla_reading_question *q = &r.questions[0];
    cr_assert(r.question_count == 1 && r.free_words && r.blanks);
    cr_assert_str_eq(cla_reading_string(&r, q->id), "7");
    cr_assert_str_eq(cla_reading_string(&r, q->text.at), "Where is it?");
    cr_assert(q->text.count == 4 && q->passages == 2 && q->answers == 2);
    const cla_reading_answer *gold = cla_reading_gold(&r, q);
    cr_assert_eq(gold, &r.answers[1]);
    cr_assert(gold->passage == 1 && gold->first == 3 && gold->last == 6);
    cr_assert_eq(cla_reading_quote(&r, 1, gold->first, gold->last, &quote), CLA_OK);
    cr_assert_str_eq(quote.data, "On THE  small Hill");
    cr_assert_float_eq(counts.f1, 6 / 7.0, 1e-15);
    cr_assert_eq(counts.empty, 1);
    cla_text_free(&quote);
    cla_reading_free(&r);
}

/* The same words in DuReader's layout have the same span. */
Test(msmarco, agrees_with_the_other_layout)
{
    static const char other[] =
        "{'question_id': 7, 'segmented_question': ['where', 'is', 'it', '?'], "
        "'segmented_answers': [['not', 'there'], ['on', 'the', 'hill']], 'documents': ["
        "{'is_selected': true, 'segmented_paragraphs': [['you', 'see', 'it', 'on', "
        "'the', 'small', 'hill', ',', 'ann', '.']], 'passage_text': 'cut'}]}\n";
    cla_reading a, b;
    cr_assert_eq(read_text(&a, QUESTION, false), CLA_OK, "%s", cla_error());
    cr_assert_eq(read_text(&b, other, false), CLA_OK, "%s", cla_error());
    const cla_reading_answer *one = cla_reading_gold(&a, &a.questions[0]);
    const cla_reading_answer *two = cla_reading_gold(&b, &b.questions[0]);
    cr_assert(one->first == two->first && one->last == two->last);
    cr_assert_not(b.blanks);
    cr_assert_eq(b.passages[0].count, 10); // 'passage_text' is a key of MS MARCO alone
    cla_reading_free(&a);
    cla_reading_free(&b);
}

Test(msmarco, says_that_there_is_no_answer)
{
    static const char none[] =
        "{'query': 'present?', 'query_id': 'x', 'answers': ['No Answer Present.'], "
        "'passages': [{'is_selected': 0, 'passage_text': 'The answer is present.'}]}\n";
    cla_reading r;
    cr_assert_eq(read_text(&r, none, true), CLA_OK, "%s", cla_error());
    cr_assert_eq(r.questions[0].answers, 0);
    cr_assert_null(cla_reading_gold(&r, &r.questions[0]));
    cla_reading_free(&r);
    cr_assert_eq(read_text(&r, none, false), CLA_E_INPUT);
}

Test(msmarco, says_what_is_wrong)
{
    static const char *const wrong[][2] = {
        { "{'query_id': 1, 'passages': []}", "there is no text 'query'" },
        { "{'query': 'a', 'passages': []}", "there is no 'query_id'" },
        { "{'query': 'a', 'query_id': [], 'passages': []}", "there is no 'query_id'" },
        { "{'query': 'a', 'query_id': 1, 'passages': [{}]}",
          "a passage has no 'passage_text'" },
        { "{'query': 'a', 'query_id': 1, 'passages': [{'passage_text': 5}]}",
          "a passage has no 'passage_text'" },
        { "{'query': 'a', 'query_id': 1, 'passages': [], 'answers': [7]}",
          "an answer is no text" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cla_reading r;
        char text[512];
        snprintf(text, sizeof text, "%s%s\n", QUESTION "\n", wrong[i][0]);
        cr_assert_eq(read_text(&r, text, true), CLA_E_INPUT);
        cr_assert(strstr(cla_error(), ":3: ") && strstr(cla_error(), wrong[i][1]), "%s",
                  cla_error());
    }
}
