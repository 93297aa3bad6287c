/* foreign_layers.c - layers, weights and settings of Hugging Face's folders. */
#include <stdio.h>
#include <string.h>

#include "exchange/foreign_huggingface.h"

enum { NAME = 96 };

/* ---- layers ------------------------------------------------------------------ */

/* Adds the attention of a layer and its norm. memory: to the encoder's output. */
static cla_status add_attention(const foreign *f, cla_made *made, const char *from,
                                const char *to, bool memory)
{
    static const char *const parts[] = { "q_proj", "k_proj", "v_proj", "out_proj" };
    const int64_t D = f->t->config.coder.model;
    char name[NAME], weight[NAME], bias[NAME];
    for (int i = 0; i < 4; i++) {
        const bool rest = memory && (i == 1 || i == 2);
        snprintf(name, sizeof name, "%s.%s", from,
                 i == 3 ? "out"
                 : rest ? "memory"
                        : "in");
        snprintf(weight, sizeof weight, "%s.%s.weight", to, parts[i]);
        snprintf(bias, sizeof bias, "%s.%s.bias", to, parts[i]);
        const int64_t first = i == 3 ? 0 : (i - rest) * D;
        CLA_TRY(cla_foreign_add_linear(
            f, made, &(foreign_linear){ name, first, D, weight, bias }));
    }
    snprintf(name, sizeof name, "%s.norm", from);
    snprintf(weight, sizeof weight, "%s_layer_norm.weight", to);
    snprintf(bias, sizeof bias, "%s_layer_norm.bias", to);
    return cla_foreign_add_norm(f, made, name, weight, bias);
}

static cla_status add_layer(const foreign *f, cla_made *made, const char *stack, int i)
{
    const int64_t D = f->t->config.coder.model, F = f->t->config.coder.inner;
    char from[NAME], to[NAME], weight[NAME], bias[NAME];
    snprintf(from, sizeof from, "%s.%d.self", stack, i);
    snprintf(to, sizeof to, "model.%s.layers.%d.self_attn", stack, i);
    CLA_TRY(add_attention(f, made, from, to, false));
    if (*stack == 'd') {
        snprintf(from, sizeof from, "%s.%d.cross", stack, i);
        snprintf(to, sizeof to, "model.%s.layers.%d.encoder_attn", stack, i);
        CLA_TRY(add_attention(f, made, from, to, true));
    }
    for (int k = 0; k < 2; k++) {
        snprintf(from, sizeof from, "%s.%d.feed.%s", stack, i, k ? "out" : "in");
        snprintf(weight, sizeof weight, "model.%s.layers.%d.fc%d.weight", stack, i,
                 k + 1);
        snprintf(bias, sizeof bias, "model.%s.layers.%d.fc%d.bias", stack, i, k + 1);
        CLA_TRY(cla_foreign_add_linear(
            f, made, &(foreign_linear){ from, 0, k ? D : F, weight, bias }));
    }
    snprintf(from, sizeof from, "%s.%d.feed.norm", stack, i);
    snprintf(weight, sizeof weight, "model.%s.layers.%d.final_layer_norm.weight", stack,
             i);
    snprintf(bias, sizeof bias, "model.%s.layers.%d.final_layer_norm.bias", stack, i);
    return cla_foreign_add_norm(f, made, from, weight, bias);
}

cla_status cla_huggingface_layers(const foreign *f, cla_made *made)
{
    for (int i = 0; i < f->t->model.config.layers; i++) {
        CLA_TRY(add_layer(f, made, "encoder", i));
    }
    for (int i = 0; i < f->t->model.config.decoder_layers; i++) {
        CLA_TRY(add_layer(f, made, "decoder", i));
    }
    return CLA_OK;
}

