/* oracle.h - the definition of each op in plain C and double precision.
 *
 * No cleverness: these are what the kernels are held against. Layouts as in ops.h;
 * offsets are [B+1]. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/optimiser.h"

/* y, x [B,H,T,S]; q_len, k_len [B] or NULL */
void oracle_masked_softmax(double *y, const double *x, int B, int H, int T, int S,
                           const int32_t *q_len, const int32_t *k_len, bool causal);

/* y [M,N] = op(a) op(b) */
void oracle_matmul(double *y, const double *a, const double *b, int M, int N, int K,
                   bool transpose_a, bool transpose_b);

/* Attributes of operators by the activations that they take: those whose slope follows
 * from the result, and all. */
#define ORACLE_FUSED       "activation=none|relu|tanh|sigmoid"
#define ORACLE_ACTIVATIONS ORACLE_FUSED "|gelu|silu|gelu_tanh"

/* y [N,out]; b, residual may be NULL; activation as cla_activation */
void oracle_linear(double *y, const double *x, const double *w, const double *b,
                   const double *residual, int N, int in, int out, int activation);

/* w [out,in]; b may be NULL */
void oracle_tied_linear(double *y, const double *x, const double *w, const double *b,
                        int N, int in, int out);

/* n numbers */
void oracle_gelu(double *y, const double *x, int64_t n);
void oracle_gelu_tanh(double *y, const double *x, int64_t n);
void oracle_silu(double *y, const double *x, int64_t n);

typedef struct oracle_attention_shape {
    int B, H, d;
    const int32_t *q_offsets, *k_offsets; // [B+1]
    bool causal;
    int window; // positions; 0 = all
    int area;   // heads; 0 = the own head only
    int edge;   // cla_edge
    // keep[((n*H + h)*area + g)*Smax + j] weights (0 or 1/(1-p)); NULL keeps all
    const double *keep;
    int Smax;
    const double *absolute, *relative; // [H,t,t], [H,2t]; NULL: none
    int t;
    // Gaussians: center [N,H], or NULL for a query's own place; sigma [N,H], or [H]
    // where one is all queries', or NULL for none; keys more than reach widths away are
    // invisible
    const double *center, *sigma;
    bool one_sigma;
    double reach;
} oracle_attention_shape;

/* What attention's dropout makes of weights [rows,heads,longest]: the draws of a tape's
 * first op under the default key (seed 42, step 0, stream 0), to free; NULL without
 * dropout. */
double *oracle_keep(int rows, int heads, int longest, float dropout);

/* o [Nq,H,d]; map [B,H,Tmax,area*Smax] or NULL. Serves attention, band_attention and
 * band_attention_2d, which differ in the visible set only. */
void oracle_attention(double *o, double *map, const double *q, const double *k,
                      const double *v, const oracle_attention_shape *s);

/* The same with one head, and with an area of heads. */
void oracle_band_attention(double *o, const double *q, const double *k, const double *v,
                           const oracle_attention_shape *s);
void oracle_band_attention_2d(double *o, const double *q, const double *k,
                              const double *v, const oracle_attention_shape *s);

/* The same with what absolute and relative add to the scores. */
void oracle_position_attention(double *o, double *map, const double *q, const double *k,
                               const double *v, const oracle_attention_shape *s);

/* One pair of a query and a key, with its scaled score. */
typedef struct oracle_pair {
    double s;
    int i, j, h, b, T, S, ni, nj;
} oracle_pair;

/* Attention with functions of pairs: x is q, k, v and inputs. A NULL function changes
 * nothing. */
typedef struct oracle_modifier {
    double (*score)(const oracle_pair *p, double *const *x);
    bool (*mask)(const oracle_pair *p, double *const *x);
    double (*weight)(double w, const oracle_pair *p, double *const *x); // of visible
} oracle_modifier;

/* o [Nq,H,d]; map [B,H,Tmax,Smax] or NULL; s: B, H, d, offsets, causal, window, keep
 * and Smax. */
void oracle_custom_attention(double *o, double *map, double *const *x,
                             const oracle_modifier *m, const oracle_attention_shape *s);

/* x: q, k, v, rel_k and rel_v, the last two [2R+1,d], or [H,2R+1,d] if own; o [Nq,H,d];
 * map [B,H,Tmax,Smax] or NULL; s: B, H, d, offsets, causal, keep and Smax. */
void oracle_relative_attention(double *o, double *map, double *const *x, int R,
                               bool own, const oracle_attention_shape *s);

/* The same with Gaussians around centres. */
void oracle_gaussian_attention(double *o, double *map, const double *q, const double *k,
                               const double *v, const oracle_attention_shape *s);

/* y, x [N,C]: y = (slope len + shift) sigmoid(x) + base */
void oracle_length_sigmoid(double *y, const double *x, int B, int C,
                           const int32_t *offsets, double slope, double shift,
                           double base);

/* w [H,kh,kw], b [H]; activation as oracle_linear */
void oracle_conv_attention_2d(double *o, const double *q, const double *k,
                              const double *v, const double *w, const double *b, int B,
                              int H, int d, const int32_t *offsets, int kh, int kw,
                              int activation);

/* y [N,Ca+Cb] */
void oracle_concat(double *y, const double *a, const double *b, int N, int Ca, int Cb);

/* y [N,D]; table [V,D]; ids outside 0 .. V-1 give zeros */
void oracle_embedding(double *y, const double *table, const int32_t *ids, int N, int D,
                      int V, double scale);

