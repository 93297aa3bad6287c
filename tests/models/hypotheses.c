/* hypotheses.c - when a sentence's search ends, and which hypothesis wins, as in the
 * library transformers: worked out by hand from its BeamSearchScorer. */
#include "models/hypotheses.h"

#include <math.h>

#include "support/support.h"

enum { END = 1, A = 5, B = 6, C = 7 };

static const search_options plain = {
    .beam = 2, .alpha = 1, .end = END, .kind = SEARCH_TRANSFORMERS, .most = 4
};

static bool step(hypotheses *x, const search_options *o, int64_t t,
                 const candidate *found, int count)
{
    candidate copy[4] = { { 0 } };
    bool done = false;
    for (int i = 0; i < count; i++) {
        copy[i] = found[i];
    }
    TEST_OK(cla_hypotheses_advance(x, o, copy, count, t, &done));
    return done;
}

/* An end that is not among the best two candidates does not count. */
Test(hypotheses, an_end_counts_among_the_best_alone)
{
    hypotheses x = { 0 };
    search_options o = plain;
    const candidate late[] = {
        { -1, 0, A }, { -2, 0, B }, { -3, 0, END }, { -4, 0, C }
    };
    TEST_OK(cla_hypotheses_init(&x, &o, 9));
    cr_assert_eq(x.limit, 4);
    cr_assert_not(step(&x, &o, 1, late, 4));
    cr_assert_eq(x.ended_count, 0);
    cla_hypotheses_fini(&x);
    o.kind = SEARCH_TENSOR2TENSOR;
    x = (hypotheses){ 0 };
    TEST_OK(cla_hypotheses_init(&x, &o, 9));
    cr_assert_not(step(&x, &o, 1, late, 4));
    cr_assert_eq(x.ended_count, 1);
    cla_hypotheses_fini(&x);
}

/* Returns whether the search stops after ends of log p -1 and -2.2 with one and two
 * pieces, while a hypothesis of log p alive goes on. */
static bool two_ended(int kind, search_early early, double alive)
{
    hypotheses x = { 0 };
    search_options o = plain;
    o.kind = kind;
    o.early = (int)early;
    const candidate first[] = {
        { -0.5, 0, A }, { -1, 0, END }, { -2, 0, B }, { -9, 0, C }
    };
    const candidate second[] = {
        { alive, 0, A }, { -2.2, 0, END }, { -3, 0, B }, { -9, 0, C }
    };
    TEST_OK(cla_hypotheses_init(&x, &o, 9));
    cr_assert_not(step(&x, &o, 1, first, 4));
    const bool done = step(&x, &o, 2, second, 4);
    cr_assert_eq(x.ended_count, 2);
    cr_assert_float_eq(x.ended[0].score, -1, 1e-12);
    cr_assert_float_eq(x.ended[1].score, -1.1, 1e-12);
    cla_hypotheses_fini(&x);
    return done;
}

Test(hypotheses, stops_as_early_stopping_says)
{
    cr_assert(two_ended(SEARCH_TRANSFORMERS, SEARCH_FIRST, -2));
    cr_assert_not(
        two_ended(SEARCH_TRANSFORMERS, SEARCH_ESTIMATE, -2)); // -2 / 2 beats -1.1
    cr_assert(
        two_ended(SEARCH_TRANSFORMERS, SEARCH_ESTIMATE, -2.21)); // -1.105 does not
    cr_assert_not(
        two_ended(SEARCH_TRANSFORMERS, SEARCH_NEVER, -2.21)); // but -2.21 / 4 could
    cr_assert(two_ended(SEARCH_TRANSFORMERS, SEARCH_NEVER, -4.41));
}

/* Transformers 5 holds the hypothesis that lives on against those that ended; its
 * earlier releases the best candidate, here one that has just ended with -2.2. */
Test(hypotheses, the_rule_of_transformers_5)
{
    cr_assert_not(two_ended(SEARCH_TRANSFORMERS, SEARCH_ESTIMATE, -2.19));
    cr_assert_not(two_ended(SEARCH_TRANSFORMERS_5, SEARCH_ESTIMATE, -2.19));
    for (int kind = SEARCH_TRANSFORMERS; kind <= SEARCH_TRANSFORMERS_5; kind++) {
        hypotheses x = { 0 };
        search_options o = plain;
        o.kind = kind;
        const candidate first[] = {
            { -0.5, 0, A }, { -1.2, 0, END }, { -2, 0, B }, { -9, 0, C }
        };
        const candidate second[] = {
            { -2.2, 0, END }, { -2.5, 0, A }, { -3, 0, B }, { -9, 0, C }
        };
        TEST_OK(cla_hypotheses_init(&x, &o, 9));
        cr_assert_not(step(&x, &o, 1, first, 4));
        // ended: -1.1 and -1.2; the best candidate is worth -1.1, the one alive -1.25
        cr_assert_eq(step(&x, &o, 2, second, 4), kind == SEARCH_TRANSFORMERS_5);
        cla_hypotheses_fini(&x);
    }
}

/* Checks the last piece: the end costs nothing (forced), or living hypotheses compete
 * with those that ended. */
