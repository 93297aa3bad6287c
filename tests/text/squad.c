/* squad.c - data in SQuAD's layout: places of answers, repairs, and errors. JSON is
 * written with ' in place of ". */
#include "text/squad.h"

#include <string.h>

#include <criterion/criterion.h>

/* A file of one passage with one question. */
#define PASSAGE(context, questions) \
    "{'data': [{'paragraphs': [{'context': '" context "', 'qas': [" questions "]}]}]}"
#define ONE(context, answers) \
    PASSAGE(context, "{'id': 'q7', 'question': 'why', 'answers': [" answers "]}")

static cla_squad_counts counts;

static cla_status parse(cla_reading *r, const char *text, cla_squad_options options)
{
    char *copy = NULL;
    const size_t size = strlen(text);
    cr_assert_eq(cla_strdup(&copy, text), CLA_OK);
    for (size_t i = 0; i < size; i++) {
        copy[i] = (char)(copy[i] == '\'' ? '"' : copy[i]);
    }
    const cla_status status =
        cla_squad_parse(r, "t.json", copy, size, &options, &counts);
    free(copy);
    return status;
}

static void refused(const char *text, cla_squad_options options, const char *message)
{
    cla_reading r;
    cr_assert_eq(parse(&r, text, options), CLA_E_INPUT, "accepted: %s", text);
    cr_assert(strstr(cla_error(), message) != NULL, "'%s' lacks '%s'", cla_error(),
              message);
}

/* Checks that answer k is the words first to last of its passage, which quote as
 * text. */
static void stands(const cla_reading *r, size_t k, int first, int last,
                   const char *text)
{
    cla_text quote = { 0 };
    const cla_reading_answer *a = &r->answers[k];
    cr_assert_eq(a->first, first, "answer %zu", k);
    cr_assert_eq(a->last, last, "answer %zu", k);
    cr_assert_eq(cla_reading_quote(r, (size_t)a->passage, first, last, &quote), CLA_OK);
    cr_assert_str_eq(quote.data, text);
    cla_text_free(&quote);
}

Test(squad, reads_questions_and_answers)
{
    cla_reading r;
    const char *text =
        "{'version': '1.1', 'data': [{'title': 'A', 'paragraphs': [\n"
        "{'context': 'Ren\\u00e9 (b. 1596) thought\\u2014a lot.', 'qas': [\n"
        "{'id': 'q1', 'question': 'Who thought?', 'answers': [\n"
        "{'text': 'Ren\\u00e9', 'answer_start': 0},\n"
        "{'text': 'Ren\\u00e9 (b. 1596)', 'answer_start': 0}]},\n"
        "{'id': 'q2', 'question': 'How much?', 'answers': [\n"
        "{'text': 'a lot', 'answer_start': 23}]}]},\n"
        "{'context': 'Two words', 'qas': [\n"
        "{'id': 'q3', 'question': '?', 'answers': [\n"
        "{'text': 'words', 'answer_start': 4}]}]}]}]}\n";
    cr_assert_eq(parse(&r, text, (cla_squad_options){ .strict = true }), CLA_OK, "%s",
                 cla_error());
    cr_assert_eq(r.passage_count, 2);
    cr_assert_eq(r.question_count, 3);
    cr_assert_eq(r.answer_count, 4);
    cr_assert_eq(r.passages[0].count, 11);
    stands(&r, 0, 0, 0, "Ren\xC3\xA9");
    stands(&r, 1, 0, 5, "Ren\xC3\xA9 (b. 1596)");
    stands(&r, 2, 8, 9, "a lot");
    stands(&r, 3, 1, 1, "words");
    const cla_reading_question *q = &r.questions[2];
    cr_assert_str_eq(cla_reading_string(&r, q->id), "q3");
    cr_assert_str_eq(cla_reading_string(&r, q->text.at), "?");
    cr_assert(q->passage == 1 && q->passages == 1 && q->answer == 3 && q->answers == 1);
    cr_assert_eq(cla_reading_gold(&r, &r.questions[0]), &r.answers[0]);
    cr_assert_eq(r.questions[0].answers, 2);
    cr_assert_eq(counts.articles, 1);
    cr_assert_eq(counts.moved + counts.lost + counts.widened, 0);
    cla_span place;
    cr_assert_eq(cla_reading_place(&r, 0, 8, 9, &place), CLA_OK);
    cr_assert(place.from == 23 && place.to == 28 && place.at == 26 && place.size == 5);
    cr_assert_eq(cla_reading_place(&r, 1, 0, 2, &place), CLA_E_SHAPE);
    cr_assert_eq(cla_reading_place(&r, 1, -1, 0, &place), CLA_E_SHAPE);
    cr_assert_eq(cla_reading_place(&r, 1, 1, 0, &place), CLA_E_SHAPE);
    cr_assert_eq(cla_reading_place(&r, 2, 0, 0, &place), CLA_E_SHAPE);
    cla_reading_free(&r);
}

