/* attn.h - attention layers: the frame, and the ways of attending that it knows by
 * name.
 *
 *   y = [head 1 | ... | head H] W_o + b_o, head h = attention(q_h, k_h, v_h)
 *
 * with q = x W_q + b_q and so on. Vaswani et al. 2017, section 3.2. A bare layer, as
 * taggers have it, has no biases, and no W_o where the heads together are as wide as x.
 *
 * A layer projects x [N,D] and lets its way attend. A way is
 *
 *   1. an attn_way in a file src/nn/attn_<name>.c, which meson.build lists, with a
 *      struct of its settings and parameters that no other file sees,
 *   2. its row in the table of attn.c,
 *   3. rows of docs/attention.md and of tests/tasks/ways.c.
 *
 * Which layers have it is the network's affair; the others attend plainly. */
#pragma once

#include <stddef.h>

#include "base/config.h"
#include "clattn/ops.h"
#include "nn/param.h"

struct attn_way;

enum { ATTN_STATE = 1024 };

/* What a model asks of a layer. */
typedef struct attn_config {
    const struct attn_way *way; // NULL: softmax
    int model, heads, width;    // D, H, d
    int length;                 // t: the longest sequence; 0: there is no longest one
    bool bare;                  // see above
    bool temperature;           // learnable factors of q, k and v, for each head
    double dropout;             // of weights, in training
    union {
        max_align_t align;
        unsigned char bytes[ATTN_STATE];
    } state; // of the way: its settings, and in a layer its parameters
} attn_config;

/* The way's own struct. */
static inline void *cla_attn_state(attn_config *config)
{
    return &config->state;
}

typedef struct attn_layer {
    attn_config config;
    cla_tensor *in, *in_bias;         // q, k, v [D,3Hd], [3Hd]; cross: q [D,Hd], [Hd]
    cla_tensor *memory, *memory_bias; // cross: k, v [D,2Hd], [2Hd]; else NULL
    cla_tensor *gamma;                // [3H], NULL without temperature
    cla_tensor *out, *out_bias;       // [parts*Hd,D], [D]; NULL where there are none
} attn_layer;

/* Who attends to whom. */
typedef struct attn_rows {
    const cla_ragged *query, *key; // the same object for a sequence and itself
    bool causal;
    cla_tensor **map; // out: [B,H,Tmax,Smax] weights; NULL: not wanted
} attn_rows;

/* What a way gets. */
typedef struct attn_input {
    cla_tensor *q, *k, *v; // [Nq,H,d], [Nk,H,d] twice: columns of wider projections
    const cla_ragged *q_rows, *k_rows; // one object but where a decoder goes by tokens
    cla_attention_options options;     // causal: in a decoder
} attn_input;

/* A map [T,T] on the host as the values are weighted with it, from the softmax's. */
typedef cla_status attn_show(attn_layer *layer, const float *map, int head, int T,
                             float *shown);

typedef struct attn_way {
    const char *name;
    size_t size; // of its state, at most ATTN_STATE; zero at first
    /* Reads the way's keys into config's state; the sizes stand in config. NULL: there
     * are none. Errors: CLA_E_INPUT. */
    cla_status (*configure)(attn_config *config, cla_config *settings);
    /* Adds the parameters, named prefix.<what>. NULL: none. Errors: CLA_E_NOMEM. */
    cla_status (*init)(attn_layer *layer, cla_params *params, const char *prefix);
    /* o [Nq,parts*H*d] in any shape of that size. */
    cla_status (*forward)(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in);
    attn_show *show;  // NULL: the softmax's map
    int parts;        // widths H*d that forward gives; 0 counts as 1
    bool decoder;     // a decoder may have it: it obeys causal and q_rows
    bool all;         // by default all layers of a translator have it
    bool tied;        // to places: sequences have at most t tokens
    bool whole;       // no weight can be dropped
    bool without_map; // there is no map of tokens by tokens
} attn_way;

extern const attn_way cla_attn_direct;

/* Reads the key "attention" and those of the way it names; the sizes stand in config.
 * The keys of other ways are known, and not read. Errors: CLA_E_INPUT. */
cla_status cla_attn_configure(attn_config *config, cla_config *settings);

/* Makes it that way, whatever "attention" says, and reads the way's keys. Errors: the
 * same. */
cla_status cla_attn_choose(attn_config *config, const attn_way *way,
                           cla_config *settings);

/* Reads "attention_layers", such as "2-3", into the first and the last layer, from 1;
 * they hold the default. Errors: CLA_E_INPUT (not within layers). */
cla_status cla_attn_layers(int *first, int *last, cla_config *settings, int layers);

/* The way of a layer. */
const attn_way *cla_attn_way(const attn_config *config);

/* Adds the layer's parameters, named prefix.in and so on; a bare one's prefix.qkv.
 * cross: for cla_attn_cross. Errors: CLA_E_NOMEM. */
cla_status cla_attn_init(attn_layer *layer, const attn_config *config,
                         cla_params *params, const char *prefix, bool cross);

/* qkv [N,3Hd] of x [N,D], for cla_attn_self. */
cla_status cla_attn_project(attn_layer *layer, cla_tape *tape, cla_tensor **qkv,
                            cla_tensor *x);

/* kv [N,2Hd] of an encoder's result [N,D], for cla_attn_cross: the same for every step.
 */
cla_status cla_attn_remember(attn_layer *layer, cla_tape *tape, cla_tensor **kv,
                             cla_tensor *memory);

/* y [Nq,D]: q of query [Nq,3Hd] attends to k and v of key [Nk,3Hd]. A bare layer's y is
 * [Nq,Hd]. Errors: those of the way's ops. */
cla_status cla_attn_self(attn_layer *layer, cla_tape *tape, cla_tensor **y,
                         cla_tensor *query, cla_tensor *key, const attn_rows *rows);

/* Whether a decoder may use step attention (ops/step_attention.h) in a layer's place:
 * it attends plainly, and the device has the kernels. */
bool cla_attn_steps(const attn_layer *layer, const cla_runtime *rt);

/* y [Nq,D]: x [Nq,D] attends to kv [Nk,2Hd]. */
cla_status cla_attn_cross(attn_layer *layer, cla_tape *tape, cla_tensor **y,
                          cla_tensor *x, cla_tensor *kv, const attn_rows *rows);
