/* tokens.c - tokens of sacreBLEU's kinds, normalised answers, ROUGE-L. */
#include "metrics/tokens.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "metrics/reading.h"
#include "metrics/rules.h"

static json_t *read_cases(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/oracles/%s", getenv("CLATTN_TEST_DATA"), name);
    json_t *cases = json_load_file(path, 0, NULL);
    cr_assert_not_null(cases, "%s", path);
    return cases;
}

static void tokens_are(cla_token_kind kind, bool lower, const char *line,
                       const char *want)
{
    cla_tokenizer *t = NULL;
    cla_text out = { 0 };
    cr_assert_eq(cla_tokenizer_new(&t, kind, lower), CLA_OK);
    cr_assert_eq(cla_tokenize(t, line, strlen(line), &out), CLA_OK);
    cr_assert_str_eq(out.data, want);
    cla_tokenizer_free(&t);
    cla_text_free(&out);
}

/* Random lines of CJK, blanks and letters beyond U+FFFF, for each kind that
 * --tokenize names. */
Test(tokens, equal_sacrebleu_s)
{
    json_t *all = read_cases("tokens/cases.json"), *c = NULL;
    const json_t *cases = json_object_get(all, "tokens");
    int seen[CLA_TOKEN_KINDS] = { 0 };
    size_t i = 0;
    json_array_foreach(cases, i, c)
    {
        const char *name = json_string_value(json_object_get(c, "kind"));
        int kind = 0;
        while (kind < CLA_TOKEN_KINDS && strcmp(name, cla_token_kind_name(kind)) != 0) {
            kind++;
        }
        cr_assert_lt(kind, CLA_TOKEN_KINDS, "%s", name);
        seen[kind]++;
        tokens_are((cla_token_kind)kind, json_is_true(json_object_get(c, "lower")),
                   json_string_value(json_object_get(c, "line")),
                   json_string_value(json_object_get(c, "tokens")));
    }
    for (int kind = 0; kind < CLA_TOKEN_KINDS; kind++) {
        cr_expect_gt(seen[kind], 9, "%s", cla_token_kind_name((cla_token_kind)kind));
    }
    json_decref(all);
}

Test(tokens, of_13a)
{
    tokens_are(CLA_TOKENS_13A, false, "It's 3.5% of $1,000.00, isn't it? (Yes!)",
               "It's 3.5 % of $ 1,000.00 , isn't it ? ( Yes ! )");
    tokens_are(CLA_TOKENS_13A, false,
               "state-of-the-art 1990-91 x.y &quot;a&quot; 10,000 a.",
               "state-of-the-art 1990 - 91 x . y \" a \" 10,000 a .");
    tokens_are(CLA_TOKENS_13A, false, "Das – „ja“.", "Das – „ja“ .");
    tokens_are(CLA_TOKENS_13A, false, "a<skipped>b &amp;lt; ~x_y^ ",
               "ab < ~ x _ y ^"); // entities one after the other
    tokens_are(CLA_TOKENS_13A, true, "ÄÖ. Σ", "äö . σ");
    tokens_are(CLA_TOKENS_13A, false, "", "");
}

Test(tokens, of_the_other_kinds)
{
    tokens_are(CLA_TOKENS_INTL, false, "„ja“ 3.5€", "„ ja “ 3.5 €");
    tokens_are(CLA_TOKENS_CHAR, false,
               "ab 你\xE3\x80\x80"
               "c",
               "a b 你 c");
    tokens_are(CLA_TOKENS_NONE, false,
               " a,b\xC2\xA0"
               "c\t d ",
               "a,b c d");
}

