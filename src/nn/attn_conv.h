/* attn_conv.h - the parts that the ways conv and conv2d share. */
#pragma once

#include "nn/attn.h"

typedef struct conv {
    int before;                // convolves the scores instead of the weights
    int activation;            // cla_activation of convolved weights
    int side;                  // S: of the filter; 3 with conv
    bool causal;               // the last forward pass hid later keys
    cla_tensor *filter, *bias; // conv: [H,3,t,t], [H,t]; conv2d: [H,S,S], [H]
} conv;

/* Returns how many rows before its query a filter begins: the middle row is the
 * query's, or the last one where later queries may not be seen. */
static inline int64_t cla_conv_back(int64_t side, bool causal)
{
    return causal ? side - 1 : side / 2;
}

/* Computes attention with scores convolved before the softmax, with zero padding:
 *
 *   a = q k' / sqrt(d), T x T;  m = S / 2
 *   y[i,o] = b[o] + sum_{u,c} a[i+u-m,c] w[u,c,o]
 *   o[i] = sum_j softmax(y[i,:])_j v[j]
 *
 * With conv2d, w[u,c,o] is the filter's w[u,c-o+m]. There is no bias, since it would
 * cancel in the softmax. Memory is O(B H T^2).
 *
 * Where later keys are hidden, a[i,c] is 0 for c > i, y for o > i is hidden, and rows
 * are a[i+u-(S-1)]. So is the map of "after" then, whose zeros are outside of act:
 *
 *   s[i,o] = act(b[o] + sum_{u,c} softmax(a)[i+u-(S-1),c] w[u,c,o]) for o <= i, else 0
 *   o[i] = sum_j s[i,j] v[j]
 *
 * Errors: CLA_E_SHAPE (a sequence longer than the filter of conv), CLA_E_NOMEM,
 * CLA_E_DEVICE. Source: Dufter et al. 2020, section 2.5. */
cla_status cla_conv_dense(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in);