/* The nearest place wins, of two the earlier; an answer that does not occur has its
 * text alone. */
Test(squad, looks_for_answers)
{
    cla_reading r;
    const char *text =
        ONE("ab \xE6\x88\x98 ab x ab yzy", "{'text': 'ab', 'answer_start': 4},"
                                           "{'text': 'ab', 'answer_start': 400},"
                                           "{'text': 'ab', 'answer_start': -1},"
                                           "{'text': 'ab', 'answer_start': 3},"
                                           "{'text': 'zz', 'answer_start': 0},"
                                           "{'text': '', 'answer_start': 0},"
                                           "{'text': 'z', 'answer_start': 14},"
                                           "{'text': ' x ', 'answer_start': 7}");
    cr_assert_eq(parse(&r, text, (cla_squad_options){ 0 }), CLA_OK, "%s", cla_error());
    cr_assert_eq(r.answer_count, 8);
    const int words[] = { 2, 4, 0, 2, -1, -1, 5, 3 };
    for (size_t i = 0; i < 8; i++) {
        cr_assert_eq(r.answers[i].passage, words[i] < 0 ? -1 : 0, "answer %zu", i);
        cr_assert(words[i] < 0 || r.answers[i].first == words[i], "answer %zu", i);
    }
    stands(&r, 6, 5, 5, "yzy");
    stands(&r, 7, 3, 3, "x");
    cr_assert_eq(counts.moved, 4);
    cr_assert_eq(counts.lost, 2);
    cr_assert_eq(counts.widened, 1);
    cla_reading_free(&r);
}

/* Offsets may be any integer of 64 bits. */
Test(squad, offsets_far_away)
{
    cla_reading r;
    const char *text = ONE("x ab ab", "{'text': 'ab', 'answer_start': "
                                      "-9223372036854775808},"
                                      "{'text': 'ab', 'answer_start': -4294967291},"
                                      "{'text': 'ab', 'answer_start': 4294967298},"
                                      "{'text': 'ab', 'answer_start': "
                                      "9223372036854775807}");
    cr_assert_eq(parse(&r, text, (cla_squad_options){ 0 }), CLA_OK, "%s", cla_error());
    stands(&r, 0, 1, 1, "ab");
    stands(&r, 1, 1, 1, "ab");
    stands(&r, 2, 2, 2, "ab");
    stands(&r, 3, 2, 2, "ab");
    cr_assert_eq(counts.moved, 4);
    cla_reading_free(&r);
}

/* Faults are skipped and counted, and are errors when strict. */
Test(squad, passes_over_or_refuses)
{
    const struct {
        const char *data, *message;
        int64_t *count;
    } cases[] = {
        { ONE("a b c", "{'text': 'b', 'answer_start': 1}"),
          "question 'q7': an answer is not at its offset", &counts.moved },
        { ONE("a b c", "{'text': 'b', 'answer_start': 99}"),
          "question 'q7': an answer is not at its offset", &counts.moved },
        { ONE("a b c", "{'text': 'd', 'answer_start': 1}"),
          "question 'q7': an answer does not occur", &counts.lost },
        { ONE("a b c", "{'text': ' ', 'answer_start': 1}"),
          "question 'q7': an answer does not occur", &counts.lost },
        { ONE("a\\u00a0b", "{'text': '\\u00a0', 'answer_start': 1}"),
          "question 'q7': an answer has no words", &counts.lost },
        { ONE("", "{'text': 'd', 'answer_start': 1}"),
          "t.json: article 1, paragraph 1: the passage has no words", &counts.empty },
        { ONE(" \\n\\u3000", "{'text': 'd', 'answer_start': 1}"),
          "paragraph 1: the passage has no words", &counts.empty },
        { PASSAGE("a", "{'id': 'q9', 'question': ' ', 'answers': "
                       "[{'text': 'a', 'answer_start': 0}]}"),
          "question 'q9': the question has no words", &counts.wordless },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_reading r;
        refused(cases[i].data, (cla_squad_options){ .strict = true }, cases[i].message);
        const cla_status status = parse(&r, cases[i].data, (cla_squad_options){ 0 });
        cr_assert_eq(*cases[i].count, 1, "case %zu", i);
        // only a moved answer leaves a question here
        cr_assert_eq(status, i < 2 ? CLA_OK : CLA_E_INPUT, "case %zu", i);
        cla_reading_free(&r);
    }
}

