/* mha.h - multi-head attention with projections: of a sequence to itself, or to the
 * memory that an encoder left.
 *
 *   y = [head 1 | ... | head H] W_o + b_o, head h = attention(q_h, k_h, v_h)
 *
 * with q = x W_q + b_q and so on; d = D/H. Vaswani et al. 2017, section 3.2. */
#pragma once

#include "nn/self.h"

typedef struct mha {
    int model, heads;                 // D, H; H divides D
    double dropout;                   // of weights, in training
    cla_tensor *in, *in_bias;         // self: q, k, v [D,3D], [3D]; cross: q [D,D], [D]
    cla_tensor *memory, *memory_bias; // cross: k, v [D,2D], [2D]; else NULL
    cla_tensor *out, *out_bias;       // [D,D], [D]; D times self_parts rows
    self_layer self; // how a sequence attends to itself; cross: plain attention
} mha;

/* Who attends to whom. */
typedef struct mha_rows {
    const cla_ragged *query, *key; // the same object for a sequence and itself
    bool causal;
    cla_tensor **map; // out: [B,H,Tmax,Smax] weights; NULL: not wanted
} mha_rows;

/* Adds prefix.in, prefix.in_bias and so on; model, heads, dropout and self.config
 * are set before. Errors: CLA_E_NOMEM. */
cla_status mha_init(mha *m, cla_params *params, const char *prefix, bool cross);

/* qkv [N,3D] of x [N,D], for mha_self. */
cla_status mha_project(mha *m, cla_tape *tape, cla_tensor **qkv, cla_tensor *x);

/* kv [N,2D] of an encoder's result [N,D], for mha_cross: the same for every step. */
cla_status mha_remember(mha *m, cla_tape *tape, cla_tensor **kv, cla_tensor *memory);

/* y [Nq,D]: q of query [Nq,3D] attends to k and v of key [Nk,3D]. */
cla_status mha_self(mha *m, cla_tape *tape, cla_tensor **y, cla_tensor *query,
                    cla_tensor *key, const mha_rows *rows);

/* y [Nq,D]: x [Nq,D] attends to kv [Nk,2D]. */
cla_status mha_cross(mha *m, cla_tape *tape, cla_tensor **y, cla_tensor *x,
                     cla_tensor *kv, const mha_rows *rows);
