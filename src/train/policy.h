/* policy.h - what a translation earns, token by token, and what training a policy says
 * of itself in the log. */
#pragma once

#include "base/config.h"
#include "train/task.h"

/* Whose pieces are rewarded. */
typedef enum policy_pred {
    POLICY_TEACHER_ARGMAX, // the likeliest after the reference's own
    POLICY_TEACHER_SAMPLE, // drawn there
    POLICY_FREE_GREEDY,    // the likeliest after the model's own
    POLICY_FREE_SAMPLE,    // drawn there
} policy_pred;

typedef struct policy_config {
    int pred; // policy_pred
    double weight, entropy;
    int baseline; // cla_baseline
} policy_config;

/* Reads pred, w_rl, entropy and baseline where on; else they are known.
 * Errors: CLA_E_INPUT. */
cla_status policy_configure(policy_config *config, cla_config *settings, bool on);

/* Sentences as pieces: row i of sentence s is id[at[s] + i], at most up to the end. */
typedef struct policy_text {
    const int32_t *id, *at; // [at[sentences]], [sentences+1]
} policy_text;

/* What each piece of said earns: the growth of BLEU of what was said so far, every
 * count of n-grams starting at 1, times the reference's length; neither side has its
 * end.
 *
 *   rewards[t] = (R_t - R_{t-1}) references, 0 from the first end on
 *
 * rewards  out  [said.at[sentences]]
 * whole    out  the mean of R over whole sentences, 0 to 1
 *
 * Errors: CLA_E_NOMEM. Source: the specification of hard attention, 4.2 and 4.4. */
cla_status policy_rewards(const policy_text *reference, const policy_text *said,
                          int64_t sentences, float *rewards, double *whole);

/* Sums over the steps since the log's last line. */
typedef struct policy_sums {
    double reward, steps;
    double open, saturated, entropy, gates; // entropy in nats
    double reward_s, wait_s; // host: rewards; then until the device had come as far
} policy_sums;

/* Adds a step's gates: their scores and whether they are open, [count] each. */
void policy_add_gates(policy_sums *sums, const float *scores, const float *gates,
                      int64_t count);

/* The means, as they stand in the log; starts afresh. */
void policy_report(policy_sums *sums, cla_metrics *metrics);