Test(squad, keeps_unanswered_questions_when_asked)
{
    cla_reading r;
    const char *text = PASSAGE("a b", "{'id': 'x', 'question': 'new'},"
                                      "{'id': 'y', 'question': 'w', 'answers': []},"
                                      "{'id': 'z', 'question': 'v u t', 'answers': "
                                      "[{'text': 'c', 'answer_start': 0}]}");
    refused(text, (cla_squad_options){ 0 }, "t.json: holds no question that can be");
    cr_assert_eq(counts.answerless, 3);
    cr_assert_eq(
        parse(&r, text, (cla_squad_options){ .unanswered = true, .question_limit = 2 }),
        CLA_OK);
    cr_assert_eq(r.question_count, 3);
    cr_assert_eq(r.questions[2].text.count, 2);
    cr_assert_eq(counts.long_questions, 1);
    cr_assert_null(cla_reading_gold(&r, &r.questions[2]));
    cr_assert_str_eq(cla_reading_string(&r, r.answers[0].text.at), "c");
    cla_reading_free(&r);
}

/* 5,000 words are kept, or cut at the limit; an answer beyond the cut does not
 * count. */
Test(squad, long_passages)
{
    cla_reading r;
    cla_text text = { 0 };
    cr_assert_eq(cla_text_add(&text, "{'data': [{'paragraphs': [{'context': '"),
                 CLA_OK);
    for (int i = 0; i < 5000; i++) {
        cr_assert_eq(cla_text_add(&text, "%04d ", i), CLA_OK);
    }
    cr_assert_eq(cla_text_add(&text, "', 'qas': ["
                                     "{'id': 'in', 'question': 'w', 'answers': "
                                     "[{'text': '0009', 'answer_start': 45}]},"
                                     "{'id': 'over', 'question': 'w', 'answers': "
                                     "[{'text': '0009 0010', 'answer_start': 45}]},"
                                     "{'id': 'out', 'question': 'w', 'answers': "
                                     "[{'text': '4999', 'answer_start': 24995}]}"
                                     "]}]}]}"),
                 CLA_OK);
    cr_assert_eq(parse(&r, text.data, (cla_squad_options){ 0 }), CLA_OK);
    cr_assert_eq(r.passages[0].count, 5000);
    stands(&r, 2, 4999, 4999, "4999");
    cla_reading_free(&r);
    cr_assert_eq(parse(&r, text.data, (cla_squad_options){ .passage_limit = 10 }),
                 CLA_OK);
    cr_assert_eq(r.passages[0].count, 10);
    cr_assert_eq(r.question_count, 1);
    cr_assert_eq(r.answer_count, 1);
    cr_assert_eq(r.words.count, 11);
    stands(&r, 0, 9, 9, "0009");
    cr_assert_eq(counts.cut, 1);
    cr_assert_eq(counts.beyond, 2);
    cr_assert_eq(counts.answerless, 2);
    cla_reading_free(&r);
    cla_text_free(&text);
}

/* Every article is in one of the three parts, always the same. */
Test(squad, parts)
{
    cla_text text = { 0 };
    cla_reading r;
    size_t sum = 0;
    cr_assert_eq(cla_text_add(&text, "{'data': ["), CLA_OK);
    for (int i = 0; i < 400; i++) {
        cr_assert_eq(cla_text_add(&text,
                                  "%s{'title': 't%d', 'paragraphs': [{'context': 'a', "
                                  "'qas': [{'id': '%d', 'question': 'q', 'answers': "
                                  "[{'text': 'a', 'answer_start': 0}]}]}]}",
                                  i ? "," : "", i, i),
                     CLA_OK);
    }
    cr_assert_eq(cla_text_add(&text, "]}"), CLA_OK);
    for (int part = CLA_SQUAD_TRAIN; part <= CLA_SQUAD_TEST; part++) {
        const cla_squad_options o = { .part = (cla_squad_part)part };
        cr_assert_eq(parse(&r, text.data, o), CLA_OK);
        // 80 and 10 per cent, four deviations of the binomial (8 and 6) around
        const int64_t want = part == CLA_SQUAD_TRAIN ? 320 : 40;
        const int64_t far = part == CLA_SQUAD_TRAIN ? 32 : 24;
        cr_assert(llabs(counts.articles - want) <= far, "part %d: %lld", part,
                  (long long)counts.articles);
        sum += r.question_count;
        cla_reading_free(&r);
    }
    cr_assert_eq(sum, 400);
    cla_text_free(&text);
}

