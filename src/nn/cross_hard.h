/* cross_hard.h - hard attention to the memory: a gate for each pair of a target token
 * and a source token is open or shut.
 *
 *   q = tanh((Y W_1 + b_1) W_2 + b_2) of the layer's input Y [Nq,D], k and v likewise
 *   of the memory Z [Nk,D], each with matrices of its own
 *   s = scale q k^T, a gate is open with probability 1 / (1 + exp(-s))
 *   o[i] = sum of the v[j] whose gates are open for i, or their mean
 *
 * Of the three projectors, cross entropy trains that of v alone. Those of q and k are a
 * policy, which the rewards of cla_reinforce train (src/tasks/translation/reward.h). */
#pragma once

#include "base/config.h"
#include "clattn/hard.h"
#include "nn/param.h"

typedef struct cross_hard_config {
    bool on;       // else the layer has softmax attention
    int gate;      // cla_hard_gate for inference
    int top;       // of CLA_GATE_TOP
    bool mean;     // o is the mean of the selected rows; else their sum
    bool scaled;   // scores by 1/sqrt(D)
    bool stop;     // the policy's gradient does not reach Y and Z
    bool baseline; // the layer predicts the returns
} cross_hard_config;

typedef struct cross_hard {
    cross_hard_config config;
    int model; // D
    cla_hard_projector query, key, value;
    cla_tensor *baseline, *baseline_bias; // [D,1], [1]; else NULL
} cross_hard;

/* Options of a pass, and its results for the policy's gradient. */
typedef struct cross_hard_pass {
    bool look;                  // in: return map
    bool draw;                  // in: sample the gates, as on a training tape
    const cla_tensor *given;    // in: [P] gates to use; NULL: by the layer
    cla_tensor *state;          // out: [Nq,D] Y
    cla_tensor *scores, *gates; // out: [P]
    cla_tensor *map; // out: [B,H,Tmax,Smax] weights of the last layer with softmax
    size_t mark;     // out: mark of the tape after the layer's sum
} cross_hard_pass;

/* Reads the key "cross" (soft, hard) and, if it is hard, the keys hard_infer, hard_top,
 * hard_norm, score_scale, rl_stop_grad and baseline. Errors: CLA_E_INPUT. */
cla_status cla_cross_hard_configure(cross_hard_config *config, cla_config *settings);

/* Adds the parameters prefix.query.in and so on; config and model must be set.
 * Errors: CLA_E_NOMEM. */
cla_status cla_cross_hard_init(cross_hard *h, cla_params *params, const char *prefix);

/* Computes k and v [Nk,D] of an encoder's output [Nk,D]. All decoding steps share them.
 */
cla_status cla_cross_hard_remember(cross_hard *h, cla_tape *tape, cla_tensor **key,
                                   cla_tensor **value, cla_tensor *memory);

/* Computes o [Nq,D] of x [Nq,D]. rows: of queries and of keys. pass may be NULL. */
cla_status cla_cross_hard_forward(cross_hard *h, cla_tape *tape, cla_tensor **o,
                                  cla_tensor *x, cla_tensor *key, cla_tensor *value,
                                  const cla_ragged *rows[2], cross_hard_pass *pass);

/* Predicts the return [Nq] of each token of the pass; NULL without a baseline. The
 * gradient ends at pass->state. */
cla_status cla_cross_hard_expect(cross_hard *h, cla_tape *tape, cla_tensor **expected,
                                 const cross_hard_pass *pass);
