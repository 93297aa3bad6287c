/* transformer_format.c - the models that the formats of other programs can express. */
#include <string.h>

#include "base/json.h"
#include "models/transformer.h"

const double cla_transformer_marian_epsilon = 1e-5;

/* A key, and whether its value cannot be expressed. */
typedef struct format_key {
    bool foreign;
    const char *key;
} format_key;

static const char *first_of(const format_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (keys[i].foreign) {
            return keys[i].key;
        }
    }
    return NULL;
}

/* Returns the key of what T5 does not have, or NULL. */
static const char *foreign_to_t5(const transformer_config *c)
{
    const coder_config *b = &c->coder;
    const bool known =
        b->gated ? b->activation == CLA_SILU || b->activation == CLA_GELU_TANH
                 : b->activation == CLA_RELU || b->activation == CLA_GELU ||
                       b->activation == CLA_SILU || b->activation == CLA_GELU_TANH;
    const format_key keys[] = {
        { b->position != CODER_BUCKETS, "position" },
        { !b->unscaled, "attention_scale" },
        { !b->rms, "norm" },
        { !b->unbiased, "bias" },
        { !b->pre_norm, "pre_norm" },
        { !known, "feed_forward" },
        { b->kv_heads != b->heads, "kv_heads" },
        { b->convolutions != 0, "convolutions" },
        { b->hard.on, "cross" },
        { c->source_vector, "source_vector" },
        { !c->unscaled, "embedding_scale" },
        { c->embedding_norm, "embedding_norm" },
        { c->output_bias, "output_bias" },
        { c->tied != TRANSFORMER_TIED_ALL && c->tied != TRANSFORMER_TIED_INPUT,
          "tied" },
        { !c->start_pad && !c->start_end && !c->start_unknown, "start_pad" },
    };
    return first_of(keys, sizeof keys / sizeof *keys);
}

/* Returns the key of what the other formats cannot express, or NULL. learned: they have
 * mBART's positions and norms of embeddings. */
static const char *foreign_to_both(const transformer_config *c, bool learned)
{
    const coder_config *b = &c->coder;
    const format_key keys[] = {
        { strcmp(b->self.way->name, "softmax") != 0, "attention" },
        { b->convolutions != 0, "convolutions" },
        { b->hard.on, "cross" },
        { c->source_vector, "source_vector" },
        { (c->positions == TRANSFORMER_LEARNED) != learned, "position" },
        { c->embedding_norm != learned, "embedding_norm" },
        { b->rms, "norm" },
        { b->gated, "feed_forward" },
        { b->unbiased, "bias" },
        { b->kv_heads != b->heads, "kv_heads" },
        { b->position != CODER_SINE, "position" },
        { b->unscaled, "attention_scale" },
        { b->heads * cla_coder_head_width(b) != b->model, "head_width" },
        { c->start_unknown, "start_unknown" },
        { c->output_scale, "output_scale" },
        { c->tied == TRANSFORMER_TIED_INPUT, "tied" },
    };
    return first_of(keys, sizeof keys / sizeof *keys);
}

/* Returns the key of what transformers cannot express: MarianMT, or M2M-100 with norms
 * in front and its own positions and start, or mBART-50, which has its own, too. */
static const char *foreign_to_transformers(const transformer_config *c, int format)
{
    const bool marian = format == TRANSFORMER_MARIANMT;
    const bool sines =
        c->positions == TRANSFORMER_TENSOR2TENSOR || c->positions == TRANSFORMER_MARIAN;
    const bool positions = format == TRANSFORMER_MBART ||
                           (marian ? sines : c->positions == TRANSFORMER_FAIRSEQ);
    return !positions                                               ? "position"
           : c->start_end == marian                                 ? "start_end"
           : c->coder.pre_norm == marian                            ? "pre_norm"
           : format == TRANSFORMER_M2M100 && c->output_bias         ? "output_bias"
           : c->coder.norm_epsilon > cla_transformer_marian_epsilon ? "norm_epsilon"
                                                                    : NULL;
}

const char *cla_transformer_foreign(const transformer_config *c, int format)
{
    if (format == TRANSFORMER_T5) {
        return foreign_to_t5(c);
    }
    const bool learned = format == TRANSFORMER_MBART ||
                         (format == TRANSFORMER_CTRANSLATE2 &&
                          c->positions == TRANSFORMER_LEARNED && c->embedding_norm);
    const char *key = format == TRANSFORMER_CLATTN ? NULL : foreign_to_both(c, learned);
    if (key || format == TRANSFORMER_CLATTN) {
        return key;
    }
    return format != TRANSFORMER_CTRANSLATE2 ? foreign_to_transformers(c, format)
           : c->coder.activation == CLA_NONE ? "activation"
                                             : NULL;
}

cla_status cla_transformer_check_format(const transformer_config *c,
                                        const cla_config *s, int format, bool asked)
{
    const char *key = cla_transformer_foreign(c, format);
    if (!key) {
        return CLA_OK;
    }
    static const char *const programs[] = { "clattn",  "MarianMT", "CTranslate2",
                                            "M2M-100", "T5",       "mBART-50" };
    const bool other = format == TRANSFORMER_CTRANSLATE2;
    const bool older = strcmp(key, "position") == 0 &&
                       c->coder.position == CODER_SINE &&
                       json_object_get(s->values, "positions");
    key = older ? "positions" : key; // a run of an older version
    char *text = cla_json_write(json_object_get(s->values, key), JSON_ENCODE_ANY,
                                CLA_JSON_EXACT);
    const char *value = text ? text : "?", *program = programs[format];
    const cla_status status =
        asked
            ? cla_config_refuse(
                  s, "format", "is '%s', and %s is %s: %s has no such models",
                  other ? "ctranslate2" : "huggingface", key, value, program)
            : cla_config_refuse(s, key, "is %s: %s has no such models", value, program);
    free(text);
    return status;
}
