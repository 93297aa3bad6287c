/* tagger_maps.c - the attention maps of a tagger on the host.
 *
 * The device gives the maps after the softmax; a sentence is small, so the convolution
 * is
 * done again here. */
#include "models/tagger_maps.h"

#include <math.h>
#include <string.h>

void tagger_view_free(tagger_view *view)
{
    for (int i = 0; i < view->count; i++) {
        free(view->maps[i].weight);
    }
    free(view->maps);
    free(view->logits);
    *view = (tagger_view){ 0 };
}

static float activate(cla_activation activation, float x)
{
    switch (activation) {
    case CLA_RELU:
        return fmaxf(x, 0);
    case CLA_TANH:
        return tanhf(x);
    default:
        return x;
    }
}

/* s[i,j] = act(b + sum_{u,v} w[u,v] p[i+u-1, j+v-1]) */
static void convolve_2d(float *s, const float *p, const float *w, float b, int T,
                        cla_activation activation)
{
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++) {
            float sum = b;
            for (int u = 0; u < 3; u++) {
                for (int v = 0; v < 3; v++) {
                    const int y = i + u - 1, x = j + v - 1;
                    const bool inside = y >= 0 && y < T && x >= 0 && x < T;
                    sum += inside ? w[u * 3 + v] * p[y * T + x] : 0;
                }
            }
            s[i * T + j] = activate(activation, sum);
        }
    }
}

/* s[i,o] = act(b[o] + sum_{u,c} w[u,c,o] p[i+u-1,c]); w [3,t,t], b [t] */
static void convolve_1d(float *s, const float *p, const float *w, const float *b, int T,
                        ptrdiff_t t, cla_activation activation)
{
    for (int i = 0; i < T; i++) {
        for (int o = 0; o < T; o++) {
            float sum = b[o];
            for (int u = i ? 0 : 1; u < 3 && i + u - 1 < T; u++) {
                for (int c = 0; c < T; c++) {
                    sum += p[(i + u - 1) * T + c] * w[(u * t + c) * t + o];
                }
            }
            s[i * T + o] = activate(activation, sum);
        }
    }
}

static cla_status download(const cla_tensor *t, float **host)
{
    CLA_TRY(cla_alloc(host, (size_t)cla_size(t) + 1, sizeof **host));
    return cla_tensor_download(t, *host);
}

static cla_status convolved(const attn_layer *layer, const float *p, int head, int T,
                            float *s)
{
    float *w = NULL, *b = NULL;
    cla_status status = download(layer->filter, &w);
    status = status ? status : download(layer->bias, &b);
    const ptrdiff_t t = layer->config.length;
    const bool rows = layer->filter->rank == 4; // the one-dimensional filter
    if (!status && rows) {
        convolve_1d(s, p, w + 3 * t * t * head, b + t * head, T, t,
                    layer->config.activation);
    } else if (!status) {
        convolve_2d(s, p, w + (ptrdiff_t)head * 9, b[head], T,
                    layer->config.activation);
    }
    free(w);
    free(b);
    return status;
}

static cla_status add(tagger_view *view, tagger_map map)
{
    CLA_TRY(cla_alloc(&map.weight, (size_t)map.tokens * (size_t)map.tokens + 1,
                      sizeof *map.weight));
    view->maps[view->count++] = map;
    return CLA_OK;
}

static cla_status add_layer(const tagger *m, int i, const float *p, int T,
                            tagger_view *view)
{
    const size_t size = (size_t)T * (size_t)T;
    for (int h = 0; h < m->config.heads; h++) {
        const float *head = p + (size_t)h * size;
        CLA_TRY(add(view, (tagger_map){ i, h, false, T, NULL }));
        memcpy(view->maps[view->count - 1].weight, head, size * sizeof *head);
        if (m->layer[i].filter) {
            CLA_TRY(add(view, (tagger_map){ i, h, true, T, NULL }));
            CLA_TRY(convolved(&m->layer[i], head, h, T,
                              view->maps[view->count - 1].weight));
        }
    }
    return CLA_OK;
}

cla_status tagger_look(tagger *m, cla_tape *tape, const tagger_batch *batch,
                       tagger_view *view)
{
    cla_tensor *logits = NULL, *device[TAGGER_LAYERS] = { NULL };
    const int T = (int)cla_ragged_longest(batch->rows);
    const size_t room = 2 * (size_t)m->config.layers * (size_t)m->config.heads;
    CLA_TRY(cla_alloc(&view->maps, room, sizeof *view->maps));
    CLA_TRY(tagger_logits(m, tape, &logits, batch, device));
    CLA_TRY(download(logits, &view->logits));
    for (int i = 0; i < m->config.layers; i++) {
        float *host = NULL;
        cla_status status = download(device[i], &host);
        status = status ? status : add_layer(m, i, host, T, view);
        free(host);
        CLA_TRY(status);
    }
    return CLA_OK;
}
