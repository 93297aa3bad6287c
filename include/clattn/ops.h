/* ops.h - the differentiable operators, one function each (tier 2). Each runs forward
 * and, on a training tape, records its backward pass. Results belong to the tape; on
 * failure *y is NULL. Letters: N tokens, B sequences, H heads, T queries, S keys, D
 * model width, d head width, w window. */
#pragma once

#include "clattn/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function of each number of a result. */
typedef enum cla_activation {
    CLA_NONE,      // x
    CLA_RELU,      // max(x, 0)
    CLA_TANH,      // tanh(x)
    CLA_SIGMOID,   // 1 / (1 + exp(-x))
    CLA_GELU,      // x P(Z <= x), Z standard normal
    CLA_SILU,      // x / (1 + exp(-x))
    CLA_GELU_TANH, // x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, as in GPT-2
} cla_activation;

/* What happens at the first and last head of a 2-D window (models: CSAN). */
typedef enum cla_edge {
    CLA_EDGE_TRUNCATE, // fewer neighbours at the ends
    CLA_EDGE_WRAP,     // heads form a ring
    CLA_EDGE_AUTHOR,   // keys as wrap, values as clamp: the authors' public code
} cla_edge;

/* How the map convolution is computed. */
typedef enum cla_conv_method {
    CLA_CONV_AUTO,
    CLA_CONV_DIRECT,
    CLA_CONV_FFT
} cla_conv_method;

enum { CLA_CONV_SIDE = 31 }; // the longest side of a filter

/* What all attention ops share; {0} is plain attention. */
typedef struct cla_attention_options {
    bool causal; // key j visible to query i when j <= i + S - T
    // probability of dropping a weight, 0 <= p < 1; others are scaled by 1/(1-p)
    float dropout;
    // out [B,H,Tmax,Smax] f32, the weights before dropout, 0 elsewhere; may be NULL
    cla_tensor **map;
    uint64_t reserved[4]; // 0: room for later versions
} cla_attention_options;

/* Softmax over the last axis of attention scores, under lengths and causality.
 *
 *   y[b,h,t,s] = exp(x[b,h,t,s] - m) / sum_k exp(x[b,h,t,k] - m) over kept keys, else 0
 *   with m the largest kept score of the row; a row with nothing kept is all zeros.
 *
 * y      out  [B,H,T,S] f32, probabilities
 * x      in   [B,H,T,S] f32, scores in nats
 * q_len  in   [B] i32, queries of each sequence: later rows of y are 0; NULL: all T
 * k_len  in   [B] i32, keys of each sequence: later ones are hidden; NULL: all S
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Vaswani et al. 2017, section 3.2.1. */
CLA_API cla_status cla_masked_softmax(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                      const cla_tensor *q_len, const cla_tensor *k_len,
                                      bool causal);

/* Matrix product of the last two axes, with a fused tail.
 *
 *   y = op(a) op(b), op = transpose of the last two axes where asked
 *
 * y  out  [M,N] or [B,M,N] f32
 * a  in   [M,K] or [B,M,K] f32 ([K,M] when transpose_a)
 * b  in   [K,N] or [B,K,N] f32 ([N,K] when transpose_b); rank 2 beside a rank-3 a is
 *         shared by all of the batch
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_matmul(cla_tape *tape, cla_tensor **y, cla_tensor *a,
                              cla_tensor *b, bool transpose_a, bool transpose_b);

/* Linear layer: y = act(x w + b) + residual.
 *
 * y         out  [N,out] f32
 * x         in   [N,in] f32
 * w         in   [in,out] f32
 * b         in   [out] f32, may be NULL
 * residual  in   [N,out] f32, may be NULL
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_linear(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                              cla_tensor *w, cla_tensor *b, cla_activation activation,
                              cla_tensor *residual);

/* Scaled dot-product attention of packed sequences.
 *
 *   o[i,h] = sum_j p[h,i,j] v[j,h],  p[h,i,:] = softmax_j <q[i,h], k[j,h]> / sqrt(d)
 *   over the visible keys of i's own sequence; a query without a visible key gives 0.
 *
 * o        out  [Nq,H,d] f32
 * q        in   [Nq,H,d] f32, a tensor or a column view (likewise k, v)
 * k, v     in   [Nk,H,d] f32
 * q_rows   in   Nq tokens in B sequences
 * k_rows   in   Nk tokens in B sequences; the same object for self-attention
 * options  in   NULL for none
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (dropout outside [0,1)), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Vaswani et al. 2017, section 3.2; tiling after Dao 2023. */
CLA_API cla_status cla_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                 cla_tensor *k, cla_tensor *v, const cla_ragged *q_rows,
                                 const cla_ragged *k_rows,
                                 const cla_attention_options *options);

