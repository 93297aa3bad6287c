/* recurrent.h - recurrent networks over packed sequences: LSTM, GRU, SRU (tier 2). */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* {0}: from the first token to the last, and initial states of zeros. */
typedef struct cla_recurrent_options {
    bool reverse;         // from the last token of each sequence to its first
    cla_tensor *h0;       // in  [B,n] f32, the initial state; NULL: zeros
    cla_tensor *c0;       // in  [B,n] f32, LSTM and SRU: the initial cell; NULL: zeros
    cla_tensor **h;       // out [B,n] f32, the final state; may be NULL
    cla_tensor **c;       // out [B,n] f32, LSTM and SRU: the final cell; may be NULL
    uint64_t reserved[4]; // 0: room for later versions
} cla_recurrent_options;

/* A long short-term memory.
 *
 *   i, g, f, o = [x[t], h'] w + b, in this order, n columns each
 *   c = sigmoid(f + 1) c' + sigmoid(i) tanh(g)
 *   h = sigmoid(o) tanh(c)
 *
 * y[t] = h; h' and c' are those of the token before (with reverse, of the token after).
 * The final state of an empty sequence is its initial state. To take one step at a
 * time, call with one token for each sequence, and pass h and c on as h0 and c0.
 *
 * y        out  [N,n] f32
 * x        in   [N,in] f32
 * w        in   [in+n,4n] f32, rows of x first
 * b        in   [4n] f32; may be NULL
 * rows     in   N tokens in B sequences
 * options  in   NULL for {0}
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (no rows), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Hochreiter and Schmidhuber 1997; Gers et al. 2000 for f. */
CLA_API cla_status cla_lstm(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                            cla_tensor *w, cla_tensor *b, const cla_ragged *rows,
                            const cla_recurrent_options *options);

/* Weights of a gated recurrent unit; rows of x come first. */
typedef struct cla_gru_weights {
    cla_tensor *w_g, *b_g; // [in+n,2n], [2n]: r and u; b_g may be NULL
    cla_tensor *w_c, *b_c; // [in+n,n], [n]: the candidate; b_c may be NULL
} cla_gru_weights;

/* A gated recurrent unit; its reset gate multiplies the state before the product.
 *
 *   r, u = sigmoid([x[t], h'] w_g + b_g), in this order, n columns each
 *   h = u h' + (1 - u) tanh([x[t], r h'] w_c + b_c)
 *
 * Arguments as cla_lstm.
 *
 * Errors: as cla_lstm, and CLA_E_USAGE for c0 and c.
 * Source: Cho et al. 2014. */
CLA_API cla_status cla_gru(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                           const cla_gru_weights *weights, const cla_ragged *rows,
                           const cla_recurrent_options *options);

/* Weights of a simple recurrent unit. */
typedef struct cla_sru_weights {
    cla_tensor *w;         // [in,n]
    cla_tensor *w_g, *b_g; // [in,2n], [2n]: f and r; b_g may be NULL
} cla_sru_weights;

/* A simple recurrent unit: its products depend on the inputs alone, so only
 * element-wise operations follow one another in time.
 *
 *   f, r = sigmoid(x[t] w_g + b_g), in this order, n columns each;  z = x[t] w
 *   c = tanh(f c' + (1 - f) z)
 *   h = r c + (1 - r) z
 *
 * y[t] = h; c' is that of the token before (with reverse, of the token after).
 * Arguments as cla_lstm.
 *
 * Errors: as cla_lstm, and CLA_E_USAGE for h0 and h.
 * Source: Lei et al. 2018, with tanh around the cell as a public R-NET has it. */
CLA_API cla_status cla_sru(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                           const cla_sru_weights *weights, const cla_ragged *rows,
                           const cla_recurrent_options *options);

#ifdef __cplusplus
}
#endif
