/* foreign_lm_settings.c - writes config.json of a causal language model. */
#include <string.h>

#include "base/json.h"
#include "exchange/foreign_lm.h"

static const char *const program = "transformers";

/* ---- what a family has ---------------------------------------------------------- */

static const lm_config *config_of(const foreign *f)
{
    return &((const language *)f->task)->config;
}

/* Refuses the value of a key. */
static cla_status refuse(const foreign *f, const lm_family *family, const char *key)
{
    const json_t *value = json_object_get(f->settings.values, key);
    char *said = value ? cla_json_write(value, JSON_ENCODE_ANY, CLA_JSON_EXACT) : NULL;
    const cla_status status = cla_config_refuse(
        &f->settings, key, "is %s, which the models '%s' of %s do not have",
        said ? said : "?", family->type, program);
    free(said);
    return status;
}

static const lm_family *family_named(const char *type)
{
    const lm_family *family = cla_lm_families;
    while (strcmp(family->type, type) != 0) {
        family++;
    }
    return family;
}

/* Returns the key in which a model differs from GPT-2, or NULL. */
static const char *unlike_gpt2(const lm_config *c)
{
    const coder_config *coder = &c->coder;
    const bool softmax = coder->self.way == &cla_attn_softmax;
    return coder->rms                        ? "norm"
           : coder->gated                    ? "feed_forward"
           : coder->unbiased                 ? "bias"
           : coder->kv_heads != coder->heads ? "kv_heads"
           : !softmax                        ? "attention"
                                             : NULL;
}

/* The same for Llama. */
static const char *unlike_llama(const lm_config *c)
{
    const coder_config *coder = &c->coder;
    const bool gains = coder->rope.scaling != CODER_YARN && coder->rope.gain != 1;
    return !coder->rms                                        ? "norm"
           : !coder->gated                                    ? "feed_forward"
           : gains                                            ? "rope_gain"
           : coder->rope.width != coder->model / coder->heads ? "rope_part"
                                                              : NULL;
}

/* The same for Mistral, whose layers all have a window. */
static const char *unlike_mistral(const lm_config *c)
{
    const bool all = c->first == 1 && c->last == c->layers;
    return !all ? "attention_layers" : !c->coder.unbiased ? "bias" : unlike_llama(c);
}

/* Returns the key in which a model differs from a family, or NULL. */
static const char *unlike(const lm_config *c, const lm_family *family)
{
    if (!c->coder.pre_norm) {
        return "pre_norm";
    }
    if (strcmp(family->type, "gpt2") == 0) {
        return c->coder.position != CODER_LEARNED ? "position" : unlike_gpt2(c);
    }
    if (strcmp(family->type, "mistral") == 0) {
        return unlike_mistral(c);
    }
    return c->coder.self.way != &cla_attn_softmax ? "attention" : unlike_llama(c);
}

cla_status cla_lm_family_of(const foreign *f, const lm_family **family)
{
    const lm_config *c = config_of(f);
    const bool window = strcmp(c->coder.self.way->name, "csan1d") == 0;
    *family = family_named(c->coder.position != CODER_ROPE ? "gpt2"
                           : window                        ? "mistral"
                                                           : "llama");
    const char *key = unlike(c, *family);
    return key ? refuse(f, *family, key) : CLA_OK;
}

/* ---- settings ------------------------------------------------------------------- */

/* The names of the activations there. */
static const char *activation_of(const lm_config *c)
{
    static const char *const names[] = {
        [CLA_NONE] = "linear",        [CLA_RELU] = "relu", [CLA_TANH] = "tanh",
        [CLA_SIGMOID] = "sigmoid",    [CLA_GELU] = "gelu", [CLA_SILU] = "silu",
        [CLA_GELU_TANH] = "gelu_new",
    };
    return names[c->coder.activation];
}

static json_t *gpt2_settings(const lm_config *c)
{
    return json_pack("{s:i, s:s, s:i, s:f, s:b}", "n_inner", c->coder.inner,
                     "activation_function", activation_of(c), "n_ctx", c->context,
                     "embd_pdrop", c->coder.dropout, "scale_attn_weights", 1);
}