/* sacreBLEU strips the end of a line but not its start. */
Test(tokens, blanks_at_the_end_change_nothing)
{
    static const char *const ends[] = { "", " ", "\t\xC2\xA0", "\xE3\x80\x80\r\x1C" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char line[64];
        snprintf(line, sizeof line, " It was 1990.%s", ends[i]);
        tokens_are(CLA_TOKENS_NONE, false, line, "It was 1990.");
        tokens_are(CLA_TOKENS_13A, false, line, "It was 1990 .");
        tokens_are(CLA_TOKENS_INTL, false, line, "It was 1990.");
        tokens_are(CLA_TOKENS_INTL, true, line, "it was 1990.");
        tokens_are(CLA_TOKENS_CHAR, false, line, "I t w a s 1 9 9 0 .");
        tokens_are(CLA_TOKENS_NONE, false, ends[i], "");
        tokens_are(CLA_TOKENS_INTL, false, ends[i], "");
    }
    tokens_are(CLA_TOKENS_INTL, false, " .5 a", ". 5 a");
    tokens_are(CLA_TOKENS_INTL, false, ".5 a", ".5 a");
}

Test(tokens, lower_case_is_python_s)
{
    tokens_are(CLA_TOKENS_NONE, true, "Ο ΔΡΌΜΟΣ", "ο δρόμος");
    tokens_are(CLA_TOKENS_13A, true, "ΟΔΟΣ.", "οδος .");
    tokens_are(CLA_TOKENS_CHAR, true, "ΑΣ Α", "α ς α");
    tokens_are(CLA_TOKENS_INTL, true, "İx", "i\xCC\x87x");
}

/* multi-bleu.perl reads bytes: its split and lc know ASCII only. */
Test(tokens, ascii_ones_of_multi_bleu)
{
    tokens_are(CLA_TOKENS_ASCII, true, "je veux\xC2\xA0: un chat noir ÉCOLE",
               "je veux\xC2\xA0: un chat noir École");
    tokens_are(CLA_TOKENS_ASCII, false, " A\tb\v\f\r\nC\xE3\x80\x80\x1C ",
               "A b C\xE3\x80\x80\x1C");
    tokens_are(CLA_TOKENS_ASCII, true, "AZ@[`az{ ΑΣ İ", "az@[`az{ ΑΣ İ");
    tokens_are(CLA_TOKENS_ASCII, true, "\xC2\xA0", "\xC2\xA0");
    tokens_are(CLA_TOKENS_ASCII, true, " ", "");
    cla_tokenizer *t = NULL;
    cla_tokens ids = { 0 };
    const char *line = "je veux\xC2\xA0: un chat noir ÉCOLE";
    cr_assert_eq(cla_tokenizer_new(&t, CLA_TOKENS_ASCII, true), CLA_OK);
    cr_assert_eq(cla_tokenize_ids(t, line, strlen(line), &ids), CLA_OK);
    cr_expect_eq(ids.count, 6);
    cla_tokens_free(&ids);
    cla_tokenizer_free(&t);
}

Test(tokens, equal_ones_have_equal_numbers)
{
    cla_tokenizer *t = NULL;
    cla_tokens a = { 0 };
    cr_assert_eq(cla_tokenizer_new(&t, CLA_TOKENS_13A, true), CLA_OK);
    cr_assert_eq(cla_tokenize_ids(t, "The the, CAT", 12, &a), CLA_OK);
    cr_assert_eq(a.count, 4);
    cr_assert(a.id[0] == a.id[1] && a.id[2] != a.id[1] && a.id[3] != a.id[0]);
    cr_assert_eq(cla_tokenize_ids(t, "", 0, &a), CLA_OK);
    cr_assert_eq(a.count, 0);
    cla_tokens_free(&a);
    cla_tokenizer_free(&t);
}

