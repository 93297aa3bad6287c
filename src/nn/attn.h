/* attn.h - multi-head attention layers, with variants (ways) of attention by name.
 *
 *   y = [head 1 | ... | head H] W_o + b_o, head h = attention(q_h, k_h, v_h)
 *
 * with q = x W_q + b_q and so on. Vaswani et al. 2017, section 3.2. A bare layer, as in
 * taggers, has no biases, and no W_o when the heads together are as wide as x.
 *
 * A layer projects x [N,D]; its way computes the attention. A way consists of
 *
 *   1. an attn_way in a file src/nn/attn_<name>.c, with a private struct of its
 *      settings and parameters,
 *   2. its name in the list `ways` of src/nn/meson.build,
 *   3. its rows of docs/attention.md, which tests/tasks/pairs.c reads.
 *
 * The network decides which layers have the way; the others have softmax attention.
 *
 * With fewer heads of keys and values than of queries, H / K heads of queries share a
 * head of keys (Ainslie et al. 2023, grouped-query attention). They are repeated before
 * the way, so every way has them. */
#pragma once

#include <stddef.h>

#include "base/config.h"
#include "clattn/ops.h"
#include "nn/param.h"

struct attn_way;

enum { ATTN_STATE = 1024 };

/* The configuration of a layer. */
typedef struct attn_config {
    const struct attn_way *way; // NULL: softmax
    int model, heads, width;    // D, H, d
    int kv_heads;               // K, of keys and values, divides H; 0: H
    int length;                 // t: the longest sequence; 0: no limit
    bool bare;                  // no biases, see above
    bool unbiased;              // no biases, but W_o
    bool unscaled;              // scores are not divided by sqrt(d)
    bool alibi;                 // head h's fall by 2^(-8 (h+1) / H) a token of distance
    bool temperature;           // trained factors of q, k and v for each head
    double dropout;             // of attention weights, in training
    union {
        max_align_t align;
        unsigned char bytes[ATTN_STATE];
    } state; // settings of the way and, in a layer, its parameters
} attn_config;

/* Returns the private struct of the way. */
static inline void *cla_attn_state(attn_config *config)
{
    return &config->state;
}

typedef struct attn_layer {
    attn_config config;
    cla_tensor *in, *in_bias; // q, k, v [D,(H+2K)d], [(H+2K)d]; cross: q [D,Hd], [Hd]
    cla_tensor *memory, *memory_bias; // cross: k, v [D,2Hd], [2Hd]; else NULL
    cla_tensor *gamma;                // [3H], NULL without temperature
    cla_tensor *out, *out_bias;       // [parts*Hd,D], [D]; NULL if absent
} attn_layer;

/* The rotary positions of a batch. */
typedef struct attn_turn {
    cla_tensor *table;     // [P,2r] as of cla_rotary; NULL: there are none
    cla_tensor *positions; // [N] of the tokens
} attn_turn;

/* The sequences of queries and of keys. */
typedef struct attn_rows {
    const cla_ragged *query, *key; // the same object for self-attention
    /* NULL: all queries; else query is key, and the last tokens of each sequence alone
     * have a result. */
    const cla_ragged *asked;
    bool causal;
    cla_tensor **map; // out: [B,H,Tmax,Smax] attention weights; may be NULL
    /* [2R+1,H] added to the score of a key at the distance n from its query, row n + R;
     * beyond R the nearest row. The last query stands at the last key. NULL: nothing is
     * added. */
    cla_tensor *distances;
} attn_rows;

/* The input of a way. */
typedef struct attn_input {
    cla_tensor *q, *k, *v; // [Nq,H,d], [Nk,H,d] twice: columns of wider projections
    const cla_ragged *q_rows, *k_rows; // differ in decoding steps and cross-attention
    cla_attention_options options;     // causal: in a decoder
} attn_input;

/* Computes on the host, from the map [T,T] of the softmax, the map that weights the
 * values. */
typedef cla_status attn_show(attn_layer *layer, const float *map, int head, int T,
                             float *shown);

