/* door_translations.c - n-best lists, scores, limits and workers of a translator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "support/support.h"
#include "tasks/door.h"
#include "tasks/translation/translation.h"
#include "text/sentences.h"

enum { BEST = 3 };

/* What was translated, kept beyond the next call. */
typedef struct kept {
    char *text;
    double logp, score;
} kept;

static void keep(kept *to, const cla_translation *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (kept){ .logp = from[i].logp, .score = from[i].score };
        TEST_OK(cla_strdup(&to[i].text, from[i].text));
    }
}

static void check_kept(kept *want, const cla_translation *got, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cr_expect_str_eq(got[i].text, want[i].text);
        cr_expect(got[i].logp == want[i].logp ||
                  fabs(got[i].logp - want[i].logp) < 1e-4);
        free(want[i].text);
    }
}

Test(door, the_best_of_a_beam)
{
    static const cla_translate_options best = { .beam = 4,
                                                .length_penalty = 0.6,
                                                .best = BEST },
                                       one = { .beam = 4, .length_penalty = 0.6 };
    fixture f = open_model("translator", NULL);
    cla_translation said[LINES * BEST], alone[LINES];
    kept want[LINES * BEST];
    TEST_OK(cla_model_translate(f.model, said, lines, LINES, &best));
    for (int i = 0; i < LINES * BEST; i++) {
        cr_expect(i % BEST == 0 || said[i].score <= said[i - 1].score);
        cr_expect(said[i].logp > -INFINITY || !*said[i].text);
    }
    for (int i = 0; i < LINES; i++) {
        keep(&want[i], &said[i * BEST], 1);
    }
    TEST_OK(cla_model_translate(f.model, alone, lines, LINES, &one));
    check_kept(want, alone, LINES);
    /* Workers translate as the model alone does. */
    TEST_OK(cla_model_translate(f.model, said, lines, LINES, &best));
    keep(want, said, LINES * BEST);
    if (!cla_model_hire(f.model, cla_runtime_device(f.rt)->compute_units > 1 ? 2 : 1)) {
        TEST_OK(cla_model_translate(f.model, said, lines, LINES, &best));
    }
    check_kept(want, said, LINES * BEST);
    close_model(&f);
}

Test(door, a_translation_has_its_score)
{
    static const cla_translate_options options = { .beam = 2, .length_penalty = 1 };
    fixture f = open_model("translator", NULL);
    cla_translation said[LINES], scored[LINES];
    kept want[LINES];
    const char *targets[LINES];
    TEST_OK(cla_model_translate(f.model, said, lines, LINES, &options));
    const bool cut = cla_model_cut(f.model) > 0;
    keep(want, said, LINES);
    for (int i = 0; i < LINES; i++) {
        targets[i] = want[i].text;
    }
    TEST_OK(cla_model_score(f.model, scored, lines, targets, LINES, &options));
    for (int i = 0; i < LINES; i++) {
        cr_expect_eq(scored[i].text, targets[i]);
        cr_expect(scored[i].logp <= 0 && (cut || fabs(scored[i].logp - want[i].logp) <
                                                     1e-4 * (1 - want[i].logp)));
    }
    targets[1] = "a"; // of a line without pieces
    TEST_OK(cla_model_score(f.model, scored, lines, targets, 2, NULL));
    cr_expect_eq(scored[1].logp, -INFINITY);
    check_kept(want, scored, 0);
    for (int i = 0; i < LINES; i++) {
        free(want[i].text);
    }
    close_model(&f);
}

Test(door, limits_of_a_translation)
{
    static const cla_translate_options one = { .most = 1 }, two = { .extra = 1 };
    fixture f = open_model("translator", NULL);
    cla_translate_options usual;
    cla_translation said;
    size_t pieces = 0, all = 0;
    const char *source = NULL, *target = NULL;
    bool any = true;
    TEST_OK(cla_model_translate_usual(f.model, &usual));
    cr_expect(usual.beam == 1 && usual.extra == 50 && !usual.most && !usual.best);
    TEST_OK(cla_model_translate(f.model, &said, lines, 1, NULL));
    TEST_OK(cla_model_pieces(f.model, &all, said.text, true));
    cr_assert_gt(all, 1);
    TEST_OK(cla_model_translate(f.model, &said, lines, 1, &one));
    cr_expect_eq(cla_model_cut(f.model), 1);
    TEST_OK(cla_model_pieces(f.model, &pieces, said.text, true));
    cr_expect_leq(pieces, 1);
    TEST_OK(cla_model_pieces(f.model, &all, lines[0], false));
    TEST_OK(cla_model_translate(f.model, &said, lines, 1, &two));
    TEST_OK(cla_model_pieces(f.model, &pieces, said.text, true));
    cr_expect_leq(pieces, all + 2);
    TEST_OK(cla_model_pieces(f.model, &pieces, " ", false));
    cr_expect_eq(pieces, 0);
    TEST_OK(cla_model_languages(f.model, &source, &target, &any));
    cr_expect(source && target && !any);
    close_model(&f);
}

