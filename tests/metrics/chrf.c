/* chrf.c - chrF against known answers of sacreBLEU (tests/data/oracles/chrf). */
#include "metrics/chrf.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

static cla_line line_of(const json_t *text)
{
    const char *value = json_string_value(text);
    return (cla_line){ value, strlen(value) };
}

/* Scores of a few hundred additions and divisions in double: 1e-7 is far above
 * their rounding. */
static void equal(const json_t *c, const char *what, double got, const json_t *want)
{
    cr_assert_float_eq(got, json_number_value(want), 1e-7, "%s: %s is %.9f, not %.9f",
                       json_string_value(json_object_get(c, "name")), what, got,
                       json_number_value(want));
}

static void score_case(const json_t *c)
{
    cla_chrf chrf = { .lowercase = json_is_true(json_object_get(c, "lowercase")) };
    const json_t *hyps = json_object_get(c, "hypotheses");
    const json_t *refs = json_object_get(c, "references");
    cla_chrf_counts sum = { 0 };
    for (size_t i = 0; i < json_array_size(hyps); i++) {
        const cla_line hyp = line_of(json_array_get(hyps, i));
        const size_t n = json_array_size(refs);
        cla_line lines[4];
        cla_chrf_counts one;
        for (size_t k = 0; k < n; k++) { // a list for each reference
            lines[k] = line_of(json_array_get(json_array_get(refs, k), i));
        }
        cr_assert_eq(cla_chrf_count(&chrf, &hyp, lines, n, &one), CLA_OK);
        cla_chrf_add(&sum, &one);
        equal(c, "a sentence", cla_chrf_of(&one),
              json_array_get(json_object_get(c, "sentences"), i));
    }
    equal(c, "the corpus", cla_chrf_of(&sum), json_object_get(c, "corpus"));
    cla_chrf_free(&chrf);
}

Test(chrf, equals_sacrebleu)
{
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/oracles/chrf/cases.json",
             getenv("CLATTN_TEST_DATA"));
    json_t *cases = json_load_file(path, 0, &error), *c = NULL;
    size_t i = 0;
    cr_assert_not_null(cases, "%s: %s", path, error.text);
    cr_assert_eq(json_array_size(cases), 54);
    json_array_foreach(cases, i, c)
    {
        score_case(c);
    }
    json_decref(cases);
}

/* The scores of sacreBLEU 2.6.0, to the digits written here. */
Test(chrf, lower_case_is_python_s)
{
    static const struct {
        const char *hyp, *ref;
        double score;
    } cases[] = {
        { "ο δρόμος μεγάλος", "Ο ΔΡΌΜΟΣ ΜΕΓΆΛΟΣ", 100.0 },
        { "ΣΑΣ. Α", "σας. α", 100.0 }, // the blank ends the word
        { "istanbul is big now", "İstanbul is big now", 88.221651 },
    };
    cla_chrf chrf = { .lowercase = true };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cla_line hyp = { cases[i].hyp, strlen(cases[i].hyp) };
        const cla_line ref = { cases[i].ref, strlen(cases[i].ref) };
        cla_chrf_counts counts;
        cr_assert_eq(cla_chrf_count(&chrf, &hyp, &ref, 1, &counts), CLA_OK);
        cr_expect_float_eq(cla_chrf_of(&counts), cases[i].score, 1e-6);
    }
    cla_chrf_free(&chrf);
}

Test(chrf, signature)
{
    cla_text text = { 0 };
    cr_assert_eq(cla_chrf_signature(true, 2, &text), CLA_OK);
    const char *want = "nrefs:2|case:lc|eff:yes|nc:6|nw:0|space:no|version:clattn-";
    cr_assert_eq(strncmp(text.data, want, strlen(want)), 0);
    cla_text_free(&text);
}
