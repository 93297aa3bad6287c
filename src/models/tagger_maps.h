/* tagger_maps.h - the attention maps of a tagger on the host, for inspection. */
#pragma once

#include "models/tagger.h"
#include "nn/attn.h"

typedef struct tagger_map {
    int layer, head;
    bool convolved; // after the convolution; only for layers with one
    int tokens;     // T
    float *weight;  // [T,T], row = query
} tagger_map;

/* Attention maps and logits of one sequence. */
typedef struct tagger_view {
    tagger_map *maps;
    int count;
    float *logits; // [T,tags]
} tagger_view;

/* Computes logits and maps of one sequence. Maps are in order of layer and head, the
 * map of the softmax before the convolved one. Call cla_tagger_view_free also on
 * failure. Errors: CLA_E_INPUT (the attention has no maps), CLA_E_NOMEM, CLA_E_DEVICE.
 * */
cla_status cla_tagger_look(tagger *model, cla_tape *tape, const tagger_batch *batch,
                           tagger_view *view);
void cla_tagger_view_free(tagger_view *view);

/* Adds the maps of a layer of any network: `maps` [1,H,T,parts*T] of cla_attn_self, for
 * which view->maps must have room. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_view_add(tagger_view *view, attn_layer *l, int layer,
                        const cla_tensor *maps, int T);
/* Copies a tensor to the host; the caller frees it. Errors: the same. */
cla_status cla_view_download(const cla_tensor *t, float **host);