/* The scaling of rotary positions. */
static json_t *scaling_of(const coder_rope *c)
{
    static const char *const names[] = { "default", "linear", "llama3", "yarn" };
    const char *name = names[c->scaling];
    return c->scaling == CODER_UNSCALED ? json_pack("{s:s}", "rope_type", name)
           : c->scaling == CODER_LINEAR
               ? json_pack("{s:s, s:f}", "rope_type", name, "factor", c->factor)
           : c->scaling == CODER_LLAMA3
               ? json_pack("{s:s, s:f, s:f, s:f, s:i}", "rope_type", name, "factor",
                           c->factor, "low_freq_factor", c->low, "high_freq_factor",
                           c->high, "original_max_position_embeddings", c->context)
               : json_pack("{s:s, s:f, s:f, s:f, s:f, s:i}", "rope_type", name,
                           "factor", c->factor, "attention_factor", c->gain,
                           "beta_slow", c->low, "beta_fast", c->high,
                           "original_max_position_embeddings", c->context);
}

/* Both places of rotary positions: of release 4 and of release 5. */
static json_t *rope_of(const coder_rope *c)
{
    json_t *all = json_pack("{s:f, s:o}", "rope_theta", c->base, "rope_parameters",
                            scaling_of(c));
    json_t *now = json_object_get(all, "rope_parameters");
    const bool scaled = c->scaling != CODER_UNSCALED;
    const bool whole =
        !json_object_set_new(now, "rope_theta", json_real(c->base)) &&
        (!scaled || !json_object_set_new(all, "rope_scaling", scaling_of(c)));
    if (!whole) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *llama_settings(const foreign *f)
{
    const lm_config *c = config_of(f);
    const json_t *window = json_object_get(f->settings.values, "window");
    const bool slides = c->coder.self.way != &cla_attn_softmax;
    return json_pack(
        "{s:s, s:i, s:i, s:b, s:b, s:o*}", "hidden_act", activation_of(c),
        "num_key_value_heads", c->coder.kv_heads, "head_dim",
        c->coder.model / c->coder.heads, "attention_bias", !c->coder.unbiased,
        "mlp_bias", !c->coder.unbiased, "sliding_window",
        slides ? json_integer((json_integer_value(window) + 1) / 2) : NULL);
}

/* The settings that both have: those of the run under the names of the family. */
static json_t *shared_settings(const foreign *f, const lm_family *family)
{
    json_t *all = json_object();
    for (const lm_key *k = family->key; k->theirs; k++) {
        json_t *value = json_object_get(f->settings.values, k->ours);
        const bool rows = strcmp(k->ours, "vocabulary") == 0;
        const bool added =
            rows ? !json_object_set_new(all, k->theirs,
                                        json_integer(config_of(f)->pieces))
                 : !json_object_set(all, k->theirs, value);
        if (!added) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static json_t *number_or_null(int32_t id)
{
    return id < 0 ? json_null() : json_integer(id);
}

/* The pieces that end a text: one, or a list; NULL when out of memory. */
static json_t *stops_of(const language *t)
{
    json_t *all = t->stops ? json_pack("[i]", t->end) : number_or_null(t->end);
    for (int i = 0; i < t->stops; i++) {
        if (json_array_append_new(all, json_integer(t->stop_id[i]))) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

/* The pieces around documents, as the tokenizer has them. */
static json_t *ends_of(const foreign *f)
{
    const language *t = (const language *)f->task;
    return json_pack("{s:o, s:o}", "bos_token_id", number_or_null(t->start),
                     "eos_token_id", stops_of(t));
}

/* Moves the keys of more, which is freed, to all. */
static bool take_all(json_t *all, json_t *more)
{
    const bool done = all && more && !json_object_update(all, more);
    json_decref(more);
    return done;
}

cla_status cla_lm_write_settings(const foreign *f, const lm_family *family,
                                 cla_publish *p, bool half)
{
    const bool gpt2 = strcmp(family->type, "gpt2") == 0;
    json_t *all =
        json_pack("{s:[s], s:s, s:s}", "architectures", family->network, "model_type",
                  family->type, "torch_dtype", half ? "float16" : "float32");
    const bool whole =
        take_all(all, shared_settings(f, family)) &&
        take_all(all, gpt2 ? gpt2_settings(config_of(f)) : llama_settings(f)) &&
        (gpt2 || take_all(all, rope_of(&config_of(f)->coder.rope))) &&
        take_all(all, ends_of(f));
    if (!whole) {
        json_decref(all);
        return cla_fail(CLA_E_NOMEM, "export: out of memory");
    }
    const cla_status status =
        cla_foreign_write_json(p, "generation_config.json", ends_of(f));
    if (status) {
        json_decref(all);
        return status;
    }
    return cla_foreign_write_json(p, "config.json", all);
}
