/* transformer_format.c - the models that the formats of other programs can express. */
#include <string.h>

#include "base/json.h"
#include "models/transformer.h"

const double cla_transformer_marian_epsilon = 1e-5;

/* Returns the key of what neither format can express, or NULL. */
static const char *foreign_to_both(const transformer_config *c)
{
    const coder_config *b = &c->coder;
    const struct {
        bool foreign;
        const char *key;
    } keys[] = {
        { strcmp(b->self.way->name, "softmax") != 0, "attention" },
        { b->convolutions != 0, "convolutions" },
        { b->hard.on, "cross" },
        { c->source_vector, "source_vector" },
        { c->positions == TRANSFORMER_LEARNED, "position" },
        { c->embedding_norm, "embedding_norm" },
        { b->rms, "norm" },
        { b->gated, "feed_forward" },
        { b->unbiased, "bias" },
        { b->kv_heads != b->heads, "kv_heads" },
        { b->position != CODER_SINE, "position" },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].foreign) {
            return keys[i].key;
        }
    }
    return NULL;
}

/* Returns the key of what transformers cannot express: MarianMT, or M2M-100 with norms
 * in front and its own positions and start. */
static const char *foreign_to_transformers(const transformer_config *c, bool marian)
{
    const bool sines =
        c->positions == TRANSFORMER_TENSOR2TENSOR || c->positions == TRANSFORMER_MARIAN;
    const bool positions = marian ? sines : c->positions == TRANSFORMER_FAIRSEQ;
    return !positions                                               ? "position"
           : c->start_end == marian                                 ? "start_end"
           : c->coder.pre_norm == marian                            ? "pre_norm"
           : !marian && c->output_bias                              ? "output_bias"
           : c->coder.norm_epsilon > cla_transformer_marian_epsilon ? "norm_epsilon"
                                                                    : NULL;
}

const char *cla_transformer_foreign(const transformer_config *c, int format)
{
    const char *key = format == TRANSFORMER_CLATTN ? NULL : foreign_to_both(c);
    if (key || format == TRANSFORMER_CLATTN) {
        return key;
    }
    return format != TRANSFORMER_CTRANSLATE2
               ? foreign_to_transformers(c, format == TRANSFORMER_MARIANMT)
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
    static const char *const programs[] = { "clattn", "MarianMT", "CTranslate2",
                                            "M2M-100" };
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