typedef struct attn_way {
    const char *name;
    size_t size; // bytes of its state, at most ATTN_STATE; initially zero
    /* Reads the way's keys into the state of config, whose sizes are set. NULL: the way
     * has no keys. Errors: CLA_E_INPUT. */
    cla_status (*configure)(attn_config *config, cla_config *settings);
    /* Adds the parameters, named prefix.<what>. NULL: none. Errors: CLA_E_NOMEM. */
    cla_status (*init)(attn_layer *layer, cla_params *params, const char *prefix);
    /* Computes o [Nq,parts*H*d], in any shape of that size. */
    cla_status (*forward)(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in);
    attn_show *show;  // NULL: values are weighted with the softmax's map
    int parts;        // widths H*d of the result of forward; 0 means 1
    bool decoder;     // for decoders, too: obeys causal and q_rows
    bool causal;      // obeys causal, for whole sequences alone: a decoder gives it
                      // all queries again
    bool all;         // all layers of a translator have it by default
    bool tied;        // has parameters of positions: at most t tokens
    bool whole;       // no dropout of attention weights
    bool without_map; // has no map of tokens by tokens
    /* Settings that suit a small network, such as "window=3", for tests; NULL ends
     * them. NULL: the defaults do. */
    const char *const *small;
} attn_way;

extern const attn_way cla_attn_softmax, cla_attn_direct;
extern const attn_way *const cla_attn_ways[]; // all; NULL ends them

/* Reads the key "attention" and the keys of the way that it names; the sizes of config
 * must be set. Keys of other ways are accepted but not read. Errors: CLA_E_INPUT. */
cla_status cla_attn_configure(attn_config *config, cla_config *settings);

/* Selects a way, whatever the value of "attention", and reads its keys. Errors:
 * CLA_E_INPUT. */
cla_status cla_attn_choose(attn_config *config, const attn_way *way,
                           cla_config *settings);

/* Refuses dropout p of weights, the key "attention_dropout", for attention that
 * convolves whole maps. Errors: CLA_E_INPUT. */
cla_status cla_attn_check_dropout(const attn_way *way, double p, const cla_config *s);

/* Reads the key "attention_layers", such as "2-3", into the first and the last layer,
 * from 1, which hold the default. Errors: CLA_E_INPUT (not within 1 .. layers). */
cla_status cla_attn_layers(int *first, int *last, cla_config *settings, int layers);

/* Adds up the weights of each key over the `parts` heads in which a query sees it: p
 * [T,parts*T] of a head to map [T,T], which holds zeros. */
void cla_attn_sum_parts(float *map, const float *p, int T, int parts);

/* Returns the way of a layer: softmax when config has none. */
const attn_way *cla_attn_way(const attn_config *config);

/* Adds the layer's parameters, named prefix.in (in a bare layer prefix.qkv) and so on.
 * cross: for cla_attn_cross. Errors: CLA_E_NOMEM. */
cla_status cla_attn_init(attn_layer *layer, const attn_config *config,
                         cla_params *params, const char *prefix, bool cross);

/* Computes qkv [N,3Hd] of x [N,D], for cla_attn_self. turn NULL: no rotary
 * positions. */
cla_status cla_attn_project(attn_layer *layer, cla_tape *tape, cla_tensor **qkv,
                            cla_tensor *x, const attn_turn *turn);

/* Computes kv [N,2Hd] of an encoder's output [N,D], for cla_attn_cross. All decoding
 * steps share it. */
cla_status cla_attn_remember(attn_layer *layer, cla_tape *tape, cla_tensor **kv,
                             cla_tensor *memory);

/* Computes y [Nq,D]: q of query [Nq,3Hd] attends to k and v of key [Nk,3Hd]. A bare
 * layer's y is [Nq,Hd]. Where rows of queries and keys differ, queries are the last
 * tokens of the keys' sequences. Errors: those of the way's ops. */
cla_status cla_attn_self(attn_layer *layer, cla_tape *tape, cla_tensor **y,
                         cla_tensor *query, cla_tensor *key, const attn_rows *rows);

/* Returns whether step attention (ops/step_attention.h) can replace a layer in a
 * decoder: it has softmax attention, and the device has the kernels. (These add
 * distances, too.) */
bool cla_attn_steps(const attn_layer *layer, const cla_runtime *rt);

/* Computes y [Nq,D]: x [Nq,D] attends to kv [Nk,2Hd]. */
cla_status cla_attn_cross(attn_layer *layer, cla_tape *tape, cla_tensor **y,
                          cla_tensor *x, cla_tensor *kv, const attn_rows *rows);
