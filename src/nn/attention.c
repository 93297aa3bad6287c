/* attention.c - the frame of self-attention layers, and the table of variants. */
#include <string.h>

#include "nn/attn.h"

extern const attn_variant attn_softmax, attn_conv2d, attn_conv, attn_direct,
    attn_custom;

static const attn_variant *const variants[] = {
    &attn_softmax, &attn_conv2d, &attn_conv, &attn_direct, &attn_custom,
};

static cla_status find_variant(const char *name, const attn_variant **out)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (strcmp(variants[i]->name, name) == 0) {
            *out = variants[i];
            return CLA_OK;
        }
    }
    return cla_fail(
        CLA_E_INPUT,
        "attention: no variant '%s' (softmax, conv2d, conv, direct, custom)", name);
}

cla_status cla_attn_init(attn_layer *layer, const attn_config *config,
                         cla_params *params, const char *prefix)
{
    *layer = (attn_layer){ .config = *config };
    CLA_TRY(find_variant(config->variant, &layer->variant));
    const int64_t D = config->model, H = config->heads, d = config->width;
    /* Each head has its own matrices, so the fans are those of a head. */
    const cla_init glorot = { CLA_INIT_GLOROT_NORMAL, 0, D, d };
    CLA_TRY(cla_param_add(params, &layer->qkv, glorot, 2, (int64_t[]){ D, 3 * H * d },
                          "%s.qkv", prefix));
    if (config->temperature) {
        const cla_init ones = { CLA_INIT_ONES, 0, 0, 0 };
        CLA_TRY(cla_param_add(params, &layer->gamma, ones, 1, (int64_t[]){ 3 * H },
                              "%s.gamma", prefix));
    }
    return layer->variant->init ? layer->variant->init(layer, params, prefix) : CLA_OK;
}

/* q, k and v scaled by a learnable factor for each head. */
static cla_status scale(attn_layer *layer, cla_tape *tape, cla_tensor **qkv)
{
    const int64_t N = cla_tensor_dim(*qkv, 0), d = layer->config.width;
    const int64_t heads = 3 * (int64_t)layer->config.heads;
    cla_tensor *split = NULL, *scaled = NULL;
    CLA_TRY(cla_tensor_reshape(tape, &split, *qkv, 3, (int64_t[]){ N, heads, d }));
    CLA_TRY(cla_scale_heads(tape, &scaled, split, layer->gamma));
    return cla_tensor_reshape(tape, qkv, scaled, 2, (int64_t[]){ N, heads * d });
}

cla_status cla_attn_forward(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                            cla_tensor *x, const cla_ragged *rows, cla_tensor **map)
{
    cla_tensor *qkv = NULL;
    attn_input in = { .rows = rows, .map = map };
    const int64_t H = layer->config.heads, d = layer->config.width;
    CLA_TRY(cla_linear(tape, &qkv, x, layer->qkv, NULL, CLA_NONE, NULL));
    if (layer->gamma) {
        CLA_TRY(scale(layer, tape, &qkv));
    }
    CLA_TRY(cla_tensor_columns(tape, &in.q, qkv, 0, H, d));
    CLA_TRY(cla_tensor_columns(tape, &in.k, qkv, H * d, H, d));
    CLA_TRY(cla_tensor_columns(tape, &in.v, qkv, 2 * H * d, H, d));
    return layer->variant->forward(layer, tape, o, &in);
}
