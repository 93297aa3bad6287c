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
        { c->positions == TRANSFORMER_FAIRSEQ, "positions" },
        { c->start_end, "start_end" },
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

const char *cla_transformer_foreign(const transformer_config *c, int format)
{
    if (format == TRANSFORMER_CLATTN) {
        return NULL;
    }
    const char *key = foreign_to_both(c);
    if (key) {
        return key;
    }
    if (format == TRANSFORMER_MARIANMT) {
        return c->coder.pre_norm                                        ? "pre_norm"
               : c->coder.norm_epsilon > cla_transformer_marian_epsilon ? "norm_epsilon"
                                                                        : NULL;
    }
    return c->coder.activation == CLA_NONE ? "activation" : NULL;
}

cla_status cla_transformer_check_format(const transformer_config *c,
                                        const cla_config *s, int format, bool asked)
{
    const char *key = cla_transformer_foreign(c, format);
    if (!key) {
        return CLA_OK;
    }
    const bool marian = format == TRANSFORMER_MARIANMT;
    char *text = cla_json_write(json_object_get(s->values, key), JSON_ENCODE_ANY,
                                CLA_JSON_EXACT);
    const char *value = text ? text : "?",
               *program = marian ? "MarianMT" : "CTranslate2";
    const cla_status status =
        asked
            ? cla_config_refuse(
                  s, "format", "is '%s', and %s is %s: %s has no such models",
                  marian ? "huggingface" : "ctranslate2", key, value, program)
            : cla_config_refuse(s, key, "is %s: %s has no such models", value, program);
    free(text);
    return status;
}