cla_status cla_huggingface_save(const huggingface *h, cla_publish *p, cla_made *made)
{
    char *path = NULL;
    json_t *meta = json_pack("{s:s}", "format", "pt");
    cla_status status = meta ? CLA_OK : cla_fail(CLA_E_NOMEM, "export: out of memory");
    for (size_t i = 0; i < made->count && h->half && !status; i++) {
        cla_st_tensor *t = &made->tensors[i];
        const bool bias = strcmp(t->name, "final_logits_bias") == 0; // stays float32
        status = bias ? CLA_OK : cla_made_halve(t, h->f->path);
    }
    status = status ? status : cla_publish_file(p, "model.safetensors", &path);
    status = status ? status : cla_st_save(path, made->tensors, made->count, meta);
    free(path);
    json_decref(meta);
    return status;
}

/* ---- settings ---------------------------------------------------------------- */

static json_t *early(const search_options *o)
{
    return o->early == SEARCH_NEVER ? json_string("never")
                                    : json_boolean(o->early == SEARCH_FIRST);
}

static json_t *forced(const huggingface *h)
{
    return h->f->t->search.forced ? json_integer(h->end) : json_null();
}

/* Returns whether to write a length penalty. transformers warns of one beside greedy
 * search. */
static bool penalises(const search_options *o)
{
    return o->beam > 1 || o->kind != SEARCH_TENSOR2TENSOR;
}

cla_status cla_huggingface_search(const huggingface *h, cla_publish *p)
{
    const search_options *o = &h->f->t->search;
    const int most =
        o->most ? o->most + 1 : cla_foreign_positions(h->f); // with the start
    json_t *search = json_pack(
        "{s:i, s:i, s:i, s:o, s:i, s:o, s:i, s:o*, s:o*}", "decoder_start_token_id",
        h->start, "eos_token_id", h->end, "pad_token_id", h->pad, "forced_eos_token_id",
        forced(h), "num_beams", o->beam, "early_stopping", early(o), "max_length", most,
        "length_penalty", penalises(o) ? json_real(o->alpha) : NULL, "bad_words_ids",
        o->never_pad ? json_pack("[[i]]", h->pad) : NULL);
    return cla_foreign_write_json(p, "generation_config.json", search);
}

static json_t *sizes(const huggingface *h)
{
    const transformer_config *c = &h->f->t->model.config;
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I}", "d_model",
        c->coder.model, "encoder_attention_heads", c->coder.heads,
        "decoder_attention_heads", c->coder.heads, "encoder_ffn_dim", c->coder.inner,
        "decoder_ffn_dim", c->coder.inner, "encoder_layers", c->layers,
        "num_hidden_layers", c->layers, "decoder_layers", c->decoder_layers,
        "max_position_embeddings",
        c->max_positions ? c->max_positions : cla_foreign_positions(h->f), "vocab_size",
        (json_int_t)h->rows, "decoder_vocab_size", (json_int_t)h->rows);
}

cla_status cla_huggingface_config(const huggingface *h, cla_publish *p)
{
    static const char *const activations[] = {
        [CLA_NONE] = "linear",        [CLA_RELU] = "relu", [CLA_TANH] = "tanh",
        [CLA_SIGMOID] = "sigmoid",    [CLA_GELU] = "gelu", [CLA_SILU] = "swish",
        [CLA_GELU_TANH] = "gelu_new",
    };
    const transformer_config *c = &h->f->t->config;
    json_t *all = sizes(h);
    json_t *rest = json_pack(
        "{s:[s], s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:f, s:f, s:f, s:i, s:i, s:i, s:o}",
        "architectures", h->network, "model_type", h->type, "torch_dtype",
        h->half ? "float16" : "float32", "activation_function",
        activations[c->coder.activation], "is_encoder_decoder", 1, "scale_embedding",
        !c->unscaled, "share_encoder_decoder_embeddings", h->shared,
        "tie_word_embeddings", c->tied != TRANSFORMER_SEPARATE, "dropout",
        c->coder.dropout, "attention_dropout", c->coder.attention_dropout,
        "activation_dropout", c->coder.relu_dropout, "eos_token_id", h->end,
        "pad_token_id", h->pad, "decoder_start_token_id", h->start,
        "forced_eos_token_id", forced(h));
    if (!all || !rest || json_object_update(all, rest)) {
        json_decref(all);
        all = NULL;
    }
    json_decref(rest);
    return cla_foreign_write_json(p, "config.json", all);
}
