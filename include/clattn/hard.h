/* hard.h - hard attention: a gate of 0 or 1 for each query and key. Also policy
 * gradients: of gates, and of tokens that a model generates (tier 2).
 *
 * Maps are packed: the T x S numbers of sequence b, queries by keys, follow those of
 * sequence b - 1. P counts all of them. */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How gates are opened. */
typedef enum cla_hard_gate {
    CLA_GATE_THRESHOLD, // 1 where the probability is one half or more
    CLA_GATE_SAMPLE,    // 1 with that probability
    CLA_GATE_EXPECTED,  // the probability itself
    CLA_GATE_TOP,       // 1 for the largest scores of a query
    CLA_GATE_GIVEN,     // the numbers of the option given
} cla_hard_gate;

/* How rows with open gates are summed: as a product with the whole map, or along lists
 * of the open gates. The results are the same up to rounding. */
typedef enum cla_hard_form { CLA_HARD_DENSE, CLA_HARD_SPARSE } cla_hard_form;

/* {0}: CLA_GATE_THRESHOLD, scale 1/sqrt(D), CLA_HARD_DENSE. */
typedef struct cla_hard_options {
    cla_hard_gate gate;
    int top;                 // of CLA_GATE_TOP, 1 or more
    const cla_tensor *given; // in  [P] f32, of CLA_GATE_GIVEN
    float scale;             // of dot products; 0 means 1/sqrt(D)
    bool mean;               // divide by the number of open gates, where it is above 1
    cla_hard_form form;
    cla_tensor **scores;  // out [P] f32, the scores s; may be NULL
    cla_tensor **gates;   // out [P] f32, the gates g; may be NULL
    uint64_t reserved[4]; // 0: room for later versions
} cla_hard_options;

/* Sums of the rows whose gates are open.
 *
 *   s[i,j] = scale <q[i], k[j]>,  p = 1 / (1 + exp(-s)),  g = open(p)
 *   o[i] = sum_j g[i,j] v[j] over i's own sequence, 0 where no gate is open; with mean
 *   divided by max(1, sum_j g[i,j])
 *
 * o        out  [Nq,D] f32
 * q        in   [Nq,D] f32; cla_hard_project makes q, k and v
 * k, v     in   [Nk,D] f32
 * q_rows   in   Nq tokens in B sequences
 * k_rows   in   Nk tokens in B sequences
 * options  in   NULL for {0}
 *
 * Gates have no gradient: the gradient of o goes to v alone. q and k get theirs from
 * scores, by cla_reinforce. A draw depends only on the tape's seed and step, the
 * position of the call on the tape, the row of the query, and the key.
 *
 * Errors: CLA_E_SHAPE (also 2^31 pairs or more), CLA_E_USAGE (no rows; top below 1;
 * given without CLA_GATE_GIVEN, or that gate without given), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Indurthi, Chung and Kim 2019. */
CLA_API cla_status cla_hard_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                      cla_tensor *k, cla_tensor *v,
                                      const cla_ragged *q_rows,
                                      const cla_ragged *k_rows,
                                      const cla_hard_options *options);

/* One of the three projectors: of queries, of keys, of values. */
typedef struct cla_hard_projector {
    cla_tensor *w1, *b1, *w2, *b2; // [D,D], [D], [D,D], [D]
} cla_hard_projector;

/* y = tanh((x w1 + b1) w2 + b2).
 *
 * y     out  [N,D] f32
 * x     in   [N,D] f32
 * stop  in   whether x gets no gradient, as in the projections of queries and keys,
 *            which learn from rewards
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: as cla_hard_attention. */
CLA_API cla_status cla_hard_project(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                    const cla_hard_projector *projector, bool stop);

/* The baseline: a number that is subtracted from the return of each token. */
typedef enum cla_baseline {
    CLA_BASELINE_NONE,
    CLA_BASELINE_MEAN,    // of the batch, for each position
    CLA_BASELINE_LEARNED, // by the model
} cla_baseline;

typedef struct cla_reinforce_options {
    float entropy; // weight of the gates' entropy, 0 or more
    cla_baseline baseline;
    cla_tensor *learned;  // in  [Nq] f32, of CLA_BASELINE_LEARNED
    cla_tensor **returns; // out [Nq] f32, R below; may be NULL
    uint64_t reserved[4]; // 0: room for later versions
} cla_reinforce_options;

/* REINFORCE for gates: a loss whose gradient is the policy gradient.
 *
 *   R[t] = rewards[t] + R[t+1] inside the sequence,  a = R - b
 *   loss = -1/Nq sum_t (a[t] ln pi[t] + entropy H[t])
 *   ln pi[t] = sum_j g ln p + (1 - g) ln(1 - p),  p = 1 / (1 + exp(-s))
 *   H[t] = -sum_j p ln p + (1 - p) ln(1 - p), in nats
 *
 * The baseline b is 0, or the mean of R[t] over the sequences that have a token t, or
 * learned[t]. With learned the loss has a further term, 1/Nq sum_t a[t]^2, from which
 * learned gets its gradient. All other gradients go to s; rewards and a are constants.
 *
 * loss     out  [1] f32; 0 without a query
 * scores   in   [P] f32, s of cla_hard_attention
 * gates    in   [P] f32, g, the action that was taken
 * rewards  in   [Nq] f32, what each token earned, in any unit
 * q_rows   in   Nq tokens in B sequences
 * k_rows   in   Nk tokens in B sequences
 * options  in   NULL for {0}
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (no rows; an entropy below 0; learned without
 * CLA_BASELINE_LEARNED, or that baseline without learned), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Williams 1992; Indurthi, Chung and Kim 2019. */
CLA_API cla_status cla_reinforce(cla_tape *tape, cla_tensor **loss, cla_tensor *scores,
                                 const cla_tensor *gates, const cla_tensor *rewards,
                                 const cla_ragged *q_rows, const cla_ragged *k_rows,
                                 const cla_reinforce_options *options);

/* A class of each row, drawn by its probability. Not differentiable.
 *
 *   P(id[n] = v) = softmax(logits[n])[v]
 *
 * id      out  [N] i32; -1 or any class where a row's numbers are not finite
 * logits  in   [N,V] f32, V from 1 to 2^24 - 1
 *
 * A draw depends only on the tape's seed and step, the position of the call on the
 * tape, and the row.
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_multinomial(cla_tape *tape, cla_tensor **id,
                                   const cla_tensor *logits);

/* cla_cross_entropy with a weight for each row, which may be negative: the policy
 * gradient of generated tokens, where the factor is a token's reward.
 *
 *   loss = -1/M sum_n factor[n] sum_v q[n,v] ln softmax(logits[n])[v] over the M rows
 *   with a target, whatever their factors
 *
 * factor  in  [N] f32, a constant of the gradient; NULL: ones
 *
 * All else, and errors: as cla_cross_entropy. Source: Williams 1992. */
CLA_API cla_status cla_weighted_cross_entropy(cla_tape *tape, cla_tensor **loss,
                                              cla_tensor *logits,
                                              const cla_tensor *targets,
                                              float smoothing,
                                              const cla_tensor *factor);

#ifdef __cplusplus
}
#endif
