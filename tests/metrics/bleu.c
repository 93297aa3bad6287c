/* bleu.c - BLEU against sacreBLEU's own cases, the caption scorer's, and by hand. */
#include "metrics/bleu.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

static json_t *read_cases(const char *name)
{
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/oracles/%s", getenv("CLATTN_TEST_DATA"), name);
    json_t *cases = json_load_file(path, 0, &error);
    cr_assert_not_null(cases, "%s: %s", path, error.text);
    return cases;
}

static cla_line line_of(const char *text)
{
    return (cla_line){ text, strlen(text) };
}

static void count_case(const json_t *c, const cla_bleu_options *options,
                       cla_bleu_counts *sum)
{
    const json_t *hyps = json_object_get(c, "hypotheses");
    const json_t *refs = json_object_get(c, "references");
    cla_bleu *b = NULL;
    *sum = (cla_bleu_counts){ 0 };
    cr_assert_eq(cla_bleu_new(&b, options), CLA_OK);
    for (size_t i = 0; i < json_array_size(hyps); i++) {
        cla_line lines[8];
        cla_bleu_counts one;
        const cla_line hyp = line_of(json_string_value(json_array_get(hyps, i)));
        const size_t n = json_array_size(refs);
        for (size_t k = 0; k < n; k++) { // a list for each reference
            const json_t *ref = json_array_get(json_array_get(refs, k), i);
            lines[k] = line_of(json_string_value(ref));
        }
        cr_assert_eq(cla_bleu_count(b, &hyp, lines, n, &one), CLA_OK);
        cla_bleu_add(sum, &one);
    }
    cla_bleu_free(&b);
}

static int choice(const json_t *options, const char *key, const char *fallback,
                  const char *const *names)
{
    const char *word = json_string_value(json_object_get(options, key));
    word = word ? word : fallback;
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], word) == 0) {
            return i;
        }
    }
    cr_assert_fail("unknown %s '%s'", key, word);
    return -1;
}

static cla_bleu_options options_of(const json_t *given)
{
    static const char *const tokens[] = { "none", "13a", "intl", "char", NULL };
    static const char *const smooths[] = { "exp", "floor", "add-k", "none", NULL };
    const json_t *order = json_object_get(given, "max_ngram_order");
    const json_t *value = json_object_get(given, "smooth_value");
    cla_bleu_options o = cla_bleu_defaults();
    o.tokens = (cla_token_kind)choice(given, "tokenize", "13a", tokens);
    o.smooth = (cla_smooth)choice(given, "smooth_method", "exp", smooths);
    o.value =
        json_is_number(value) ? json_number_value(value) : cla_smooth_default(o.smooth);
    o.order = order ? (int)json_integer_value(order) : 4;
    o.lowercase = json_is_true(json_object_get(given, "lowercase"));
    o.effective_order = json_is_true(json_object_get(given, "effective_order"));
    return o;
}

Test(bleu, equals_sacrebleu)
{
    json_t *cases = read_cases("bleu/sacrebleu_cases.json"), *c = NULL;
    size_t i = 0;
    cr_assert_eq(json_array_size(cases), 24);
    json_array_foreach(cases, i, c)
    {
        const cla_bleu_options o = options_of(json_object_get(c, "options"));
        const double want = json_number_value(json_object_get(c, "expected_bleu"));
        const double bar = json_number_value(json_object_get(c, "tolerance"));
        cla_bleu_counts sum;
        count_case(c, &o, &sum);
        const double got = cla_bleu_of(&o, &sum).score;
        cr_assert(fabs(got - want) <= bar, "case %zu: %.6f, must be %.6f", i, got,
                  want);
    }
    json_decref(cases);
}

