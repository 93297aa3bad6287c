/* sample.c - drawing pieces: limits, ties, and frequencies. */
#include "models/sample.h"

#include <math.h>

#include "support/support.h"

enum { V = 5, DRAWS = 20000 };

static const sample_options plain = { .temperature = 1, .top_p = 1, .seed = 7 };

/* Counts how often each piece is drawn in as many turns. */
static void count(const sample_options *o, const float logit[V], int seen[V])
{
    sample_piece scrap[V];
    for (int v = 0; v < V; v++) {
        seen[v] = 0;
    }
    for (uint32_t i = 0; i < DRAWS; i++) {
        int32_t id = -1;
        TEST_OK(cla_sample(o, i, logit, V, scrap, &id));
        cr_assert(id >= 0 && id < V);
        seen[id]++;
    }
}

/* A frequency is within five deviations of the binomial distribution. */
static void check(const int seen[V], const double want[V])
{
    for (int v = 0; v < V; v++) {
        const double mean = DRAWS * want[v];
        cr_assert(fabs(seen[v] - mean) <= 5 * sqrt(mean * (1 - want[v])) + 1e-9,
                  "piece %d: %d of %d, not %g", v, seen[v], DRAWS, mean);
    }
}

/* ln of 0.4, 0.1, 0.3, 0, 0.2. */
static void fill(float logit[V])
{
    const double p[V] = { 0.4, 0.1, 0.3, 0, 0.2 };
    for (int v = 0; v < V; v++) {
        logit[v] = (float)(log(p[v]) + 3);
    }
}

Test(sample, frequencies_are_probabilities)
{
    float logit[V];
    int seen[V];
    sample_options o = plain;
    fill(logit);
    count(&o, logit, seen);
    check(seen, (const double[V]){ 0.4, 0.1, 0.3, 0, 0.2 });
    o.temperature = 0.5; // squares: 16, 1, 9, 4 of 30
    count(&o, logit, seen);
    check(seen, (const double[V]){ 16.0 / 30, 1.0 / 30, 9.0 / 30, 0, 4.0 / 30 });
}

Test(sample, limits_leave_the_likeliest)
{
    float logit[V];
    int seen[V];
    sample_options o = plain;
    fill(logit);
    o.top_k = 2;
    count(&o, logit, seen);
    check(seen, (const double[V]){ 4.0 / 7, 0, 3.0 / 7, 0, 0 });
    o.top_k = 0;
    o.top_p = 0.75; // 0.4 + 0.3 are less
    count(&o, logit, seen);
    check(seen, (const double[V]){ 4.0 / 9, 0, 3.0 / 9, 0, 2.0 / 9 });
    o.top_p = 1e-9; // one is always left
    count(&o, logit, seen);
    check(seen, (const double[V]){ 1, 0, 0, 0, 0 });
}

Test(sample, greedy_takes_the_first_of_equals)
{
    const float equal[V] = { 1, 2, 2, -1, 2 };
    sample_options o = plain;
    sample_piece scrap[V];
    int32_t id = -1;
    o.greedy = true;
    TEST_OK(cla_sample(&o, 3, equal, V, scrap, &id));
    cr_assert_eq(id, 1);
}

Test(sample, a_seed_repeats_its_draws)
{
    float logit[V];
    sample_piece scrap[V];
    sample_options other = plain;
    int differ = 0;
    other.seed = 8;
    fill(logit);
    for (uint32_t i = 0; i < 50; i++) {
        int32_t a = 0, b = 0, c = 0;
        TEST_OK(cla_sample(&plain, i, logit, V, scrap, &a));
        TEST_OK(cla_sample(&plain, i, logit, V, scrap, &b));
        TEST_OK(cla_sample(&other, i, logit, V, scrap, &c));
        cr_assert_eq(a, b);
        differ += a != c;
    }
    cr_assert(differ > 10);
}

Test(sample, refuses_scores_that_are_not_finite)
{
    const float bad[][V] = { { 0, NAN, 1, 2, 3 },
                             { 0, INFINITY, 1, 2, 3 },
                             { -INFINITY, -INFINITY, -INFINITY, -INFINITY,
                               -INFINITY } };
    sample_piece scrap[V];
    int32_t id = 0;
    for (int i = 0; i < 3; i++) {
        TEST_FAILS(cla_sample(&plain, 0, bad[i], V, scrap, &id), CLA_E_NUMERIC,
                   "not finite");
    }
}
