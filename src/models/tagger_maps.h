/* tagger_maps.h - the attention maps of a tagger on the host, to look at. */
#pragma once

#include "models/tagger.h"

typedef struct tagger_map {
    int layer, head;
    bool convolved; // after the convolution; a layer without one has no such map
    int tokens;     // T
    float *weight;  // [T,T], row = query
} tagger_map;

/* What the model thinks of one sequence. */
typedef struct tagger_view {
    tagger_map *maps;
    int count;
    float *logits; // [T,tags]
} tagger_view;

/* Logits and maps of one sequence; layer by layer, head by head, the softmax's map
 * before the convolved one. Freed with tagger_view_free, also when half done.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status tagger_look(tagger *model, cla_tape *tape, const tagger_batch *batch,
                       tagger_view *view);
void tagger_view_free(tagger_view *view);