/* A whole number is an id, too: its digits. Anything else is none. */
Test(squad, ids_that_are_numbers)
{
    cla_reading r;
    const char *text = PASSAGE("The dog.", "{'id': 17, 'question': 'a?', 'answers': "
                                           "[{'text': 'dog', 'answer_start': 4}]}");
    cr_assert_eq(parse(&r, text, (cla_squad_options){ 0 }), CLA_OK, "%s", cla_error());
    cr_assert_str_eq(cla_reading_string(&r, r.questions[0].id), "17");
    cla_reading_free(&r);
    refused(PASSAGE("The dog.", "{'id': 1.5, 'question': 'a?', 'answers': []}"),
            (cla_squad_options){ 0 }, "a question has no 'id'");
}

Test(squad, words_as_numbers)
{
    cla_reading r;
    cla_vocab v = { 0 };
    const char *text = PASSAGE("The dog the Cat.",
                               "{'id': 'q', 'question': 'the dog </s>?', "
                               "'answers': [{'text': 'Cat', 'answer_start': 12}]}");
    cr_assert_eq(parse(&r, text, (cla_squad_options){ 0 }), CLA_OK);
    cr_assert_eq(cla_reading_vocab(&r, 2, true, 0, &v), CLA_OK);
    cr_assert_eq(v.count, CLA_SPECIALS + 2);
    cr_assert_str_eq(v.tokens[CLA_SPECIALS], "the");
    cr_assert_str_eq(v.tokens[CLA_SPECIALS + 1], "dog");
    const int32_t want[] = { 3, 4, 3, 2, 2, 3, 4, 2, 2, 2, 2, 2 };
    int32_t ids[12];
    cr_assert_eq(r.words.count, 12);
    cr_assert_eq(cla_reading_ids(&r, &v, true, ids), CLA_OK);
    cr_assert_arr_eq(ids, want, sizeof want);
    cr_assert_eq(cla_reading_ids(&r, &v, false, ids), CLA_OK);
    cr_assert_eq(ids[0], CLA_UNK); // "The" is another word
    cla_vocab_free(&v);
    cla_reading_free(&r);
}

Test(squad, names_what_is_wrong)
{
    const cla_squad_options any = { 0 };
    refused("", any, "t.json:1:1: ");
    refused("{\n'data': [,]}", any, "t.json:2:10: ");
    refused("[1]", any, "t.json: holds no list 'data'");
    refused("{'data': []}", any, "t.json: holds no question");
    refused("\xEF\xBB\xBF{'data': []}", any, "t.json: holds no question");
    refused("{'data': [7]}", any, "t.json: article 1: there is no list 'paragraphs'");
    refused("{'data': [{'paragraphs': [{'qas': []}]}]}", any,
            "article 1, paragraph 1: there is no 'context'");
    refused("{'data': [{'paragraphs': [{'context': 'a'}]}]}", any,
            "there is no list 'qas'");
    refused(PASSAGE("a", "{'question': 'b'}"), any,
            "paragraph 1: a question has no 'id'");
    refused(PASSAGE("a", "{'id': 'b'}"), any,
            "t.json: question 'b': there is no 'question'");
    refused(PASSAGE("a", "{'id': 'b', 'question': 'c', 'answers': 7}"), any,
            "t.json: question 'b': 'answers' is no list");
    refused(ONE("a", "{'text': 'a'}"), any, "question 'q7': an answer lacks");
    refused(ONE("a", "{'text': 'a', 'answer_start': 1.5}"), any, "lacks 'text' or");
    refused(ONE("a", "{'text': 1, 'answer_start': 1}"), any, "an answer lacks");
    refused(PASSAGE("a", "{'id': 'i', 'question': 'c'}, {'id': 'i', 'question': 'c'}"),
            any, "question 'i': duplicate id");
    refused(ONE("a\xFF", ""), any, "t.json:1:");
    refused(ONE("a\\u0000", ""), any, "t.json:1:");
    refused(ONE("a\\ud800", ""), any, "t.json:1:");
    cla_reading r;
    cr_assert_eq(cla_squad_read(&r, "/nowhere/x.json", &any, &counts), CLA_E_IO);
}

/* A file cut short anywhere is an error, never a crash. */
Test(squad, cut_short)
{
    const char *text = "{\"data\": [{\"paragraphs\": [{\"context\": \"\xC3\xA9\", "
                       "\"qas\": [{\"id\": \"a\", \"question\": \"b\"}]}]}]}";
    const cla_squad_options any = { .unanswered = true };
    for (size_t size = 0; size <= strlen(text); size++) {
        cla_reading r;
        cr_assert_eq(cla_squad_parse(&r, "t.json", text, size, &any, &counts),
                     size < strlen(text) ? CLA_E_INPUT : CLA_OK);
        cla_reading_free(&r);
    }
}
