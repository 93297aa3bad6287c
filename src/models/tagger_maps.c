/* tagger_maps.c - downloads the attention maps of a tagger for inspection. */
#include "models/tagger_maps.h"

#include <stdlib.h>
#include <string.h>

void cla_tagger_view_free(tagger_view *view)
{
    for (int i = 0; i < view->count; i++) {
        free(view->maps[i].weight);
    }
    free(view->maps);
    free(view->logits);
    *view = (tagger_view){ 0 };
}

cla_status cla_view_download(const cla_tensor *t, float **host)
{
    CLA_TRY(cla_alloc(host, (size_t)cla_size(t) + 1, sizeof **host));
    return cla_tensor_download(t, *host);
}

static cla_status add(tagger_view *view, tagger_map map)
{
    CLA_TRY(cla_alloc(&map.weight, (size_t)map.tokens * (size_t)map.tokens + 1,
                      sizeof *map.weight));
    view->maps[view->count++] = map;
    return CLA_OK;
}

static cla_status add_layer(attn_layer *l, int layer, const float *p, int T, int parts,
                            tagger_view *view)
{
    attn_show *show = cla_attn_way(&l->config)->show;
    for (int h = 0; h < l->config.heads; h++) {
        CLA_TRY(add(view, (tagger_map){ layer, h, false, T, NULL }));
        const float *map = view->maps[view->count - 1].weight;
        cla_attn_sum_parts(view->maps[view->count - 1].weight,
                           p + (ptrdiff_t)h * T * T * parts, T, parts);
        if (show) {
            CLA_TRY(add(view, (tagger_map){ layer, h, true, T, NULL }));
            CLA_TRY(show(l, map, h, T, view->maps[view->count - 1].weight));
        }
    }
    return CLA_OK;
}

cla_status cla_view_add(tagger_view *view, attn_layer *l, int layer,
                        const cla_tensor *maps, int T)
{
    float *host = NULL;
    const int rows = (int)cla_tensor_dim(maps, 2);
    const int parts = rows ? (int)(cla_tensor_dim(maps, 3) / rows) : 1;
    cla_status status = cla_view_download(maps, &host);
    for (int i = 0; i < l->config.heads * T && rows > T && !status; i++) {
        memmove(host + (ptrdiff_t)i * T,
                host + (i / T * (ptrdiff_t)rows + i % T) * rows,
                (size_t)T * sizeof *host);
    }
    status = status ? status : add_layer(l, layer, host, T, parts, view);
    free(host);
    return status;
}

cla_status cla_tagger_look(tagger *m, cla_tape *tape, const tagger_batch *batch,
                           tagger_view *view)
{
    cla_tensor *logits = NULL, *device[TAGGER_LAYERS] = { NULL };
    const int T = (int)cla_ragged_longest(batch->rows);
    const size_t room = 2 * (size_t)m->config.layers * (size_t)m->config.heads;
    const attn_way *way = cla_attn_way(&m->config.attn);
    if (way->without_map) {
        return cla_fail(CLA_E_INPUT,
                        "attention is '%s': it has no map of words by words",
                        way->name);
    }
    CLA_TRY(cla_alloc(&view->maps, room, sizeof *view->maps));
    CLA_TRY(cla_tagger_logits(m, tape, &logits, batch, device));
    CLA_TRY(cla_view_download(logits, &view->logits));
    for (int i = 0; i < m->config.layers; i++) {
        CLA_TRY(cla_view_add(view, &m->layer[i], i, device[i], T));
    }
    return CLA_OK;
}