/* Attention inside a window: as cla_attention over keys with |i - j| <= window/2.
 *
 * window  in  positions, odd and >= 1; wider than the sentence is plain attention
 *
 * Errors: as cla_attention, and CLA_E_USAGE for the window.
 * Source: Yang et al. 2019, Convolutional Self-Attention Networks, section 3.1. */
CLA_API cla_status cla_band_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                      cla_tensor *k, cla_tensor *v,
                                      const cla_ragged *rows, int window,
                                      const cla_attention_options *options);

/* Attention inside a window of positions and neighbouring heads, with one softmax.
 *
 *   o[i,h] = sum_{g in A(h), j} p[h,i,g,j] v[j,g],  p = softmax over all (g,j) of
 *   <q[i,h], k[j,g]> / sqrt(d), |i - j| <= window/2, A(h) = the area heads around h
 *
 * window  in  positions, odd and >= 1
 * area    in  heads attended, odd, 1 <= area; <= H where heads wrap
 * edge    in  what A(h) is at the first and last heads
 * options.map is [B,H,Tmax,area*Tmax], area-major, 0 for a head that does not exist.
 *
 * Errors: as cla_band_attention, and CLA_E_USAGE for the area.
 * Source: Yang et al. 2019, section 3.2. */
CLA_API cla_status cla_band_attention_2d(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                         cla_tensor *k, cla_tensor *v,
                                         const cla_ragged *rows, int window, int area,
                                         cla_edge edge,
                                         const cla_attention_options *options);

/* Self-attention whose map is convolved after the softmax.
 *
 *   p = softmax(q k' / sqrt(d)) per sequence and head, T x T
 *   s[i,j] = act(b[h] + sum_{u,v} w[h,u,v] p[i+u-(kh-1)/2, j+v-(kw-1)/2]),
 *   zeros outside;
 *   o[i] = sum_j s[i,j] v[j];  s is not normalised again
 *
 * q, k, v  in  [N,H,d] f32
 * w        in  [H,kh,kw] f32, odd sides up to CLA_CONV_SIDE
 * b        in  [H] f32
 * method   in  AUTO asks the tuning; options.map is the map before the convolution
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (causal or dropout asked), CLA_E_NOMEM,
 * CLA_E_DEVICE.
 * Source: Dufter et al. 2020, convolved attention. */
CLA_API cla_status cla_conv_attention_2d(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                         cla_tensor *k, cla_tensor *v, cla_tensor *w,
                                         cla_tensor *b, const cla_ragged *rows,
                                         cla_activation activation,
                                         cla_conv_method method,
                                         const cla_attention_options *options);

/* Self-attention whose map is convolved along queries, with a filter for each key
 * position.
 *
 *   p = softmax(q k' / sqrt(d)) per sequence and head, T x T
 *   s[i,o] = act(b[h,o] + sum_{u,c} p[i+u-1,c] w[h,u,c,o]), u = 0,1,2; p is 0 in rows
 *   outside; o[i] = sum_j s[i,j] v[j]; s is not normalised again
 *
 * q, k, v  in  [N,H,d] f32
 * w        in  [H,3,t,t] f32, row shift, key in, key out; a sequence of T <= t tokens
 *              uses the leading T x T part
 * b        in  [H,t] f32
 * rows     in  N tokens in B sequences of at most t tokens
 * options.map is the map before the filter.
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (causal or dropout asked), CLA_E_NOMEM,
 * CLA_E_DEVICE.
 * Source: Dufter et al. 2020, convoluted attention. */
CLA_API cla_status cla_conv_attention_1d(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                         cla_tensor *k, cla_tensor *v, cla_tensor *w,
                                         cla_tensor *b, const cla_ragged *rows,
                                         cla_activation activation,
                                         const cla_attention_options *options);

