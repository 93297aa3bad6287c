/* coder.h - a layer of a Transformer's encoder or decoder.
 *
 *   encoder: convolutions (usually none), self-attention, feed-forward
 *   decoder: self-attention, attention to the memory, feed-forward
 *   pre-norm:     x <- x + dropout(sub(norm(x)))
 *   post-norm:    x <- norm(x + dropout(sub(x)))
 *   feed-forward: dropout(act(x W_1 + b_1)) W_2 + b_2
 *   gated:        dropout(act(x W_g + b_g) * (x W_1 + b_1)) W_2 + b_2
 *   convolution:  relu(b + sum_u x[n + u - (K-1)/2] W[u]) within the sequence
 *   separable:    relu(b + (sum_u x[n + u - (K-1)/2] * w[u]) W), w for each channel
 *
 * Vaswani et al. 2017, section 3.1; convolutions before attention as in Yu et al. 2018,
 * QANet; gates as in Shazeer 2020, GLU variants. */
#pragma once

#include "nn/angles.h"
#include "nn/cross_hard.h"
#include "ops/activation.h"

enum { CODER_CONVOLUTIONS = 8 };

static const double CODER_NORM_EPSILON = 1e-6;

/* How a model tells the places of tokens. */
typedef enum coder_position {
    CODER_SINE,    // encodings are added to the embeddings
    CODER_ROPE,    // queries and keys of self-attention are turned
    CODER_NOWHERE, // not at all
    CODER_LEARNED, // trained vectors are added
    CODER_ALIBI,   // scores fall with the distance, in each head by another slope
    CODER_BUCKETS, // trained numbers are added to scores: nn/buckets.h
} coder_position;

typedef struct coder_config {
    int model, heads, inner; // D, H, width of the feed-forward block
    int head_width;          // d; 0: D / H
    bool unscaled;           // attention's scores are not divided by sqrt(d)
    bool pre_norm;           // norms before the blocks; else after them
    bool rms;                // norms by the root mean square, without biases
    int activation;          // cla_activation of the feed-forward block
    bool gated;              // it has a gate, to which the activation belongs
    bool unbiased;           // linear layers have no biases
    int kv_heads;            // K of self-attention; 0: H
    int position;            // coder_position
    coder_rope rope;         // of CODER_ROPE
    int buckets;             // of CODER_BUCKETS, for each head
    int bucket_reach;        // the distance from which on all have one bucket
    double norm_epsilon;     // added to a norm's variance; 0: CODER_NORM_EPSILON
    double dropout;          // of a block's output
    double attention_dropout, relu_dropout;
    attn_config self;       // self-attention
    cross_hard_config hard; // decoder: attention to the memory, if on
    int convolutions;       // encoder: before the attention, at most CODER_CONVOLUTIONS
    int taps;               // K of each convolution
    int full;               // convolutions with K matrices; else separable
} coder_config;

typedef struct coder_norm {
    cla_tensor *gain, *bias; // [D]; bias NULL: by the root mean square
    float epsilon;
} coder_norm;

typedef struct coder_conv {
    cla_tensor *w, *b; // [K,D,D], or separable [D,D]; [D]
    cla_tensor *depth; // separable: [K,D]
    coder_norm norm;
} coder_conv;

typedef struct coder_layer {
    coder_config config;
    bool decoder;
    coder_conv conv[CODER_CONVOLUTIONS];
    attn_layer self, cross;
    cross_hard hard; // replaces cross if on
    cla_tensor *w1, *b1, *w2, *b2;
    cla_tensor *gate, *gate_bias; // W_g [D,F], b_g [F]; NULL without a gate
    coder_norm self_norm, cross_norm, feed_norm;
} coder_layer;

/* The input of a layer besides x. */
typedef struct coder_input {
    attn_rows rows;     // of self-attention
    attn_turn turn;     // its rotary positions
    cla_tensor *states; // decoder: the encoder's output [Nm,D], if kv is NULL
    cla_tensor *kv;     // decoder: from cla_coder_remember, [Nm,2Hd]; hard: keys [Nm,D]
    cla_tensor *value;  // hard: values [Nm,D]; else NULL
    cross_hard_pass *pass; // decoder: of the attention to the memory; may be NULL
    attn_rows memory;      // decoder: of the attention to the memory
    /* For decoding a token at a time. In: q, k and v of the earlier tokens of each
     * sequence, [B,(t-1)*3D] (*past is NULL for the first token). Out: the same with
     * this token, [B,t*3D]. past is NULL when x has whole sequences. */
    cla_tensor **past;
} coder_input;

