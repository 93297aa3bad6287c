/* likelihood.h - log probabilities of given translations. */
#pragma once

#include "models/transformer.h"

/* Returns the score of a translation under a length penalty,
 *   logp / ((5 + length) / 6)^alpha.
 * length counts the pieces and the end. Source: Wu et al. 2016, section 7. */
double cla_transformer_worth(double logp, int64_t length, double alpha);

/* Computes log p of each target of the batch given its source: the sum over its pieces
 * of ln softmax(logits[i])[target[i]]. The caller resets the tape.
 *
 * logp  out  [B] natural logarithms
 *
 * Errors: CLA_E_NUMERIC (scores that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_transformer_likelihood(transformer *m, cla_tape *tape,
                                      const transformer_batch *batch, double *logp);

/* Computes ln softmax(logits[i])[target[i]] of each piece i of the targets: logp [Nt]
 * of logits [Nt,V]. Errors: those above. */
cla_status cla_transformer_rows(const transformer_batch *batch,
                                const cla_tensor *logits, double *logp);
