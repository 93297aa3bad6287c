/* span.c - answers from scores of starts and ends, against a sorted list of all. */
#include "models/span.h"

#include <math.h>

#include <criterion/criterion.h>

#include "base/rng.h"
#include "support/support.h"

static void is(const cla_answer *a, int passage, int first, int last, double score)
{
    cr_assert(a->passage == passage && a->first == first && a->last == last,
              "passage %d, %d to %d", a->passage, a->first, a->last);
    cr_assert_float_eq(a->score, score, 1e-12);
}

Test(span, the_best_one)
{
    const float start[] = { -1, -5, -2, -1 }, end[] = { -4, -0.5F, -3, -2 };
    const int32_t offsets[] = { 0, 4 };
    cla_answer out[3];
    cr_assert_eq(cla_answers_best(start, end, offsets, 1, 0, 1, out), 1);
    is(&out[0], 0, 0, 1, -1.5);
    cr_assert_eq(cla_answers_best(start, end, offsets, 1, 1, 3, out), 3);
    is(&out[0], 0, 3, 3, -3); // a limit of one word
    is(&out[1], 0, 0, 0, -5);
    is(&out[2], 0, 2, 2, -5); // equal, but later
}

/* An answer lies in one passage, and its words count from the passage's beginning. */
Test(span, passages)
{
    const float start[] = { -9, -1, -8, -7 }, end[] = { -9, -9, -1, -2 };
    const int32_t offsets[] = { 0, 2, 2, 4 };
    cla_answer out[9];
    cr_assert_eq(cla_answers_best(start, end, offsets, 3, 0, 9, out), 6);
    is(&out[0], 2, 0, 0, -9);
    is(&out[1], 2, 1, 1, -9);
    is(&out[2], 0, 1, 1, -10);
    is(&out[3], 2, 0, 1, -10);
    is(&out[4], 0, 0, 0, -18);
    is(&out[5], 0, 0, 1, -18);
    cr_assert_eq(cla_answers_best(start, end, offsets + 1, 2, 0, 1, out), 1);
    is(&out[0], 1, 0, 0, -9); // the second and third of a batch
}

Test(span, what_is_no_answer)
{
    const float start[] = { NAN, -INFINITY, -1 }, end[] = { -1, -1, NAN };
    const int32_t offsets[] = { 0, 3 };
    cla_answer out[2];
    cr_assert_eq(cla_answers_best(start, end, offsets, 1, 0, 2, out), 0);
    cr_assert_eq(cla_answers_best(start, end, offsets, 0, 0, 2, out), 0);
    cr_assert_eq(cla_answers_best(end, end, offsets, 1, 0, 0, out), 0);
    cr_assert_eq(cla_answers_best(end, end, offsets, 1, 0, 2, out), 2);
    is(&out[0], 0, 0, 0, -2);
}

/* NaN anywhere among the words of the passages; minus infinity is a score. */
Test(span, what_is_no_score)
{
    const float good[] = { -1, -INFINITY, -2, -3, -4 },
                bad[] = { NAN, -1, -2, -3, NAN };
    const int32_t offsets[] = { 0, 1, 3, 4, 5 };
    cr_assert(cla_answers_defined(good, good, offsets, 4));
    cr_assert(cla_answers_defined(bad, bad, offsets + 1, 2)); // of other questions
    cr_assert(cla_answers_defined(bad, bad, offsets, 0));
    cr_assert_not(cla_answers_defined(good, bad, offsets, 4));
    cr_assert_not(cla_answers_defined(bad, good, offsets, 1));
    cr_assert_not(cla_answers_defined(good, bad, offsets + 2, 2));
}

/* With coarse scores, many of them equal, the list is that of sorting all answers. */
Test(span, against_all)
{
    enum { WORDS = 11, BEST = 7 };
    const int32_t offsets[] = { 0, 4, 5, WORDS };
    for (uint32_t round = 0; round < 200; round++) {
        float start[WORDS], end[WORDS];
        cla_answer out[BEST], all[WORDS * WORDS];
        size_t count = 0;
        const int32_t limit = (int32_t)(round % 4);
        for (uint32_t i = 0; i < WORDS; i++) {
            const uint32_t counter[4] = { round, i, 0, 0 }, key[2] = { test_seed(), 0 };
            const cla_philox p = cla_philox4x32(counter, key);
            start[i] = -(float)(p.v[0] % 4);
            end[i] = p.v[2] % 9 ? -(float)(p.v[1] % 4) : -INFINITY;
        }
        for (int32_t p = 0; p < 3; p++) {
            for (int32_t i = offsets[p]; i < offsets[p + 1]; i++) {
                for (int32_t j = i; j < offsets[p + 1]; j++) {
                    if ((!limit || j < i + limit) && isfinite(end[j])) {
                        all[count++] =
                            (cla_answer){ p, i - offsets[p], j - offsets[p],
                                          (double)start[i] + (double)end[j] };
                    }
                }
            }
        }
        // insertion keeps equal ones in order
        for (size_t i = 1; i < count; i++) {
            for (size_t k = i; k > 0 && all[k - 1].score < all[k].score; k--) {
                const cla_answer swap = all[k];
                all[k] = all[k - 1];
                all[k - 1] = swap;
            }
        }
        const size_t found = cla_answers_best(start, end, offsets, 3, limit, BEST, out);
        cr_assert_eq(found, count < BEST ? count : BEST);
        for (size_t i = 0; i < found; i++) {
            is(&out[i], all[i].passage, all[i].first, all[i].last, all[i].score);
        }
    }
}