/* x, y [N,D]; gamma, beta [D] */
void oracle_layer_norm(double *y, const double *x, const double *gamma,
                       const double *beta, int N, int D, double eps);

/* The mean over rows of logits [N,V] whose target is in 0 .. V-1; 0 without any. A row
 * counts weights [N] times; NULL: once. */
double oracle_cross_entropy(const double *logits, const int32_t *targets, int N, int V,
                            double smoothing, const double *weights);

/* logp, id [N,K]: the K largest of each row of logits [N,V], their log softmax. */
void oracle_top_k(double *logp, int32_t *id, const double *logits, int N, int V, int K);

/* id [N]: the last class of each row of logits [N,V] before which at most the share
 * u[n] of its softmax lies; before [N,V]: that share of each class. */
void oracle_multinomial(int32_t *id, double *before, const double *logits,
                        const double *u, int N, int V);

/* One step on one parameter and its moments; step counts from 1. */
typedef void oracle_optimiser(double *p, double *const *moment, double g, int step,
                              const cla_optimiser_rates *rates);
/* NULL when there is none of that name. */
oracle_optimiser *oracle_optimiser_named(const char *name);

void oracle_ema(double *e, const double *p, int n, double decay);

double oracle_norm(const double *x, int64_t n);

/* x [N,in], w [taps,in,out], b [out] or NULL, y [N,out]; activation as oracle_linear */
void oracle_conv1d(double *y, const double *x, const double *w, const double *b, int B,
                   const int32_t *offsets, int taps, int in, int out, int activation);

/* w [H,3,t,t], b [H,t]; activation as oracle_linear */
void oracle_conv_attention_1d(double *o, const double *q, const double *k,
                              const double *v, const double *w, const double *b, int B,
                              int H, int d, const int32_t *offsets, int t,
                              int activation);

/* Packed queries [Nq,D] and keys [Nk,D], and maps: T x S numbers of each sequence. */
typedef struct oracle_hard_shape {
    int B, D;
    const int32_t *q_offsets, *k_offsets; // [B+1]
    double scale;
    bool mean;
} oracle_hard_shape;

double oracle_sigmoid(double x);
void oracle_hard_scores(double *scores, const double *q, const double *k,
                        const oracle_hard_shape *s);

/* The numbers in [0,1) that a sampled gate's probability must exceed, with the draws of
 * cla_tape_random(seed, step), the stream-th of its ops; rows count from first_row. */
void oracle_hard_draws(double *draws, const oracle_hard_shape *s, uint32_t seed,
                       uint32_t step, uint32_t stream, uint32_t first_row);

/* o [Nq,D] for gates as a map */
void oracle_hard_attention(double *o, const double *gates, const double *v,
                           const oracle_hard_shape *s);

/* Returns of rewards [Nq]; their means over sequences, for each token. */
void oracle_reinforce_returns(double *returns, const double *rewards,
                              const oracle_hard_shape *s);
void oracle_reinforce_mean(double *mean, const double *returns,
                           const oracle_hard_shape *s);

/* ln pi and H of one query with S keys. */
double oracle_log_policy(const double *scores, const double *gates, int S);
double oracle_gate_entropy(const double *scores, int S);

/* The loss with advantages [Nq] that are constants. */
double oracle_reinforce(const double *scores, const double *gates,
                        const double *advantage, const oracle_hard_shape *s,
                        double entropy);

/* A cell along packed sequences: w [in+n,4n] and b [4n] of an LSTM, [in+n,2n] and [2n]
 * of a GRU, whose candidate has w_c [in+n,n] and b_c [n], w [in,n] of an SRU, whose
 * gates have w_c [in,2n] and b_c [2n]; b and b_c may be NULL. */
typedef struct oracle_cell {
    int B, in, n;
    const int32_t *offsets; // [B+1]
    bool reverse;
    const double *w, *b, *w_c, *b_c;
} oracle_cell;

/* y [N,n]; h, c [B,n]; x [N,in]; h0, c0 [B,n] or NULL */
void oracle_lstm(double *y, double *h, double *c, const double *x, const double *h0,
                 const double *c0, const oracle_cell *s);
void oracle_gru(double *y, double *h, const double *x, const double *h0,
                const oracle_cell *s);
void oracle_sru(double *y, double *c, const double *x, const double *c0,
                const oracle_cell *s);

/* Queries [Nq,d] on a memory [Nk,d], or each level on the one before. */
typedef struct oracle_ham_shape {
    int B, d, depth;
    const int32_t *q_offsets, *k_offsets; // [B+1]
    double scale;
    bool self; // k is not looked at
} oracle_ham_shape;

/* out [Nq,d]; c [depth] */
void oracle_ham(double *out, const double *q, const double *k, const double *c,
                const oracle_ham_shape *s);

/* The l-th number of softmax(c). */
double oracle_level_weight(const double *c, int depth, int l);

/* x: m [Nk,inner], q [Nq,inner], v [inner], values [Nk,D]; context [Nq,D], weights and
 * scores as maps; s: B, D, offsets */
void oracle_additive_attention(double *context, double *weights, double *scores,
                               double *const *x, int inner, const oracle_hard_shape *s);

/* out [B,d]; of s: B, d, offsets */
void oracle_max_attention(double *out, const double *q, const double *k,
                          const oracle_ham_shape *s);