Test(door, translations_that_are_refused)
{
    static const cla_translate_options wrong[] = {
        { .beam = 2, .best = 3 },  { .best = -1 },
        { .extra = -1 },           { .most = CLA_MOST_PIECES + 1 },
        { .extra = 1, .most = 1 },
    };
    static const char *const named[] = { "best is 3, must be 1 to 2", "best is -1",
                                         "extra is -1", "most is 65537",
                                         "extra and most" };
    const char *targets[] = { "a\nb", NULL }, *text = NULL;
    bool any = false;
    size_t pieces = 0;
    cla_translate_options usual;
    cla_translation said[3];
    fixture f = open_model("translator", NULL);
    for (int i = 0; i < 5; i++) {
        TEST_FAILS(cla_model_translate(f.model, said, lines, 1, &wrong[i]), CLA_E_USAGE,
                   named[i]);
    }
    TEST_FAILS(cla_model_score(f.model, said, lines, targets, 1, NULL), CLA_E_INPUT,
               "score: targets[0] holds a line end");
    TEST_FAILS(cla_model_score(f.model, said, lines, targets, 2, NULL), CLA_E_USAGE,
               "score: targets[1] is NULL");
    close_model(&f);
    f = open_model("tagger", NULL);
    TEST_FAILS(cla_model_score(f.model, said, lines, lines, 1, NULL), CLA_E_USAGE,
               "the model is a tagger");
    TEST_FAILS(cla_model_pieces(f.model, &pieces, "a", false), CLA_E_USAGE,
               "the model is a tagger");
    TEST_FAILS(cla_model_translate_usual(f.model, &usual), CLA_E_USAGE,
               "the model is a tagger");
    TEST_FAILS(cla_model_languages(f.model, &text, &text, &any), CLA_E_USAGE,
               "the model is a tagger");
    close_model(&f);
}

/* ---- paragraphs ------------------------------------------------------------------ */

/* Translates pieces of text as they are, and joins them with what stands between. */
static void join(const fixture *f, const char *const *part, const char *const *blank,
                 size_t n, cla_text *out, double *logp)
{
    *logp = 0;
    for (size_t i = 0; i < n; i++) {
        cla_translation said;
        TEST_OK(cla_model_translate(f->model, &said, &part[i], 1, NULL));
        TEST_OK(cla_text_add(out, "%s%s", blank[i], said.text));
        *logp += said.logp;
    }
    TEST_OK(cla_text_add(out, "%s", blank[n]));
}

Test(door, a_paragraph_is_translated_by_sentences)
{
    static const char *const part[] = { "Ab abc.", "De ed!", "Cb (bb)." };
    static const char *const blank[] = { "\t ", "  ", " \t", " " };
    static const cla_translate_options split = { .split = 1 };
    const char *line = "\t Ab abc.  De ed! \tCb (bb). ";
    cla_text want = { 0 };
    double logp;
    cla_translation said;
    fixture f = open_model("translator", NULL);
    if (cla_sentences_there()) {
        join(&f, part, blank, 3, &want, &logp);
        TEST_OK(cla_model_translate(f.model, &said, &line, 1, &split));
        cr_expect_str_eq(said.text, want.data);
        cr_expect(fabs(said.logp - logp) < 1e-4 * (1 - logp));
    }
    for (int i = 0; i < LINES; i++) { // one sentence is translated as it is
        char *text = NULL;
        TEST_OK(cla_model_translate(f.model, &said, &lines[i], 1, NULL));
        TEST_OK(cla_strdup(&text, said.text));
        TEST_OK(cla_model_translate(f.model, &said, &lines[i], 1, &split));
        cr_expect_str_eq(said.text, text);
        free(text);
    }
    close_model(&f);
    cla_text_free(&want);
}

