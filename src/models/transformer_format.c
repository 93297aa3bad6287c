/* transformer_format.c - the models that the formats of other programs can express. */
#include <string.h>

#include "base/json.h"
#include "models/transformer.h"

const double transformer_marian_epsilon = 1e-5;

const char *transformer_foreign(const transformer_config *c, int format)
{
    const bool marian = format == TRANSFORMER_MARIANMT;
    if (format == TRANSFORMER_CLATTN) {
        return NULL;
    }
    return strcmp(c->coder.self.way->name, "softmax") != 0 ? "attention"
           : c->coder.convolutions                         ? "convolutions"
           : c->coder.hard.on                              ? "cross"
           : c->source_vector                              ? "source_vector"
           : marian && c->coder.pre_norm                   ? "pre_norm"
           : !marian && c->coder.activation == CLA_NONE    ? "activation"
           : marian && c->coder.norm_epsilon > transformer_marian_epsilon
               ? "norm_epsilon"
               : NULL;
}

cla_status transformer_check_format(const transformer_config *c, const cla_config *s,
                                    int format, bool asked)
{
    const char *key = transformer_foreign(c, format);
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
