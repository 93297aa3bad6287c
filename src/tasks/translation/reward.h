/* reward.h - what a translation earns, token by token, and what training a policy says
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
    bool sequence; // all of the model is the policy, and says its pieces; else gates
    int pred;      // policy_pred, of gates
    double weight; // of rewards
    double cross_entropy; // its weight beside them, where sequence
    double entropy;       // weight of the gates'
    int baseline;         // cla_baseline
} policy_config;

/* Reads "loss", and pred, w_rl, w_mle, entropy and baseline as far as they matter
 * there; the others are known. hard: whether there are gates. Errors: CLA_E_INPUT (also
 * a sequence's loss of a model with gates). */
cla_status policy_configure(policy_config *config, cla_config *settings, bool hard);

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
 * Errors: CLA_E_NOMEM. Source: Indurthi, Chung and Kim 2019. */
cla_status policy_rewards(const policy_text *reference, const policy_text *said,
                          int64_t sentences, float *rewards, double *whole);

/* What is still to be earned at each piece, in the place of what it earns; with
 * CLA_BASELINE_MEAN less the mean over the sentences that have a piece there.
 *
 *   G[t] = rewards[t] + G[t+1], 0 from the first end on
 *
 * rewards  in, out  [said.at[sentences]]
 *
 * Errors: CLA_E_NOMEM. */
cla_status policy_returns(const policy_text *said, int64_t sentences, int baseline,
                          float *rewards);

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
