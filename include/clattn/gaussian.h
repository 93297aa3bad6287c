/* gaussian.h - attention near a place: operators like those of ops.h (tier 2). */
#pragma once

#include "clattn/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where each query's Gaussian lies, head by head. */
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
 * A width of its own for each head is NEIGHBOR, a predicted centre with a fixed width
 * and a reach LOCAL_HARD ("local-p"), centre and width predicted LOCAL_SOFT; see
 * cla_length_sigmoid. Nothing of size T x T is stored.
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

/* Numbers between bounds that follow the length of their sequence: y = (slope len +
 * shift) sigmoid(x) + base, len the tokens of the sequence that a row belongs to.
 *
 * y     out  [N,C] f32
 * x     in   [N,C] f32
 * rows  in   N tokens in B sequences
 * Slope 1, shift -1 give centres in (0, len-1) for cla_gaussian_attention; slope 1/2,
 * base 0.05 half a width in (0.1, len + 0.1).
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (rows NULL), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Yang et al. 2018. */
CLA_API cla_status cla_length_sigmoid(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                      const cla_ragged *rows, float slope, float shift,
                                      float base);

#ifdef __cplusplus
}
#endif