/* Self-attention that adds learned tables of positions to its scores.
 *
 *   o[i,h] = sum_j p[h,i,j] v[j,h],  p = softmax over j of <q[i,h], k[j,h]> / sqrt(d)
 *   + absolute[h,i,j] + relative[h,i-j+t]
 *
 * q, k, v   in  [N,H,d] f32, tensors or column views
 * absolute  in  [H,t,t] f32; NULL for none
 * relative  in  [H,2t] f32; NULL for none. Column 0 is not used, since no two positions
 *               are t apart. A pair whose number is -INFINITY is hidden.
 * rows      in  N tokens in B sequences of at most t tokens, which use the leading part
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (dropout outside [0,1), neither table), CLA_E_NOMEM,
 * CLA_E_DEVICE.
 * Source: Dufter et al. 2020, direct positions. */
CLA_API cla_status cla_position_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                          cla_tensor *k, cla_tensor *v,
                                          cla_tensor *absolute, cla_tensor *relative,
                                          const cla_ragged *rows,
                                          const cla_attention_options *options);

/* Self-attention with learned vectors of distances, added to keys and values.
 *
 *   o[i,h] = sum_j p[h,i,j] (v[j,h] + rel_v[h,c]),
 *   p[h,i,:] = softmax_j <q[i,h], k[j,h] + rel_k[h,c]> / sqrt(d),
 *   c = clip(j - (i + S - T), -R, R) + R
 *
 * The T queries of a sequence are at its last T positions of S: T is S in
 * self-attention, and less where keys of earlier tokens were kept. Besides its results
 * it takes O(Nq H R) memory.
 *
 * o             out  [Nq,H,d] f32
 * q             in   [Nq,H,d] f32, a tensor or a column view (likewise k, v)
 * k, v          in   [Nk,H,d] f32
 * rel_k, rel_v  in   [H,2R+1,d] f32, or both [2R+1,d] for all heads; row R: distance 0
 * q_rows        in   Nq tokens in B sequences
 * k_rows        in   Nk tokens in B sequences
 * options       in   NULL for none
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (dropout outside [0,1), a table missing),
 * CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Shaw et al. 2018, Self-Attention with Relative Position Representations. */
CLA_API cla_status cla_relative_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                          cla_tensor *k, cla_tensor *v,
                                          cla_tensor *rel_k, cla_tensor *rel_v,
                                          const cla_ragged *q_rows,
                                          const cla_ragged *k_rows,
                                          const cla_attention_options *options);

/* A table of relative positions from its real Fourier spectrum.
 *
 *   table[h,m] = 1/2t sum_k spectrum[h,k] cos(2 pi k |m - t| / 2t) for m >= 1; 0 for m
 *   = 0, which stands for no distance: symmetric about m = t
 *
 * table     out  [H,2t] f32, as cla_position_attention takes it
 * spectrum  in   [H,2t] f32
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Dufter et al. 2020, direct positions, as in the authors' public code. */
CLA_API cla_status cla_relative_spectrum(cla_tape *tape, cla_tensor **table,
                                         cla_tensor *spectrum);

/* Sum, of one shape: y = a + b. Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_add(cla_tape *tape, cla_tensor **y, cla_tensor *a,
                           cla_tensor *b);

/* Product of two tensors of one shape, number by number: y = a b. Errors: CLA_E_SHAPE,
 * CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_multiply(cla_tape *tape, cla_tensor **y, cla_tensor *a,
                                cla_tensor *b);

/* Columns side by side: y[n] = (a[n], b[n]).
 *
 * y  out  [N,Ca+Cb] f32
 * a  in   [N,Ca] f32
 * b  in   [N,Cb] f32
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_concat(cla_tape *tape, cla_tensor **y, cla_tensor *a,
                              cla_tensor *b);

/* Heads scaled by learned numbers, such as temperatures: y[n,h,c] = gamma[h] x[n,h,c].
 *
 * y      out  [N,H,d] f32
 * x      in   [N,H,d] f32, a tensor or a column view
 * gamma  in   [H] f32
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Dufter et al. 2020, learnable temperature. */
CLA_API cla_status cla_scale_heads(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                   cla_tensor *gamma);

/* A mixture of two tensors: y = s a + (1 - s) b, s = sigmoid(x) = 1 / (1 + e^-x).
 *
 * y, x, a, b  out, in  f32 of one shape
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_gate(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                            cla_tensor *a, cla_tensor *b);

/* Drops elements at random: y = x / (1 - p) where a draw is p or more, else 0.
 *
 * y  out  as x; x itself where p is 0
 * x  in   f32, any shape; what is drawn for an element depends on the tape's seed and
 *         step, the op's place on the tape, and the element's row and column alone
 * p  in   0 <= p < 1; the caller passes 0 when not training
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Srivastava et al. 2014. */
CLA_API cla_status cla_dropout(cla_tape *tape, cla_tensor **y, cla_tensor *x, float p);