/* A sentence with more pieces than the model was trained on is translated by clauses;
 * each of the n best translations of the line joins those of its parts. */
Test(door, a_long_sentence_is_translated_by_clauses)
{
    enum { WORDS = 400, TOP = 2 };
    static const cla_translate_options split = { .split = 1, .beam = 2, .best = TOP },
                                       whole = { .beam = 2, .best = TOP };
    fixture f = open_model("translator", NULL);
    cla_text halves[2] = { { 0 } }, all = { 0 };
    cla_translation half[2 * TOP], said[TOP];
    for (int i = 0; i < WORDS; i++) {
        TEST_OK(cla_text_add(&halves[i / (WORDS / 2)], "%s%c",
                             i % (WORDS / 2) ? " " : "", 'a' + i % 5));
    }
    TEST_OK(cla_text_add(&all, "%s, %s", halves[0].data, halves[1].data));
    TEST_OK(cla_text_add(&halves[0], ","));
    const char *const part[] = { halves[0].data, halves[1].data };
    const char *line = all.data;
    TEST_OK(cla_model_translate(f.model, half, part, 2, &whole));
    kept want[2 * TOP];
    keep(want, half, (size_t)2 * TOP);
    TEST_OK(cla_model_translate(f.model, said, &line, 1, &split));
    for (int i = 0; i < TOP; i++) {
        const kept *left = &want[i], *right = &want[TOP + i];
        cla_text joined = { 0 };
        if (isinf(left->logp) && isinf(right->logp)) { // the beam found none
            cr_expect(!*said[i].text && isinf(said[i].logp));
            continue;
        }
        left = isinf(left->logp) ? &want[0] : left;
        right = isinf(right->logp) ? &want[TOP] : right;
        TEST_OK(cla_text_add(&joined, "%s %s", left->text, right->text));
        cr_expect_str_eq(said[i].text, joined.data);
        cr_expect(fabs(said[i].logp - left->logp - right->logp) < 1e-3);
        cla_text_free(&joined);
    }
    for (int i = 0; i < 2 * TOP; i++) {
        free(want[i].text);
    }
    cla_text_free(&halves[0]);
    cla_text_free(&halves[1]);
    cla_text_free(&all);
    close_model(&f);
}

Test(door, a_model_without_a_choice_refuses_a_target)
{
    static const cla_translate_options french = { .target = "fra" };
    const char *const *targets = NULL;
    size_t count = 1;
    cla_translation said;
    fixture f = open_model("translator", NULL);
    TEST_OK(cla_model_targets(f.model, &targets, &count));
    cr_expect_eq(count, 0);
    TEST_FAILS(cla_model_translate(f.model, &said, lines, 1, &french), CLA_E_INPUT,
               "target is fra, but the model has no choice of languages");
    close_model(&f);
    f = open_model("tagger", NULL);
    TEST_FAILS(cla_model_targets(f.model, &targets, &count), CLA_E_USAGE,
               "the model is a tagger");
    close_model(&f);
}

/* A token of a vocabulary is a language only in its model's own form: other tokens must
 * stay text. */
Test(door, pieces_that_name_languages)
{
    static const struct {
        int languages;
        const char *piece, *name; // NULL: none
    } cases[] = {
        { TRANSLATION_PREFIX, ">>fra<<", "fra" },
        { TRANSLATION_PREFIX, "__fra__", NULL },
        { TRANSLATION_M2M100, "__zh__", "zh" },
        { TRANSLATION_M2M100, "____", NULL },
        { TRANSLATION_M2M100, "zh__", NULL },
        { TRANSLATION_NLLB, "zho_Hans", "zho_Hans" },
        { TRANSLATION_NLLB, "run_time", NULL },
        { TRANSLATION_NLLB, "abc_Defgh", NULL },
        { TRANSLATION_NLLB, "", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = 1;
        const char *name =
            cla_translation_language_in(cases[i].languages, cases[i].piece, &size);
        const char *want = cases[i].name ? cases[i].name : "";
        cr_expect(!name == !cases[i].name && size == strlen(want) &&
                      (!name || memcmp(name, want, size) == 0),
                  "%s", cases[i].piece);
    }
}