Test(tokens, rules_make_room)
{
    static const cla_rule longer[] = { { "a", "0123456789abcdef" }, { NULL, NULL } };
    static const cla_rule broken[] = { { "(", "" }, { NULL, NULL } };
    cla_rules *rules = NULL;
    cla_text text = { 0 };
    cr_assert_eq(cla_rules_new(&rules, longer), CLA_OK);
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(cla_text_append(&text, "a", 1), CLA_OK);
    }
    cr_assert_eq(cla_rules_apply(rules, &text), CLA_OK);
    cr_assert_eq(text.size, 16000);
    text.size = 0;
    cr_assert_eq(cla_text_append(&text, "\xff", 1), CLA_OK);
    cr_assert_eq(cla_rules_apply(rules, &text), CLA_E_INPUT);
    cla_rules_free(&rules);
    cla_text_free(&text);
    cr_assert_eq(cla_rules_new(&rules, broken), CLA_E_USAGE);
    cr_assert_null(rules);
}

/* ---- answers ----------------------------------------------------------------- */

static void normal(cla_squad *s, const char *answer, const char *want)
{
    cla_text out = { 0 };
    cr_assert_eq(cla_squad_normalise(s, answer, &out), CLA_OK);
    cr_assert_str_eq(out.data, want);
    cla_text_free(&out);
}

static void compared(cla_squad *s, const char *answer, const char *gold, double exact,
                     double f1)
{
    double got_exact = -1, got_f1 = -1;
    cr_assert_eq(cla_squad_compare(s, answer, gold, &got_exact, &got_f1), CLA_OK);
    cr_assert_eq(got_exact, exact);
    cr_assert_float_eq(got_f1, f1, 1e-12);
}

Test(squad, answers_in_normal_form)
{
    cla_squad *s = NULL;
    cr_assert_eq(cla_squad_new(&s), CLA_OK);
    normal(s, "The U.S.A., an island-nation!", "usa islandnation");
    normal(s, "Theatre, a the", "theatre");
    normal(s, "  A–B\xC2\xA0 the–end ", "–b –end"); // dashes end articles
    normal(s, "", "");
    normal(s, "The ΟΔΟΣ, İ", "οδος i\xCC\x87");
    compared(s, "οδος", "οδοΣ", 1, 1);
    compared(s, "in the late 1990s", "late 1990s", 0, 0.8);
    compared(s, "the Cat", "cat!", 1, 1);
    compared(s, "x x y", "x z", 0, 0.4); // each repetition counts once
    compared(s, "the", "a", 1, 0);       // nothing is left of either
    double exact = 0, f1 = 0;
    cr_assert_eq(cla_squad_compare(s, "\xff", "a", &exact, &f1), CLA_E_INPUT);
    cla_squad_free(&s);
}

#define QUESTION(id, golds) "{\"id\":\"" id "\",\"answers\":[" golds "]}"
#define DATA(questions)     "{\"data\":[{\"paragraphs\":[{\"qas\":[" questions "]}]}]}"

static cla_status score(const char *data, const char *answers, cla_squad_scores *scores)
{
    cla_squad *s = NULL;
    json_t *d = json_loads(data, 0, NULL), *a = json_loads(answers, 0, NULL);
    cr_assert_eq(cla_squad_new(&s), CLA_OK);
    const cla_status status = cla_squad_score(s, d, "d.json", a, "a.json", scores);
    cla_squad_free(&s);
    json_decref(d);
    json_decref(a);
    return status;
}

Test(squad, takes_the_best_gold_answer)
{
    cla_squad_scores scores;
    const char *data = DATA(
        QUESTION("1", "{\"text\":\"nothing\"},{\"text\":\"late 1990s\"}") "," QUESTION(
            "2",
            "{\"text\":\"Paris\"}") "," QUESTION("3",
                                                 "{\"text\":\"x\"}") "," QUESTION("4",
                                                                                  ""));
    cr_assert_eq(score(data,
                       "{\"1\":\"in the late 1990s\",\"2\":\"paris.\",\"4\":\"y\"}",
                       &scores),
                 CLA_OK, "%s", cla_error());
    cr_assert_eq(scores.all.questions, 4);
    cr_assert_eq(scores.unanswered, 1);
    cr_assert_float_eq(scores.all.exact, 25.0, 1e-9);
    cr_assert_float_eq(scores.all.f1, 100 * 1.8 / 4, 1e-9);
}

