/* attn.h - self-attention layers: the frame, and what a way of attending is.
 *
 * A layer projects x [N,D] to q, k and v in one product, lets its variant attend, and
 * gives [N,H,d] back. A variant is one file, src/nn/attn_<name>.c, and one row in
 * attention.c; models choose it by name. */
#pragma once

#include "clattn/ops.h"
#include "nn/custom.h"

/* What a model asks of a layer. */
typedef struct attn_config {
    const char *variant;         // "softmax", "conv2d", "conv", "direct", "custom"
    int model, heads, width;     // D, H, d
    bool temperature;            // learnable factors of q, k and v, for each head
    cla_activation activation;   // conv2d, conv
    int length;                  // t of conv and direct: the longest sequence
    bool absolute, relative;     // direct: which scores it learns, one at least
    bool spectral;               // ... the relative ones as a real Fourier spectrum
    const custom_config *custom; // custom: outlives the layer
} attn_config;

struct attn_variant;

typedef struct attn_layer {
    attn_config config;
    const struct attn_variant *variant;
    cla_tensor *qkv;           // [D,3*H*d]
    cla_tensor *gamma;         // [3*H], NULL without temperature
    cla_tensor *filter, *bias; // conv2d: [H,3,3], [H]; conv: [H,3,t,t], [H,t]
    cla_tensor *absolute;      // direct: [H,t,t]
    cla_tensor *relative;      // ... [H,2t], the spectrum where that is learned
    cla_tensor *learned[CLA_CUSTOM_INPUTS]; // custom
} attn_layer;

/* What a variant gets. */
typedef struct attn_input {
    cla_tensor *q, *k, *v; // [N,H,d]
    const cla_ragged *rows;
    cla_tensor **map; // out, may be NULL: the map after the softmax
} attn_input;

typedef struct attn_variant {
    const char *name;
    cla_status (*init)(attn_layer *layer, cla_params *params, const char *prefix);
    cla_status (*forward)(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in);
} attn_variant;

/* Adds the layer's parameters, named prefix.qkv and so on.
 * Errors: CLA_E_INPUT (unknown variant: lists them), CLA_E_NOMEM. */
cla_status cla_attn_init(attn_layer *layer, const attn_config *config,
                         cla_params *params, const char *prefix);

/* o [N,H,d] of x [N,D]. */
cla_status cla_attn_forward(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                            cla_tensor *x, const cla_ragged *rows, cla_tensor **map);
