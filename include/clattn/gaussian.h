/* gaussian.h - attention with a Gaussian bias around a centre (tier 2). */
#pragma once

#include "clattn/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Centre and width of the Gaussian of each query and head. */
typedef struct cla_gaussian {
    cla_tensor *center; // [N,H] f32, positions in the sequence; NULL: the query's own
    cla_tensor *sigma;  // [N,H] f32, or [H] for all queries; positions, not 0;
                        // INFINITY: plain attention
    // keys with |j - center| > reach |sigma| are invisible; 0 or more, INFINITY: none
    float reach;
} cla_gaussian;

/* Self-attention that favours keys near a centre.
 *
 *   o[i,h] = sum_j p[h,i,j] v[j,h],  p = softmax over j of <q[i,h], k[j,h]> / sqrt(d)
 *   - (j - center[i,h])^2 / (2 sigma[i,h]^2), j counted inside the sequence
 *
 * q, k, v  in  [N,H,d] f32, tensors or column views
 * shape    in  centres and widths, which may want gradients (reach has none)
 * rows     in  N tokens in B sequences
 * Methods of the literature: NEIGHBOR has a learned width for each head; LOCAL_HARD
 * ("local-p") a predicted centre, a fixed width and a reach; LOCAL_SOFT predicts both,
 * by cla_length_sigmoid. Nothing of size T x T is stored.
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (dropout outside [0,1), shape NULL, a reach below
 * 0), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Yang et al. 2018, Modeling Localness for Self-Attention Networks; Luong et
 * al. 2015, section 3.2; Sperber et al. 2018, Self-Attentional Acoustic Models. */
CLA_API cla_status cla_gaussian_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                          cla_tensor *k, cla_tensor *v,
                                          const cla_gaussian *shape,
                                          const cla_ragged *rows,
                                          const cla_attention_options *options);

/* A sigmoid scaled by the length of the sequence: y = (slope len + shift) sigmoid(x) +
 * base, where len is the number of tokens of the row's sequence.
 *
 * y     out  [N,C] f32
 * x     in   [N,C] f32
 * rows  in   N tokens in B sequences
 * For cla_gaussian_attention: slope 1 and shift -1 give centres in (0, len - 1); slope
 * 1/2 and base 0.05 give sigmas in (0.05, len / 2 + 0.05).
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (rows NULL), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Yang et al. 2018. */
CLA_API cla_status cla_length_sigmoid(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                      const cla_ragged *rows, float slope, float shift,
                                      float base);

#ifdef __cplusplus
}
#endif
