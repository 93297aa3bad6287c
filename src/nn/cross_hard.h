/* cross_hard.h - attention to the memory through gates: of each source token a target
 * token takes all or nothing.
 *
 *   q = tanh((Y W_1 + b_1) W_2 + b_2) of the layer's input Y [Nq,D], k and v likewise
 *   of the memory Z [Nk,D], each with matrices of its own
 *   s = scale q k^T, a gate is open with probability 1 / (1 + exp(-s))
 *   o[i] = sum of the v[j] whose gates are open for i, or their mean
 *
 * The cross entropy trains v's projector alone; q's and k's are a policy that the
 * rewards of cla_reinforce train (src/tasks/translation/reward.h). */
#pragma once

#include "base/config.h"
#include "clattn/hard.h"
#include "nn/param.h"

typedef struct cross_hard_config {
    bool on;       // else attention is mha's
    int gate;      // cla_hard_gate, where the policy is not being trained
    int top;       // of CLA_GATE_TOP
    bool mean;     // of the selected rows; else their sum
    bool scaled;   // scores by 1/sqrt(D)
    bool stop;     // rewards change the policy alone, not what Y and Z come from
    bool baseline; // the layer predicts what is still to be earned
} cross_hard_config;

typedef struct cross_hard {
    cross_hard_config config;
    int model; // D
    cla_hard_projector query, key, value;
    cla_tensor *baseline, *baseline_bias; // [D,1], [1]; else NULL
} cross_hard;

/* What a pass asks of the layer, and what it leaves for the policy's gradient. */
typedef struct cross_hard_pass {
    bool look;                  // in: map is wanted
    bool draw;                  // in: gates are drawn, as they are on a training tape
    const cla_tensor *given;    // in: [P] these gates; else NULL
    cla_tensor *state;          // out: [Nq,D] Y
    cla_tensor *scores, *gates; // out: [P]
    cla_tensor *map; // out: [B,H,Tmax,Smax] of the last layer, where it has no gates
    size_t mark;     // out: of the tape, after the layer's sum
} cross_hard_pass;

/* Reads the key "cross" (soft, hard), and where it is hard hard_infer, hard_top,
 * hard_norm, score_scale, rl_stop_grad and baseline. Errors: CLA_E_INPUT. */
cla_status cross_hard_configure(cross_hard_config *config, cla_config *settings);

/* Adds prefix.query.in and so on; config and model are set before.
 * Errors: CLA_E_NOMEM. */
cla_status cross_hard_init(cross_hard *h, cla_params *params, const char *prefix);

/* k and v [Nk,D] of an encoder's result [Nk,D]: the same for every step. */
cla_status cross_hard_remember(cross_hard *h, cla_tape *tape, cla_tensor **key,
                               cla_tensor **value, cla_tensor *memory);

/* o [Nq,D] of x [Nq,D]. pass may be NULL. */
cla_status cross_hard_forward(cross_hard *h, cla_tape *tape, cla_tensor **o,
                              cla_tensor *x, cla_tensor *key, cla_tensor *value,
                              const cla_ragged *rows[2], cross_hard_pass *pass);

/* What the baseline expects each token of the pass still to earn [Nq]; NULL without
 * one. Its gradient ends at the state. */
cla_status cross_hard_expect(cross_hard *h, cla_tape *tape, cla_tensor **expected,
                             const cross_hard_pass *pass);