static void last(int kind, bool forced, double want, int64_t count)
{
    hypotheses x = { 0 };
    search_options o = plain;
    o.kind = kind;
    o.most = 2;
    o.forced = forced;
    const candidate first[] = {
        { -0.5, 0, A }, { -1, 0, END }, { -2, 0, B }, { -9, 0, C }
    };
    const candidate second[] = {
        { -1, 0, C }, { -1.4, 0, A }, { -2, 0, END }, { -9, 1, C }
    };
    TEST_OK(cla_hypotheses_init(&x, &o, 9));
    cr_assert_not(step(&x, &o, 1, first, 4));
    cr_assert(step(&x, &o, 2, second, 4));
    cr_assert_eq(x.ended_count, 2);
    cr_assert_float_eq(x.ended[0].score, want, 1e-12);
    cr_assert_eq(x.ended[0].count, count);
    cr_assert_eq(x.ended[0].id[0], A);
    // of the forced ends, that of A was a candidate anyway
    cr_assert_eq(x.ended[0].cut, !forced);
    cla_hypotheses_fini(&x);
}

Test(hypotheses, the_last_piece)
{
    for (int kind = SEARCH_TRANSFORMERS; kind <= SEARCH_TRANSFORMERS_5; kind++) {
        last(kind, true, -0.25, 1); // A, end
        last(kind, false, -0.5, 2); // A C
    }
}

/* At the last piece, hypotheses that live compete in transformers 5 with those that end
 * there; in its earlier releases only if the search is not done by these. */
Test(hypotheses, who_competes_at_the_last_piece)
{
    const candidate first[] = {
        { -0.5, 0, A }, { -3, 0, END }, { -4, 0, B }, { -9, 0, C }
    };
    const candidate second[] = {
        { -1, 0, A }, { -7, 0, END }, { -8, 0, B }, { -9, 0, C }
    };
    for (int kind = SEARCH_TRANSFORMERS; kind <= SEARCH_TRANSFORMERS_5; kind++) {
        hypotheses x = { 0 };
        search_options o = plain;
        o.kind = kind;
        o.early = SEARCH_FIRST;
        o.most = 2;
        TEST_OK(cla_hypotheses_init(&x, &o, 9));
        cr_assert_not(step(&x, &o, 1, first, 4));
        cr_assert(step(&x, &o, 2, second, 4));
        cr_assert_eq(x.ended_count, 2);
        const bool five = kind == SEARCH_TRANSFORMERS_5;
        cr_assert_float_eq(x.ended[0].score, five ? -0.5 : -3, 1e-12);
        cr_assert_eq(x.ended[0].cut, five);
        cr_assert_not(x.ended[1].cut);
        cla_hypotheses_fini(&x);
    }
}

/* A forced end that was no candidate cuts. */
Test(hypotheses, tells_what_was_cut)
{
    const candidate found[] = {
        { -1, 0, A }, { -1.2, 0, B }, { -1.3, 0, C }, { -9, 0, END }
    };
    for (int ends = 0; ends < 2; ends++) {
        hypotheses x = { 0 };
        search_options o = plain;
        o.forced = true;
        o.most = 1;
        TEST_OK(cla_hypotheses_init(&x, &o, 9));
        cr_assert(step(&x, &o, 1, found, 3 + ends));
        cr_assert_eq(x.ended_count, 1);
        cr_assert_eq(x.ended[0].cut, !ends);
        cla_hypotheses_fini(&x);
    }
}

/* Returns whether a search for `best` results stops when one hypothesis ended with
 * log p -1 and one lives with -1.2. */
static bool one_ended(int kind, double alpha, int early, int best)
{
    hypotheses x = { 0 };
    search_options o = plain;
    o.kind = kind;
    o.alpha = alpha;
    o.early = early;
    o.best = best;
    const candidate found[] = {
        { -1, 0, END }, { -1.2, 0, A }, { -2, 0, B }, { -9, 0, C }
    };
    TEST_OK(cla_hypotheses_init(&x, &o, 9));
    const bool done = step(&x, &o, 1, found, 4);
    cr_assert_eq(x.ended_count, 1);
    cla_hypotheses_fini(&x);
    return done;
}

Test(hypotheses, stops_when_the_results_are_sure)
{
    cr_assert(one_ended(SEARCH_TENSOR2TENSOR, 0, 0, 0));
    cr_assert(one_ended(SEARCH_TENSOR2TENSOR, 0, 0, 1));
    cr_assert_not(one_ended(SEARCH_TENSOR2TENSOR, 0, 0, 2), "the second may change");
    cr_assert_not(one_ended(SEARCH_TENSOR2TENSOR, 1, 0, 1),
                  "-1.2 of four is worth more");
    cr_assert(one_ended(SEARCH_TRANSFORMERS, 0, SEARCH_ESTIMATE, 1));
    cr_assert_not(one_ended(SEARCH_TRANSFORMERS, 0, SEARCH_FIRST, 1),
                  "it waits for two");
    cr_assert_not(one_ended(SEARCH_TRANSFORMERS, 1, SEARCH_ESTIMATE, 1),
                  "as Hugging Face");
    cr_assert_not(one_ended(SEARCH_TRANSFORMERS, 1, SEARCH_NEVER, 1), "-1.2 of four");
}