#define TEXT(text) "{\"text\":\"" text "\"}"

/* By hand, as evaluate-v2.0: "" is right where there is no answer, or none that is more
 * than an article; HasAns 1, 0, 1 and NoAns 1, 0, 0. */
Test(squad, second_version_knows_impossible_questions)
{
    cla_squad_scores s;
    const char *data =
        DATA(QUESTION("1", TEXT("Mia")) "," QUESTION("2", "") "," QUESTION(
            "3",
            "") "," QUESTION("4",
                             TEXT("Leo")) "," QUESTION("5",
                                                       "") "," QUESTION("6",
                                                                        TEXT("a")));
    cr_assert_eq(
        score(data,
              "{\"1\":\"mia.\",\"2\":\"\",\"3\":\"Leo\",\"4\":\"\",\"6\":\"the\"}", &s),
        CLA_OK, "%s", cla_error());
    cr_expect(s.version_2);
    cr_expect_eq(s.all.questions, 6);
    cr_expect_eq(s.unanswered, 1);
    cr_expect_float_eq(s.all.exact, 50, 1e-9);
    cr_expect_float_eq(s.all.f1, 50, 1e-9);
    cr_expect_eq(s.has_answer.questions, 3);
    cr_expect_float_eq(s.has_answer.f1, 200.0 / 3, 1e-9);
    cr_expect_eq(s.no_answer.questions, 3);
    cr_expect_float_eq(s.no_answer.exact, 100.0 / 3, 1e-9);
}

