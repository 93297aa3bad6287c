/* coder.h - a layer of a Transformer's encoder or decoder.
 *
 *   encoder: convolutions (usually none), self-attention, feed-forward
 *   decoder: self-attention, attention to the memory, feed-forward
 *   before:  x <- x + dropout(sub(norm(x)))
 *   after:   x <- norm(x + dropout(sub(x)))
 *   feed-forward: dropout(act(x W_1 + b_1)) W_2 + b_2
 *   convolution:  relu(b + sum_u x[n + u - (K-1)/2] W[u]) within the sequence
 *   separable:    relu(b + (sum_u x[n + u - (K-1)/2] * w[u]) W), channel by channel w
 *
 * Vaswani et al. 2017, section 3.1; convolutions before attention as in Yu et al. 2018,
 * QANet. */
#pragma once

#include "nn/attn.h"
#include "nn/cross_hard.h"

enum { CODER_CONVOLUTIONS = 8 };

static const double CODER_NORM_EPSILON = 1e-6;

/* act of the feed-forward block. */
typedef enum coder_activation { CODER_RELU, CODER_GELU, CODER_SILU } coder_activation;

typedef struct coder_config {
    int model, heads, inner; // D, H, width of the feed-forward block
    bool pre_norm;           // norms before the blocks; else after
    int activation;          // coder_activation
    double norm_epsilon;     // added to a norm's variance; 0: CODER_NORM_EPSILON
    double dropout;          // of a block's result
    double attention_dropout, relu_dropout;
    attn_config self;       // how a sequence attends to itself
    cross_hard_config hard; // decoder: attention to the memory, where it is on
    int convolutions;       // encoder: before the attention, at most CODER_CONVOLUTIONS
    int taps;               // of each: K
    int full;               // K matrices; else separable
} coder_config;

typedef struct coder_norm {
    cla_tensor *gain, *bias; // [D]
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
    cross_hard hard; // in cross's place where it is on
    cla_tensor *w1, *b1, *w2, *b2;
    coder_norm self_norm, cross_norm, feed_norm;
} coder_layer;

/* What a layer reads beside x. */
typedef struct coder_input {
    attn_rows rows;        // of self-attention
    cla_tensor *kv;        // decoder: [Nm,2D] of coder_remember; hard: keys [Nm,D]
    cla_tensor *value;     // hard: values [Nm,D]; else NULL
    cross_hard_pass *pass; // hard; may be NULL
    attn_rows memory;      // decoder: who attends to it
    /* Decoding a token at a time: in, what the sequences' earlier tokens left
     * [B,(t-1)*3D] (NULL for the first); out, the same with this one [B,t*3D]. NULL
     * where x is whole sequences. */
    cla_tensor **past;
} coder_input;

/* Adds the parameters, named prefix.self.in and so on. Errors: CLA_E_NOMEM. */
cla_status coder_init(coder_layer *layer, const coder_config *config,
                      cla_params *params, const char *prefix, bool decoder);

/* What a decoder's layer attends to of an encoder's result [Nm,D]: kv and value of
 * coder_input. */
cla_status coder_remember(coder_layer *layer, cla_tape *tape, cla_tensor **kv,
                          cla_tensor **value, cla_tensor *memory);

/* y [N,D] of x [N,D]. */
cla_status coder_forward(coder_layer *layer, cla_tape *tape, cla_tensor **y,
                         cla_tensor *x, const coder_input *in);

/* One token of each of B sequences, through a decoder's layer. */
typedef struct coder_step_input {
    cla_tensor *kv;          // [Nm,2D] of coder_remember
    const cla_tensor *range; // [B,2] which rows of kv
    cla_tensor *store;       // in, out: [places,2D] keys and values of all tokens
    const cla_tensor *place; // [B,stride] where those of a sequence are
    int count;               // tokens of each, this one too
} coder_step_input;

/* Whether coder_step does what coder_forward does. */
bool coder_steps(const coder_layer *layer, const cla_runtime *rt);

/* y [B,D] of x [B,D]; not for training. Errors: those of cla_step_self. */
cla_status coder_step(coder_layer *layer, cla_tape *tape, cla_tensor **y, cla_tensor *x,
                      const coder_step_input *in);

/* The feed-forward block of u [N,D], added to residual; NULL: to nothing. */
cla_status coder_feed(coder_layer *layer, cla_tape *tape, cla_tensor **y, cla_tensor *u,
                      cla_tensor *residual);

/* A norm of its own, at a stack's end. */
cla_status coder_norm_init(coder_norm *norm, const coder_config *config,
                           cla_params *params, const char *name);
cla_status coder_norm_forward(coder_norm *norm, cla_tape *tape, cla_tensor **y,
                              cla_tensor *x);

/* Dropout in training, x itself otherwise. */
cla_status coder_dropout(cla_tape *tape, cla_tensor **y, cla_tensor *x, double p);

/* The signal that says where in a sentence a token is: half sines, then half cosines,
 * of pos / 10000^(k/(n-1)), k = 0 .. n-1, n = D/2; the last number of an odd D is 0.
 *
 * signal  out  [count,D] of positions 0 .. count-1
 *
 * Source: Vaswani et al. 2017, section 3.5, as in tensor2tensor. */
void coder_signal(float *signal, int64_t count, int64_t D);

/* The same with the angles of the paper, pos / 10000^(2k/D): sines of the ceil(D/2)
 * smallest k, then cosines of the floor(D/2) smallest.
 *
 * Source: Vaswani et al. 2017, section 3.5; halves as in Marian (Junczys-Dowmunt et al.
 * 2018). */
void coder_signal_marian(float *signal, int64_t count, int64_t D);
