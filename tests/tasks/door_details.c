/* door_details.c - pieces, their probabilities, and links of words of translations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "support/support.h"
#include "tasks/door.h"
#include "text/sentences.h"

/* Details, kept beyond the next call. */
typedef struct kept {
    size_t pieces, links;
    double *logp;
    cla_word_link *link;
    char *text;
} kept;

static kept keep(cla_model *model, const cla_translation *said, size_t i)
{
    kept k = { 0 };
    cla_translation_detail d;
    TEST_OK(cla_model_detail(model, &d, i));
    k.pieces = d.pieces;
    k.links = d.links;
    TEST_OK(cla_alloc(&k.logp, d.pieces + 1, sizeof *k.logp));
    TEST_OK(cla_alloc(&k.link, d.links + 1, sizeof *k.link));
    TEST_OK(cla_strdup(&k.text, said[i].text));
    for (size_t n = 0; n < d.pieces; n++) {
        k.logp[n] = d.logp[n];
    }
    for (size_t n = 0; n < d.links; n++) {
        k.link[n] = d.link[n];
    }
    return k;
}

static void forget(kept *k)
{
    free(k->logp);
    free(k->link);
    free(k->text);
}

/* Checks that the probabilities of the pieces are those of the translation, and that
 * each of its words has one link to a word of the line. */
static void check(const kept *k, double logp, const char *line)
{
    double sum = 0;
    for (size_t n = 0; n < k->pieces; n++) {
        cr_expect(k->logp[n] <= 0);
        sum += k->logp[n];
    }
    cr_expect(fabs(sum - logp) < 1e-3 * (1 - logp), "%s: %g, not %g", line, sum, logp);
    cr_expect_eq(k->links, *line ? cla_count_words(k->text, " ") : 0);
    for (size_t n = 0; n < k->links; n++) {
        cr_expect_eq(k->link[n].target, (int32_t)n);
        cr_expect(k->link[n].source >= 0 &&
                  (size_t)k->link[n].source < cla_count_words(line, " "));
    }
}

Test(details, add_up_to_the_translation)
{
    enum { BEST = 3 };
    static const cla_translate_options options = { .beam = 4,
                                                   .best = BEST,
                                                   .detail = 1 };
    fixture f = open_model("translator", NULL);
    cla_translation said[LINES * BEST];
    cla_translation_detail d;
    TEST_OK(cla_model_translate(f.model, said, lines, LINES, &options));
    for (size_t i = 0; i < LINES * BEST; i++) {
        kept k = keep(f.model, said, i);
        if (isinf(said[i].logp)) {
            cr_expect(!k.pieces && !k.links);
        } else {
            check(&k, said[i].logp, lines[i / BEST]);
        }
        forget(&k);
    }
    TEST_FAILS(cla_model_detail(f.model, &d, LINES * BEST), CLA_E_USAGE,
               "i is 18, there are 18 translations");
    TEST_OK(cla_model_translate(f.model, said, lines, LINES, NULL));
    TEST_OK(cla_model_detail(f.model, &d, 0));
    cr_expect(!d.pieces && !d.links && !d.piece);
    close_model(&f);
}

Test(details, of_given_translations_are_those_of_the_found_ones)
{
    static const cla_translate_options options = { .detail = 1, .batch = 2 };
    fixture f = open_model("translator", NULL);
    cla_translation said[LINES], scored[LINES];
    kept want[LINES];
    const char *texts[LINES];
    TEST_OK(cla_model_translate(f.model, said, lines, LINES, &options));
    for (size_t i = 0; i < LINES; i++) {
        want[i] = keep(f.model, said, i);
        texts[i] = want[i].text;
    }
    const bool cut = cla_model_cut(f.model) > 0;
    TEST_OK(cla_model_score(f.model, scored, lines, texts, LINES, &options));
    for (size_t i = 0; i < LINES; i++) {
        kept k = keep(f.model, scored, i);
        check(&k, scored[i].logp, lines[i]);
        cr_expect_eq(k.links, want[i].links);
        for (size_t n = 0; n < k.links && !cut; n++) {
            cr_expect_eq(k.link[n].source, want[i].link[n].source);
        }
        forget(&k);
        forget(&want[i]);
    }
    close_model(&f);
}

/* The words of a second sentence are counted on. */
Test(details, of_sentences_go_on_in_the_line)
{
    static const cla_translate_options whole = { .detail = 1 },
                                       split = { .detail = 1, .split = 1 };
    static const char *const halves[] = { "Ab abc bb.", "De ed!" };
    static const char *const line = "Ab abc bb. De ed!";
    fixture f = open_model("translator", NULL);
    cla_translation said[2];
    if (!cla_sentences_there()) {
        close_model(&f);
        return;
    }
    TEST_OK(cla_model_translate(f.model, said, halves, 2, &whole));
    kept first = keep(f.model, said, 0), second = keep(f.model, said, 1);
    TEST_OK(cla_model_translate(f.model, said, &line, 1, &split));
    kept all = keep(f.model, said, 0);
    cr_assert_eq(all.pieces, first.pieces + second.pieces);
    cr_assert_eq(all.links, first.links + second.links);
    check(&all, said[0].logp, line);
    for (size_t n = 0; n < second.links; n++) {
        const cla_word_link *link = &all.link[first.links + n];
        cr_expect_eq(link->source, second.link[n].source + 3);
    }
    forget(&first);
    forget(&second);
    forget(&all);
    close_model(&f);
}