/* The lengths and scores of sacreBLEU 2.6.0, of multi-bleu.perl for ascii. */
Test(bleu, single_lines)
{
    static const struct {
        cla_token_kind tokens;
        const char *hyp, *ref;
        int64_t length;
        double score;
    } cases[] = {
        { CLA_TOKENS_INTL, "It was in 1990. ", "It was in 1990.", 4, 100.0 },
        { CLA_TOKENS_INTL, "It was in 1990.", "It was in 1990.\t", 4, 100.0 },
        { CLA_TOKENS_13A, "ο ας σ ε", "Ο ΑΣ Σ Ε", 4, 100.0 },
        { CLA_TOKENS_13A, "istanbul is big now", "İstanbul is big now", 4, 59.460356 },
        { CLA_TOKENS_ASCII, "je veux\xC2\xA0: un chat noir ÉCOLE",
          "je veux\xC2\xA0: un chat noir École", 6, 100.0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cla_line hyp = line_of(cases[i].hyp), ref = line_of(cases[i].ref);
        cla_bleu_options o = cla_bleu_defaults();
        o.tokens = cases[i].tokens;
        o.lowercase = true;
        cla_bleu *b = NULL;
        cla_bleu_counts c;
        cr_assert_eq(cla_bleu_new(&b, &o), CLA_OK);
        cr_assert_eq(cla_bleu_count(b, &hyp, &ref, 1, &c), CLA_OK);
        cr_expect_eq(c.hyp, cases[i].length, "line %zu", i);
        cr_expect_float_eq(cla_bleu_of(&o, &c).score, cases[i].score, 1e-6, "line %zu",
                           i);
        cla_bleu_free(&b);
    }
}

/* nlg-eval's cases list the references of each hypothesis. */
Test(bleu, equals_the_caption_scorer)
{
    json_t *cases = read_cases("bleu_rouge/cases.json"), *c = NULL;
    const cla_bleu_options o = { .tokens = CLA_TOKENS_NONE, .order = 4 };
    size_t i = 0;
    cr_assert_eq(json_array_size(cases), 3);
    json_array_foreach(cases, i, c)
    {
        const json_t *hyps = json_object_get(c, "hypotheses");
        const json_t *refs = json_object_get(c, "references");
        cla_bleu *b = NULL;
        cla_bleu_counts sum = { 0 }, one;
        cr_assert_eq(cla_bleu_new(&b, &o), CLA_OK);
        for (size_t h = 0; h < json_array_size(hyps); h++) {
            const cla_line hyp = line_of(json_string_value(json_array_get(hyps, h)));
            const json_t *own = json_array_get(refs, h);
            cla_line lines[2];
            cr_assert_eq(json_array_size(own), 2);
            for (size_t k = 0; k < 2; k++) {
                lines[k] = line_of(json_string_value(json_array_get(own, k)));
            }
            cr_assert_eq(cla_bleu_count(b, &hyp, lines, 2, &one), CLA_OK);
            cla_bleu_add(&sum, &one);
        }
        for (int n = 1; n <= 4; n++) {
            char key[] = "Bleu_0";
            key[5] = (char)('0' + n);
            const json_t *want = json_object_get(json_object_get(c, "computed"), key);
            cr_assert_float_eq(cla_bleu_captions(&sum, n), json_number_value(want),
                               1e-9, "case %zu %s", i, key);
        }
        cla_bleu_free(&b);
    }
    json_decref(cases);
}

static void count_text(const cla_bleu_options *o, const char *hyp, const char *ref,
                       cla_bleu_counts *sum)
{
    cla_bleu *b = NULL;
    cla_bleu_counts one;
    const cla_line h = line_of(hyp), r = line_of(ref);
    cr_assert_eq(cla_bleu_new(&b, o), CLA_OK);
    cr_assert_eq(cla_bleu_count(b, &h, &r, 1, &one), CLA_OK);
    cla_bleu_add(sum, &one);
    cla_bleu_free(&b);
}

Test(bleu, counts_and_signature)
{
    static const int64_t correct[] = { 17, 12, 8, 5 }, total[] = { 22, 20, 18, 16 };
    const cla_bleu_options o = cla_bleu_defaults();
    cla_bleu_counts sum = { 0 };
    cla_text signature = { 0 };
    count_text(&o, "The cat sat on the mat.", "The cat is on the mat.", &sum);
    count_text(&o,
               "It is a guide to action, which ensures that the military always obeys.",
               "It is a guide to action that ensures that the military will forever "
               "heed Party commands.",
               &sum);
    const cla_bleu_score s = cla_bleu_of(&o, &sum);
    cr_assert_float_eq(s.score, 46.00, 0.005);
    cr_assert_float_eq(s.penalty, 0.913, 0.0005);
    cr_assert(sum.hyp == 22 && sum.ref == 24);
    for (int k = 0; k < 4; k++) {
        cr_assert(sum.correct[k] == correct[k] && sum.total[k] == total[k]);
    }
    double product = 1;
    for (int n = 1; n <= 4; n++) {
        product *= cla_bleu_single(&sum, n);
    }
    cr_assert_float_eq(pow(product, 0.25), s.score, 1e-9);
    cr_assert_eq(cla_bleu_signature(&o, 1, &signature), CLA_OK);
    cr_assert(strncmp(signature.data,
                      "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:", 53) ==
              0);
    cla_text_free(&signature);
}

/* BLEU of characters, with two references for a candidate (a known answer of the
 * caption scorer). */
Test(bleu, of_characters)
{
    static const double want[] = { 0.795413, 0.781080, 0.758709, 0.714447 };
    const cla_bleu_options o = { .tokens = CLA_TOKENS_CHAR, .order = 4 };
    const cla_line first = line_of("abcdef"), second = line_of("xyz");
    const cla_line refs[] = { line_of("abcdeg"), line_of("abc") };
    const cla_line other = line_of("xyzw");
    cla_bleu_counts sum = { 0 }, one;
    cla_bleu *b = NULL;
    cr_assert_eq(cla_bleu_new(&b, &o), CLA_OK);
    cr_assert_eq(cla_bleu_count(b, &first, refs, 2, &one), CLA_OK);
    cla_bleu_add(&sum, &one);
    cr_assert_eq(cla_bleu_count(b, &second, &other, 1, &one), CLA_OK);
    cla_bleu_add(&sum, &one);
    for (int n = 1; n <= 4; n++) {
        cr_assert_float_eq(cla_bleu_captions(&sum, n), want[n - 1], 1e-6);
    }
    cla_bleu_free(&b);

    cla_bleu_counts poem = { 0 };
    count_text(&o, "春眠不觉晓", "春眠不知晓", &poem);
    cr_assert_float_eq(cla_bleu_captions(&poem, 1), 0.8, 1e-6);
    cr_assert_float_eq(cla_bleu_captions(&poem, 2), 0.632456, 1e-6);
}

Test(bleu, of_nothing)
{
    const cla_bleu_options o = cla_bleu_defaults();
    cla_bleu_counts sum = { 0 };
    cr_assert_eq(cla_bleu_of(&o, &sum).score, 0.0);
    count_text(&o, "", "a b c", &sum);
    cr_assert_eq(cla_bleu_of(&o, &sum).score, 0.0);
    cr_assert_eq(cla_bleu_of(&o, &sum).penalty, 0.0);
    count_text(&o, "x", "", &sum);
    cr_assert_eq(cla_bleu_of(&o, &sum).score, 0.0);
}

Test(bleu, bootstrap_knows_better_worse_and_same)
{
    const cla_bleu_options o = { .tokens = CLA_TOKENS_NONE, .order = 1 };
    cla_bleu_counts good[40] = { 0 }, bad[40] = { 0 };
    cla_bootstrap r = { 0 }, again = { 0 };
    for (int i = 0; i < 40; i++) {
        count_text(&o, "a b c d", i % 2 ? "a b c d" : "a b c e", &good[i]);
        count_text(&o, "a b x y", "a b c d", &bad[i]);
    }
    cr_assert_eq(cla_bleu_bootstrap(&o, good, bad, 40, 200, 7, &r), CLA_OK);
    cr_assert_eq(r.p, 0.0);
    cr_assert_float_eq(r.model[0], 87.5, 1e-9);
    cr_assert(r.model[1] < r.model[0] && r.model[0] < r.model[2]);
    cr_assert_float_eq(r.base[1], 50.0, 1e-9); // all its sentences are alike
    cr_assert_float_eq(r.base[2], 50.0, 1e-9);
    cr_assert_eq(cla_bleu_bootstrap(&o, good, bad, 40, 200, 7, &again), CLA_OK);
    cr_assert(memcmp(&r, &again, sizeof r) == 0);
    cr_assert_eq(cla_bleu_bootstrap(&o, bad, good, 40, 200, 7, &r), CLA_OK);
    cr_assert_eq(r.p, 1.0);
    cr_assert_eq(cla_bleu_bootstrap(&o, good, good, 40, 200, 7, &r), CLA_OK);
    cr_assert_eq(r.p, 1.0);
    cr_assert_eq(cla_bleu_bootstrap(&o, good, good, 0, 200, 7, &r), CLA_E_USAGE);
}

/* Half of the model's lines have all bigrams of the reference, all have its words; the
 * baseline has the words alone. The baseline never wins by bigrams and always ties by
 * words, and neither has five words in a row. */
Test(bleu, bootstrap_by_length_of_ngrams)
{
    const cla_bleu_options o = { .tokens = CLA_TOKENS_NONE, .order = CLA_MAX_ORDER };
    cla_bleu_counts model[40] = { 0 }, base[40] = { 0 };
    double p[CLA_MAX_ORDER], again[CLA_MAX_ORDER];
    for (int i = 0; i < 40; i++) {
        count_text(&o, i % 2 ? "a b c d" : "b a d c", "a b c d", &model[i]);
        count_text(&o, "b a d c", "a b c d", &base[i]);
    }
    cr_assert_eq(cla_bleu_bootstrap_orders(model, base, 40, 200, 7, p), CLA_OK);
    cr_assert_eq(p[0], 1.0);
    cr_assert_eq(p[1], 0.0);
    cr_assert_eq(p[3], 0.0);
    cr_assert_eq(p[4], 1.0);
    cr_assert_eq(cla_bleu_bootstrap_orders(model, base, 40, 200, 7, again), CLA_OK);
    cr_assert(memcmp(p, again, sizeof p) == 0);
    cr_assert_eq(cla_bleu_bootstrap_orders(base, model, 40, 200, 7, p), CLA_OK);
    cr_assert_eq(p[1], 1.0);
    cr_assert_eq(cla_bleu_bootstrap_orders(model, base, 0, 200, 7, p), CLA_E_USAGE);
    cr_assert_eq(cla_bleu_bootstrap_orders(model, base, 40, 0, 7, p), CLA_E_USAGE);
}

/* ---- prefixes ---------------------------------------------------------------- */

static void prefixes_are(const int32_t *ref, size_t ref_count, const int32_t *hyp,
                         size_t n, const double *want)
{
    double r[16];
    cr_assert_eq(cla_prefix_bleu(ref, ref_count, hyp, n, -1, r), CLA_OK);
    for (size_t i = 0; i < n; i++) {
        cr_assert_float_eq(r[i], want[i], 6e-7, "prefix %zu: %.6f, must be %.6f", i + 1,
                           r[i], want[i]);
    }
}

/* "the cat the on the mat ." against "the cat sat on the mat" */
Test(bleu, of_prefixes)
{
    enum { THE, CAT, SAT, ON, MAT, DOT };
    static const int32_t ref[] = { THE, CAT, SAT, ON, THE, MAT };
    static const int32_t hyp[] = { THE, CAT, THE, ON, THE, MAT, DOT };
    static const double r[] = { 0.006738, 0.135335, 0.279528, 0.325880,
                                0.369903, 0.488923, 0.411134 };
    static const double copy[] = {
        0.006738, 0.135335, 0.367879, 0.606531, 0.818731, 1.0
    };
    static const double g[] = { 2.466802, 2.426374, 1.654790, 0.789634,
                                0.511523, 0.247381, -0.466736 };
    double returns[7];
    prefixes_are(ref, 6, hyp, 7, r);
    prefixes_are(ref, 6, ref, 6, copy);
    cr_assert_eq(cla_prefix_bleu(ref, 6, hyp, 7, -1, returns), CLA_OK);
    cla_prefix_returns(returns, 7, 6.0, returns);
    for (int t = 0; t < 7; t++) {
        cr_assert_float_eq(returns[t], g[t], 6e-7);
    }
}

/* One wrong token, as long as the reference; unknown words count, but never match. */
Test(bleu, of_odd_prefixes)
{
    static const int32_t ref[] = { 1, 2 }, wrong[] = { 3 }, same[] = { 1, 2 };
    double r[2], known[2];
    cr_assert_eq(cla_prefix_bleu(ref, 1, wrong, 1, -1, r), CLA_OK);
    cr_assert_float_eq(r[0], pow(0.5, 0.25), 1e-12);
    cr_assert_eq(cla_prefix_bleu(ref, 2, same, 2, 2, r), CLA_OK);
    cr_assert_eq(cla_prefix_bleu(ref, 2, same, 2, -1, known), CLA_OK);
    cr_assert_eq(known[1], 1.0);
    cr_assert_eq(r[0], known[0]);
    cr_assert_float_eq(r[1], pow(2.0 / 3.0 * 0.5, 0.25), 1e-12);
    cr_assert_eq(cla_prefix_bleu(ref, 0, same, 1, -1, r), CLA_OK); // no reference
    cr_assert_float_eq(r[0], pow(0.5, 0.25), 1e-12);
    cr_assert_eq(cla_prefix_bleu(ref, 2, same, 0, -1, r), CLA_OK);
    cla_prefix_returns(r, 0, 1.0, r);
}