/* Rows of a table: y[n] = scale table[ids[n]].
 *
 * y      out  [N,D] f32
 * table  in   [V,D] f32, a parameter or a result (then this is a gather of its rows)
 * ids    in   [N] i32; one outside 0 .. V-1 stands for a row of zeros
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_embedding(cla_tape *tape, cla_tensor **y, cla_tensor *table,
                                 const cla_tensor *ids, float scale);

/* Layer normalisation: y = (x - mean) / sqrt(var + eps) gamma + beta, mean and (biased)
 * variance over each row.
 *
 * y            out  [N,D] f32
 * x            in   [N,D] f32
 * gamma, beta  in   [D] f32
 * eps          in   0 or more
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Ba, Kiros and Hinton 2016. */
CLA_API cla_status cla_layer_norm(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                  cla_tensor *gamma, cla_tensor *beta, float eps);

/* Mean cross entropy of softmax(logits) under smoothed targets.
 *
 *   loss = -1/M sum_n sum_v q[n,v] ln softmax(logits[n])[v] over the M rows with a
 *   target; q is 1 - smoothing for the target, smoothing / (V-1) for each other class.
 *
 * loss       out  [1] f32, in nats; 0 when no row counts
 * logits     in   [N,V] f32
 * targets    in   [N] i32; a row whose target is outside 0 .. V-1, such as -1, is left
 *                 out
 * smoothing  in   0 <= smoothing < 1
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Szegedy et al. 2016, section 7 (smoothing). */
CLA_API cla_status cla_cross_entropy(cla_tape *tape, cla_tensor **loss,
                                     cla_tensor *logits, const cla_tensor *targets,
                                     float smoothing);

/* The likeliest classes of each row, and how likely they are. Not differentiable.
 *
 *   logp[n,k] = ln softmax(logits[n])[id[n,k]], largest first; of equal ones the
 *   smaller class first
 *
 * logp    out  [N,K] f32
 * id      out  [N,K] i32
 * logits  in   [N,V] f32, V < 2^24
 * k       in   K, 1 to V
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_top_k(cla_tape *tape, cla_tensor **logp, cla_tensor **id,
                             const cla_tensor *logits, int k);

/* Convolution along packed sequences.
 *
 *   y[n] = act(b + sum_u x[n + u - (K-1)/2] w[u]), u = 0 .. K-1, and 0 for rows outside
 *   n's sequence
 *
 * y     out  [N,out] f32
 * x     in   [N,in] f32
 * w     in   [K,in,out] f32
 * b     in   [out] f32, may be NULL
 * rows  in   N tokens (words, characters) in B sequences
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (no rows), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_conv1d(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                              cla_tensor *w, cla_tensor *b, const cla_ragged *rows,
                              cla_activation activation);

/* Convolution along packed sequences, each channel by itself.
 *
 *   y[n,c] = sum_u x[n + u - (K-1)/2, c] w[u,c], u = 0 .. K-1, and 0 for rows outside
 *   n's sequence
 *
 * y     out  [N,D] f32
 * x     in   [N,D] f32
 * w     in   [K,D] f32
 * rows  in   N tokens in B sequences
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (no rows), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Chollet 2017; followed by cla_linear, it is a separable convolution. */
CLA_API cla_status cla_depthwise_conv1d(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                        cla_tensor *w, const cla_ragged *rows);

/* Words from their characters: convolution, ReLU, and the maximum along each word.
 *
 *   y[n] = max over rows t < len[n] of word n of relu(b + sum_u x[t+u-(K-1)/2] w[u]), 0
 *   for a word without rows; the first of equal maxima has the gradient
 *
 * y     out  [B,out] f32
 * x     in   [N,in] f32, the characters of all words
 * w     in   [K,in,out] f32
 * b     in   [out] f32, may be NULL
 * rows  in   N characters in B words; the convolution reads all of a word
 * len   in   [B] i32, rows that count; NULL: all
 *
 * Errors: CLA_E_SHAPE, CLA_E_USAGE (no rows), CLA_E_NOMEM, CLA_E_DEVICE.
 * Source: Dufter et al. 2020, the tagger's character encoder. */
CLA_API cla_status cla_char_cnn(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                                cla_tensor *w, cla_tensor *b, const cla_ragged *rows,
                                const cla_tensor *len);

#ifdef __cplusplus
}
#endif
