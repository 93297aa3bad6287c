/* reward.h - rewards of a translation, token by token, for policy gradients, and the
 * figures of such training in the log. */
#pragma once

#include "base/config.h"
#include "train/task.h"

/* The output whose pieces are rewarded. */
typedef enum policy_pred {
    POLICY_TEACHER_ARGMAX, // likeliest piece after the reference's prefix
    POLICY_TEACHER_SAMPLE, // piece sampled after the reference's prefix
    POLICY_FREE_GREEDY,    // the model's own output, likeliest pieces
    POLICY_FREE_SAMPLE,    // the model's own output, sampled pieces
} policy_pred;

typedef struct policy_config {
    bool sequence; // the policy is the whole model, which samples pieces; else gates
    int pred;      // policy_pred, for gates
    double weight; // of the loss from rewards
    double cross_entropy; // its weight beside that loss, for sequence
    double entropy;       // weight of the gates' entropy
    int baseline;         // cla_baseline
} policy_config;

/* Reads "loss" and those of the keys pred, w_rl, w_mle, entropy and baseline that apply
 * to it; accepts the others without reading them. hard: whether the model has gates.
 * Errors: CLA_E_INPUT (also loss "sequence" for a model with gates). */
cla_status cla_policy_configure(policy_config *config, cla_config *settings, bool hard);

/* Sentences as pieces: sentence s is id[at[s] .. at[s+1]), up to its first CLA_EOS. */
typedef struct policy_text {
    const int32_t *id, *at; // [at[sentences]], [sentences+1]
} policy_text;

/* Computes the reward of each piece of said: the growth of R, the BLEU of the prefix up
 * to that piece with n-gram counts starting at 1, times the reference's length. The end
 * pieces of both sides do not count.
 *
 *   rewards[t] = (R_t - R_{t-1}) references, 0 from the first end on
 *
 * rewards  out  [said.at[sentences]]
 * whole    out  the mean R of the whole sentences, 0 to 1
 *
 * Errors: CLA_E_NOMEM. Source: Indurthi, Chung and Kim 2019. */
cla_status cla_policy_rewards(const policy_text *reference, const policy_text *said,
                              int64_t sentences, float *rewards, double *whole);

/* Replaces the reward of each piece by its return, the sum of rewards from there on.
 * With CLA_BASELINE_MEAN, subtracts the mean over the sentences that have an action at
 * that position.
 *
 *   G[t] = rewards[t] + G[t+1], 0 from the first end on
 *
 * The first end is an action with the return 0, and counts in the mean: a baseline that
 * some actions of a position lack would bias the gradient (Williams 1992). What lies
 * behind it belongs to no translation: it counts in no mean and has a 0.
 *
 * rewards  in, out  [said.at[sentences]]
 *
 * Errors: CLA_E_NOMEM. */
cla_status cla_policy_returns(const policy_text *said, int64_t sentences, int baseline,
                              float *rewards);

/* Replaces returns by the rewards whose sums they are, for cla_reinforce.
 *
 *   returns[t] -= returns[t+1] inside the sentence
 *
 * returns  in, out  [said.at[sentences]] */
void cla_policy_split(const policy_text *said, int64_t sentences, float *returns);

/* Sums over the steps since the last line of the log. */
typedef struct policy_sums {
    double reward, steps;
    double open, saturated, entropy, gates; // entropy in nats
    double reward_s, wait_s; // host: computing rewards, then waiting for the device
} policy_sums;

/* Adds the gates of a step: their scores and whether they are open, [count] each. */
void cla_policy_add_gates(policy_sums *sums, const float *scores, const float *gates,
                          int64_t count);

/* Writes the means for the log, none without steps, and resets the sums. */
void cla_policy_report(policy_sums *sums, cla_metrics *metrics);