/* Reads the keys of the blocks: "norm", "norm_epsilon", "activation", "feed_forward",
 * "bias", "kv_heads"; and "position" with those of rotary positions. positions: names
 * of the kinds of positions that the model has, in the order of coder_position, or NULL
 * where the model has set config->position; model, heads and head_width of config must
 * be set. Errors: CLA_E_INPUT. */
cla_status cla_coder_configure(coder_config *config, cla_config *settings,
                               const char *const *positions);

/* Returns d, the width of a head. */
int cla_coder_head_width(const coder_config *config);

/* Adds to settings the keys of cla_coder_configure that a run of an older version
 * lacks. Errors: CLA_E_NOMEM. */
cla_status cla_coder_renew(cla_config *settings, const cla_config *run);

/* Adds the parameters, named prefix.self.in and so on. Errors: CLA_E_NOMEM. */
cla_status cla_coder_init(coder_layer *layer, const coder_config *config,
                          cla_params *params, const char *prefix, bool decoder);

/* Computes kv and value of coder_input from the encoder's output [Nm,D]. value is NULL
 * unless the layer is hard. */
cla_status cla_coder_remember(coder_layer *layer, cla_tape *tape, cla_tensor **kv,
                              cla_tensor **value, cla_tensor *memory);

/* Computes y [N,D] of x [N,D]. */
cla_status cla_coder_forward(coder_layer *layer, cla_tape *tape, cla_tensor **y,
                             cla_tensor *x, const coder_input *in);

/* The input of cla_coder_step, which runs a decoder layer for one token of B sequences.
 * */
typedef struct coder_step_input {
    cla_tensor *kv;          // [Nm,2Hd] from cla_coder_remember
    const cla_tensor *range; // [B,2] first row in kv and number of rows
    cla_tensor *store;       // in, out: [places,2Hd] keys and values of all tokens
    const cla_tensor *place; // [B,stride] places of the tokens of a sequence
    int count;               // tokens of each sequence, this one included
    cla_tensor *distances;   // as in attn_rows
    attn_turn turn;          // rotary positions of these tokens
} coder_step_input;

/* Returns whether cla_coder_step can replace cla_coder_forward. */
bool cla_coder_steps(const coder_layer *layer, const cla_runtime *rt);

/* Computes y [B,D] of x [B,D]; not for training. Errors: those of cla_step_self. */
cla_status cla_coder_step(coder_layer *layer, cla_tape *tape, cla_tensor **y,
                          cla_tensor *x, const coder_step_input *in);

/* Computes the feed-forward block of u [N,D] and adds residual, which may be NULL. */
cla_status cla_coder_feed(coder_layer *layer, cla_tape *tape, cla_tensor **y,
                          cla_tensor *u, cla_tensor *residual);

/* Add and apply a single norm, such as that at the end of a stack. */
cla_status cla_coder_norm_init(coder_norm *norm, const coder_config *config,
                               cla_params *params, const char *name);
cla_status cla_coder_norm_forward(coder_norm *norm, cla_tape *tape, cla_tensor **y,
                                  cla_tensor *x);

/* Applies dropout on a training tape; otherwise y = x. */
cla_status cla_coder_dropout(cla_tape *tape, cla_tensor **y, cla_tensor *x, double p);

/* Computes sinusoidal position encodings: n sines, then n cosines, of the angles
 * pos / 10000^(k/(n-1)), k = 0 .. n-1, n = D/2. The last number for an odd D is 0.
 *
 * signal  out  [count,D] of positions 0 .. count-1
 *
 * Source: Vaswani et al. 2017, section 3.5, as in tensor2tensor. */
void cla_coder_signal(float *signal, int64_t count, int64_t D);

/* Computes the same with the angles of the paper, pos / 10000^(2k/D): sines of the
 * ceil(D/2) smallest k, then cosines of the floor(D/2) smallest.
 *
 * Source: Vaswani et al. 2017, section 3.5; halves as in Marian (Junczys-Dowmunt et al.
 * 2018). */
void cla_coder_signal_marian(float *signal, int64_t count, int64_t D);

/* Writes the position encodings of OpenNMT-py, whose sines and cosines take turns:
 *
 *   signal[t,2k] = sin(t / 10000^(2k/D)), signal[t,2k+1] = cos(t / 10000^(2k/D))
 *
 * signal  out  [count,D] of positions 0 .. count-1
 *
 * Source: OpenNMT-py, PositionalEncoding. */
void cla_coder_signal_opennmt(float *signal, int64_t count, int64_t D);
