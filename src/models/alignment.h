/* alignment.h - probabilities and cross attention of the pieces of given
 * translations. */
#pragma once

#include "models/transformer.h"

/* Runs the decoder over the targets of a batch.
 *
 *   logp[i] = ln softmax(logits[i])[target[i]]
 *   weight[s][t,j] = mean over the heads h of a[h,t,j]
 *
 * with a[h] the attention of sentence s to its source, of the last layer of the decoder
 * that has one by softmax: that of the step which gives piece t.
 *
 * logp    out  [Nt]
 * weight  out  [T_s,S_s] of each sentence, one behind the other
 *
 * Errors: CLA_E_INPUT (all layers have hard attention), CLA_E_NUMERIC (scores that are
 * not finite), CLA_E_NOMEM, CLA_E_DEVICE. The caller resets the tape.
 * Source: Vaswani et al. 2017, 3.2; as alignments, Garg et al. 2019. */
cla_status cla_transformer_align(transformer *m, cla_tape *tape,
                                 const transformer_batch *batch, double *logp,
                                 float *weight);
