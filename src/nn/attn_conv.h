/* attn_conv.h - what the ways conv and conv2d share. */
#pragma once

#include "nn/attn.h"

enum { CONV_TAPS = 3 };

typedef struct conv {
    int before;                // whether scores are convolved, and not weights
    int activation;            // cla_activation of convolved weights
    cla_tensor *filter, *bias; // conv: [H,3,t,t], [H,t]; conv2d: [H,3,3], [H]
} conv;

/* Attention whose scores are convolved before the softmax, zeros around them:
 *
 *   a = q k' / sqrt(d), T x T;  y[i,o] = b[o] + sum_{u,c} a[i+u-1,c] w[u,c,o]
 *   o[i] = sum_j softmax(y[i,:])_j v[j]
 *
 * With conv2d, w[u,c,o] is the filter's number w[u,c-o+1]; its bias would cancel in the
 * softmax, and is not there. Memory is O(B H T^2).
 *
 * Errors: CLA_E_SHAPE (a sequence longer than the filter of conv), CLA_E_NOMEM,
 * CLA_E_DEVICE. Source: Dufter et al. 2020, section 2.5. */
cla_status conv_before(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                       const attn_input *in);