/* What makes data that of 2.0: its version, a question's "is_impossible", no answer. */
Test(squad, version_is_that_of_the_data)
{
    const struct {
        const char *data;
        bool second;
        double f1; // of "the" for "a": 1.1 counts no word in common
    } cases[] = {
        { DATA(QUESTION("1", TEXT("a"))), false, 0 },
        { "{\"version\":\"1.1\",\"data\":[{\"paragraphs\":[{\"qas\":[" QUESTION(
              "1", TEXT("a")) "]}]}]}",
          false, 0 },
        { "{\"version\":\"v2.0\",\"data\":[{\"paragraphs\":[{\"qas\":[" QUESTION(
              "1", TEXT("a")) "]}]}]}",
          true, 100 },
        { DATA("{\"id\":\"1\",\"is_impossible\":false,\"answers\":[" TEXT("a") "]}"),
          true, 100 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_squad_scores s;
        cr_assert_eq(score(cases[i].data, "{\"1\":\"the\"}", &s), CLA_OK);
        cr_expect_eq(s.version_2, cases[i].second, "case %zu", i);
        cr_expect_float_eq(s.all.f1, cases[i].f1, 1e-9, "case %zu", i);
    }
}

Test(squad, names_what_is_missing)
{
    const char *cases[][3] = {
        { "{}", "{}", "d.json: holds no list 'data'" },
        { "{\"data\":[]}", "{}", "d.json: holds no question" },
        { "{\"data\":[{}]}", "{}", "d.json: an article has no list 'paragraphs'" },
        { "{\"data\":[{\"paragraphs\":[3]}]}", "{}",
          "d.json: a paragraph has no list 'qas'" },
        { DATA("{}"), "{}", "d.json: a question lacks 'id' or 'answers'" },
        { DATA(QUESTION("1", "{}")), "{\"1\":\"a\"}",
          "d.json: an answer has no 'text'" },
        { DATA(QUESTION("1", "{}")), "{\"1\":3}",
          "a.json: the answer to '1' is no string" },
        { DATA(QUESTION("1", "{}")), "[]",
          "a.json: must be an object of ids and answers" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_squad_scores scores;
        cr_assert_eq(score(cases[i][0], cases[i][1], &scores), CLA_E_INPUT);
        cr_assert_str_eq(cla_error(), cases[i][2]);
    }
}

/* ---- ROUGE-L ----------------------------------------------------------------- */

static double rouge(cla_token_kind kind, const char *candidate, const char *const *refs,
                    size_t n)
{
    cla_tokenizer *t = NULL;
    cla_tokens tokens[4] = { 0 };
    double got = -1;
    cr_assert_eq(cla_tokenizer_new(&t, kind, false), CLA_OK);
    cr_assert_eq(cla_tokenize_ids(t, candidate, strlen(candidate), &tokens[n]), CLA_OK);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(cla_tokenize_ids(t, refs[i], strlen(refs[i]), &tokens[i]), CLA_OK);
    }
    cr_assert_eq(cla_rouge_l(&tokens[n], tokens, n, &got), CLA_OK);
    for (size_t i = 0; i <= n; i++) {
        cla_tokens_free(&tokens[i]);
    }
    cla_tokenizer_free(&t);
    return got;
}

Test(rouge, by_hand)
{
    const char *cats[] = { "the cat sat on the mat", "a cat is on a mat" };
    const char *letters[] = { "ace" }, *none[] = { "" };
    cr_assert_float_eq(rouge(CLA_TOKENS_NONE, "the cat was on the mat", cats, 2),
                       0.833333, 1e-6);
    cr_assert_float_eq(rouge(CLA_TOKENS_CHAR, "abcde", letters, 1), 0.785408, 1e-6);
    cr_assert_eq(rouge(CLA_TOKENS_NONE, "x", cats, 2), 0.0);
    cr_assert_eq(rouge(CLA_TOKENS_NONE, "", cats, 2), 0.0);
    cr_assert_eq(rouge(CLA_TOKENS_NONE, "x", none, 1), 0.0);
    for (int kind = 0; kind < CLA_TOKEN_KINDS; kind++) {
        cr_expect_eq(rouge((cla_token_kind)kind, " ", none, 1), 1.0, "kind %d", kind);
    }
}

Test(rouge, equals_the_caption_scorer)
{
    json_t *cases = read_cases("bleu_rouge/cases.json"), *c = NULL;
    size_t i = 0;
    cr_assert_eq(json_array_size(cases), 3);
    json_array_foreach(cases, i, c)
    {
        const json_t *hyps = json_object_get(c, "hypotheses");
        const json_t *refs = json_object_get(c, "references");
        const json_t *want = json_object_get(json_object_get(c, "computed"), "ROUGE_L");
        const size_t lines = json_array_size(hyps);
        double sum = 0;
        for (size_t h = 0; h < lines; h++) {
            const json_t *own = json_array_get(refs, h);
            const char *texts[] = { json_string_value(json_array_get(own, 0)),
                                    json_string_value(json_array_get(own, 1)) };
            sum += rouge(CLA_TOKENS_NONE, json_string_value(json_array_get(hyps, h)),
                         texts, 2);
        }
        cr_assert_float_eq(sum / (double)lines, json_number_value(want), 1e-9);
    }
    json_decref(cases);
}

/* Blanks: no-break ones belong to words, two in a row hold an empty word. */
Test(rouge, splits_lines_as_the_caption_scorer)
{
    json_t *all = read_cases("tokens/cases.json"), *c = NULL;
    const json_t *cases = json_object_get(all, "rouge_l");
    size_t i = 0;
    cr_assert_gt(json_array_size(cases), 9);
    json_array_foreach(cases, i, c)
    {
        const json_t *refs = json_object_get(c, "refs");
        const char *texts[] = { json_string_value(json_array_get(refs, 0)),
                                json_string_value(json_array_get(refs, 1)) };
        const double got =
            rouge(CLA_TOKENS_SPACES, json_string_value(json_object_get(c, "hyp")),
                  texts, json_array_size(refs));
        cr_expect_float_eq(got, json_number_value(json_object_get(c, "score")), 1e-9,
                           "case %zu", i);
    }
    json_decref(all);
}
