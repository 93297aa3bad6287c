/* self.h - ways of attending to itself in a Transformer's layer, known by name.
 *
 * mha.c projects x [N,D] to q, k and v, lets the layer's variant attend, and multiplies
 * what comes back by W_o. A variant is
 *
 *   1. a self_variant in a file of its own, src/nn/self_<name>.c, which meson.build
 *      lists,
 *   2. its row in the table of self.c,
 *   3. its settings in self_config, with their defaults in SELF_DEFAULTS, and its
 *      parameters in self_layer, below,
 *   4. a row of docs/translation.md, and its test in tests/nn/self.c.
 *
 * Which layers have it (attention_layers) is the transformer's affair, and so is that
 * the other layers attend plainly. */
#pragma once

#include "base/config.h"
#include "clattn/ops.h"
#include "nn/custom.h"
#include "nn/param.h"

struct self_variant;

/* What a model asks of a layer. */
typedef struct self_config {
    const struct self_variant *variant; // NULL: softmax
    int model, heads;                   // D, H
    int window;                         // csan1d, csan2d: positions, odd
    int area, edge;                     // csan2d: heads, odd; cla_edge
    int directed;                       // bi_direct: heads that look one way
    int block;                          // block: tokens
    int clip;                           // rel_pos: distances with vectors of their own
    int local_heads, local_predictor;   // neighbor, local: heads; width m
    double local_sigma;                 // neighbor: the width that it starts from
    double local_width;                 // local_hard: twice a sigma
    bool local_truncate;                // local_hard: no key beyond local_width
    custom_config *custom;              // custom: outlives the layer
} self_config;

#define SELF_DEFAULTS                                                                 \
    .window = 11, .area = 3, .edge = CLA_EDGE_TRUNCATE, .block = 4, .local_sigma = 3, \
    .local_width = 10, .local_truncate = true, .clip = 16

typedef struct self_linear {
    cla_tensor *w, *b; // [in,out], [out]
} self_linear;

/* block: W_1 [D,D], W_2 [D,H], W_3 [D,D], W_4 [2D,D] and their biases. */
enum {
    SELF_BLOCK_HIDDEN,
    SELF_BLOCK_SCORE,
    SELF_BLOCK_BETWEEN,
    SELF_BLOCK_GATE,
    SELF_BLOCK_LINEARS
};

typedef struct self_layer {
    self_config config;
    self_linear block[SELF_BLOCK_LINEARS];
    cla_tensor *rel_k, *rel_v;              // rel_pos: [2*clip+1,D/H]
    cla_tensor *local_root;                 // neighbor: [local_heads], sigma = root^2
    cla_tensor *learned[CLA_CUSTOM_INPUTS]; // custom
    self_linear local, local_center, local_width; // [D,m], [m,local_heads] twice
} self_layer;

/* What a variant gets. */
typedef struct self_input {
    cla_tensor *q, *k, *v; // [Nq,H,d], [Nk,H,d] twice: columns of wider projections
    cla_tensor *query;     // [Nq,3D], of which q is the first third
    const cla_ragged *q_rows, *k_rows; // one object but where a decoder goes by tokens
    cla_attention_options options;     // causal: in a decoder
} self_input;

typedef struct self_variant {
    const char *name;
    /* Reads the variant's keys into config, where model and heads and the defaults
     * stand. NULL: none. Errors: CLA_E_INPUT. */
    cla_status (*configure)(self_config *config, cla_config *settings);
    /* Adds the parameters, named prefix.<what>. NULL: none. Errors: CLA_E_NOMEM. */
    cla_status (*init)(self_layer *layer, cla_params *params, const char *prefix);
    /* o [Nq,parts*D] in any shape of that size. */
    cla_status (*forward)(self_layer *layer, cla_tape *tape, cla_tensor **o,
                          const self_input *in);
    int parts;    // widths D that forward gives; 0 counts as 1
    bool decoder; // the decoder's layers have it too: it obeys causal and q_rows
    bool all;     // by default all layers have it, not only the lowest three
} self_variant;

extern const self_variant self_softmax, self_csan1d, self_csan2d, self_bi_direct,
    self_block, self_rel_pos;
extern const self_variant self_neighbor, self_neighbor_predicted;
extern const self_variant self_local_hard, self_local_soft, self_custom;

/* Reads the key "attention" and those of the variant it names; model and heads stand in
 * config, and custom points to where the keys of custom go. The keys of other variants
 * are known, and not read. Errors: CLA_E_INPUT. */
cla_status self_configure(self_config *config, cla_config *settings);

/* Adds what the variant of layer->config learns. Errors: CLA_E_NOMEM. */
cla_status self_init(self_layer *layer, cla_params *params, const char *prefix);

/* o [Nq,self_parts*D]. Errors: those of the variant's ops. */
cla_status self_forward(self_layer *layer, cla_tape *tape, cla_tensor **o,
                        const self_input *in);

/* How many times D is the width of what the variant gives. */
int self_parts(const self_layer *layer);
