/* reward.c - rewards of translations, computed by hand. */
#include "tasks/translation/reward.h"

#include <math.h>
#include <string.h>

#include "metrics/bleu.h"
#include "support/support.h"
#include "text/subwords.h"

enum { END = CLA_EOS };

/* Rewards end at the first end token, add up to BLEU times the reference's length, and
 * are those of each sentence by itself. */
Test(policy, rewards_are_growth_of_bleu)
{
    static const int32_t reference[] = { 5, 6, 7, 8, END, 9, 5, END, 6, END };
    static const int32_t said[] = { 5, 6, END, 8, 9, 9, 5, END, END, 6 };
    static const int32_t at[] = { 0, 5, 8, 10 };
    const policy_text a = { reference, at }, b = { said, at };
    float rewards[10];
    double whole = 0, r[4];
    cr_assert_eq(cla_policy_rewards(&a, &b, 3, rewards, &whole), CLA_OK);
    cr_assert_eq(cla_prefix_bleu(reference, 4, said, 2, -1, r), CLA_OK);
    cr_assert_float_eq(rewards[0], 4 * r[0], 1e-6);
    cr_assert_float_eq(rewards[1], 4 * (r[1] - r[0]), 1e-6);
    for (int t = 2; t < 5; t++) {
        cr_assert_eq(rewards[t], 0);
    }
    cr_assert_float_eq(rewards[5] + rewards[6], 2, 1e-6); // BLEU 1 times two words
    cr_assert_eq(rewards[7], 0);
    // an empty translation: pieces after the end do not count
    cr_assert_eq(rewards[8], 0);
    cr_assert_eq(rewards[9], 0);
    cr_assert_float_eq(whole, (r[1] + 1 + 0) / 3, 1e-6);
}

/* A wrong piece still earns something, as the counts start at 1; unknown pieces match
 * nothing, not even themselves. */
Test(policy, rewards_of_what_is_wrong)
{
    static const int32_t reference[] = { 5, END, CLA_UNK, END };
    static const int32_t said[] = { 6, 5, 6, CLA_UNK, 5 };
    static const int32_t at[] = { 0, 2, 4 }, said_at[] = { 0, 3, 5 };
    const policy_text a = { reference, at }, b = { said, said_at };
    float rewards[5];
    double whole = 0;
    cr_assert_eq(cla_policy_rewards(&a, &b, 2, rewards, &whole), CLA_OK);
    cr_assert_float_eq(rewards[0], pow(0.5, 0.25), 1e-6);
    cr_assert_float_eq(rewards[3], pow(0.5, 0.25), 1e-6);
    // 6 5: one of two, no pair of one
    cr_assert_float_eq(rewards[0] + rewards[1], pow(2.0 / 3 / 2, 0.25), 1e-6);
}

/* Returns are sums of the rewards to come, G[t] - G[t+1] being earned at t. The mean
 * baseline subtracts the mean of the sentences that have an action there: to end is
 * one, and what lies behind the first end is none. */
Test(policy, returns_of_rewards)
{
    static const int32_t id[] = { 5, 6, END, 5, END, 9 }, at[] = { 0, 3, 6 };
    const policy_text said = { id, at };
    float sums[] = { 2, 1, 0, 0.5F, 0, 0 }, means[6];
    memcpy(means, sums, sizeof means);
    cr_assert_eq(cla_policy_returns(&said, 2, CLA_BASELINE_NONE, sums), CLA_OK);
    cr_assert_arr_eq(sums, ((float[]){ 3, 1, 0, 0.5F, 0, 0 }), sizeof sums);
    cr_assert_eq(cla_policy_returns(&said, 2, CLA_BASELINE_MEAN, means), CLA_OK);
    cr_assert_arr_eq(means, ((float[]){ 1.25F, 0.5F, 0, -1.25F, -0.5F, 0 }),
                     sizeof means);
    cla_policy_split(&said, 2, means); // their sums are the returns again
    cr_assert_arr_eq(means, ((float[]){ 0.75F, 0.5F, 0, -0.75F, -0.5F, 0 }),
                     sizeof means);
}

/* A report has the reward, the shares of open and of certain gates, and the entropy in
 * nats a gate. */
Test(policy, says_how_gates_stand)
{
    static const float scores[] = { 0, 9, -9, 1 }, gates[] = { 1, 1, 0, 0 };
    policy_sums sums = { .reward = 0.5, .steps = 2 };
    cla_metrics m;
    cla_policy_add_gates(&sums, scores, gates, 4);
    cla_policy_report(&sums, &m);
    double entropy = 0;
    for (int i = 0; i < 4; i++) {
        const double p = 1 / (1 + exp(-(double)scores[i]));
        entropy -= p * log(p) + (1 - p) * log(1 - p);
    }
    cr_assert_eq(m.row[0].value, 0.25);
    cr_assert_eq(m.row[1].value, 0.5);
    cr_assert_eq(m.row[2].value, 0.5);
    cr_assert_float_eq(m.row[3].value, entropy / 4, 1e-12);
    cla_policy_report(&sums, &m);
    cr_assert_eq(m.count, 0);
}
