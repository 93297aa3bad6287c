/* transformer_settings.c - keys of the Transformer, presets, runs of older versions. */
#include <string.h>

#include "models/transformer.h"
#include "nn/buckets.h"

static const char *const tied_names[] = { "none", "output", "all", "input", NULL };
/* The kinds of transformer_positions, then those that add nothing to embeddings. The
 * key "positions" of older versions had the former alone, beside a "position" of sine,
 * rope or none. */
enum { ROPE = TRANSFORMER_LEARNED + 1, NOWHERE, BUCKETS, ALIBI };
static const char *const position_names[] = { "sine",    "marian", "fairseq", "opennmt",
                                              "learned", "rope",   "none",    "buckets",
                                              "alibi",   NULL };
static const char *const older_names[] = { "tensor2tensor", "marian",  "fairseq",
                                           "opennmt",       "learned", NULL };
static const char *const where_names[] = { "encoder", "decoder", "both", NULL };
static const char *const preset_names[] = { "vaswani", "csan", "hard", NULL };

/* Defaults of the presets for keys that a config lacks: model, Noam schedule. */
static const char *const preset_model[][6] = {
    { "pre_norm=false", "tied=all", "source_vector=false", "attention_dropout=0",
      "relu_dropout=0", NULL },
    { "pre_norm=true", "tied=none", "source_vector=true", "attention_dropout=0",
      "relu_dropout=0", NULL },
    { "pre_norm=true", "tied=all", "source_vector=false", "attention_dropout=0.1",
      "relu_dropout=0.1", NULL },
};
static const char *const preset_noam[][3] = {
    { "warmup=4000", "lr=1", NULL },
    { "warmup=4000", "lr=1", NULL },
    { "warmup=8000", "lr=2", NULL },
};
static const char *const all_presets[] = { "optimiser=adam", "schedule=noam", NULL };
static const char *const all_adam[] = { "beta2=0.98", "epsilon=1e-9", NULL };

static cla_status give(cla_config *s, const char *const *assignments)
{
    for (int i = 0; assignments[i]; i++) {
        CLA_TRY(cla_config_give(s, assignments[i], "preset"));
    }
    return CLA_OK;
}

static bool is(const cla_config *s, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(s->values, key));
    return text && strcmp(text, value) == 0;
}

static cla_status give_preset(cla_config *s, int preset)
{
    CLA_TRY(give(s, preset_model[preset]));
    CLA_TRY(give(s, all_presets));
    CLA_TRY(is(s, "optimiser", "adam") ? give(s, all_adam) : CLA_OK);
    return is(s, "schedule", "noam") ? give(s, preset_noam[preset]) : CLA_OK;
}

/* Reads the keys of heads. */
static cla_status read_heads(coder_config *c, cla_config *s)
{
    bool scaled = true;
    c->head_width = 0;
    CLA_TRY(cla_config_int(s, "head_width", &c->head_width, 0, 1 << 14));
    CLA_TRY(cla_config_bool(s, "attention_scale", &scaled));
    c->unscaled = !scaled;
    return c->head_width || c->model % c->heads == 0
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "translator: dim %d is no multiple of %d heads",
                          c->model, c->heads);
}

/* Reads the keys of position "buckets". */
static cla_status read_buckets(coder_config *c, cla_config *s)
{
    c->buckets = 32;
    c->bucket_reach = 128;
    CLA_TRY(cla_config_int(s, "buckets", &c->buckets, 4, CLA_BUCKETS));
    CLA_TRY(cla_config_int(s, "bucket_reach", &c->bucket_reach, 2, CLA_BUCKET_REACH));
    return c->bucket_reach > c->buckets / 2
               ? CLA_OK
               : cla_config_refuse(s, "buckets",
                                   "is %d, must be below twice the bucket_reach, %d",
                                   c->buckets, c->bucket_reach);
}

static cla_status read_coder(coder_config *c, cla_config *s)
{
    CLA_TRY(cla_config_int(s, "dim", &c->model, 1, 1 << 14));
    CLA_TRY(cla_config_int(s, "heads", &c->heads, 1, 256));
    CLA_TRY(cla_config_int(s, "inner", &c->inner, 1, 1 << 16));
    CLA_TRY(cla_config_bool(s, "pre_norm", &c->pre_norm));
    CLA_TRY(cla_config_double(s, "dropout", &c->dropout, 0, 0.99));
    CLA_TRY(cla_config_double(s, "attention_dropout", &c->attention_dropout, 0, 0.99));
    CLA_TRY(cla_config_double(s, "relu_dropout", &c->relu_dropout, 0, 0.99));
    CLA_TRY(read_heads(c, s));
    CLA_TRY(read_buckets(c, s));
    return cla_coder_configure(c, s, NULL);
}

/* Reads "attention_where". In a decoder, attention must not see later tokens. */
static cla_status read_where(transformer_config *c, cla_config *s)
{
    CLA_TRY(cla_config_choice(s, "attention_where", where_names, &c->where));
    const attn_way *way = c->coder.self.way;
    if (c->where == TRANSFORMER_ENCODER || way->decoder || way->causal) {
        return CLA_OK;
    }
    return cla_config_refuse(s, "attention_where",
                             "is '%s', and '%s' is for the encoder alone: it reads "
                             "tokens that a decoder has not written yet",
                             where_names[c->where], way->name);
}

/* Refuses kinds of attention whose scores are their own. */
static cla_status check_scores(const coder_config *c, const cla_config *s)
{
    const bool buckets = c->position == CODER_BUCKETS;
    const bool alibi = c->position == CODER_ALIBI;
    return (buckets || alibi || c->unscaled) &&
                   strcmp(c->self.way->name, "softmax") != 0
               ? cla_config_refuse(s, buckets || alibi ? "position" : "attention_scale",
                                   "is %s, which is for attention 'softmax', not '%s'",
                                   buckets ? "'buckets'"
                                   : alibi ? "'alibi'"
                                           : "false",
                                   c->self.way->name)
               : CLA_OK;
}

/* Reads the self-attention, its layers, and the convolutions before it. */
static cla_status read_self(transformer_config *c, cla_config *s)
{
    static const char *const kinds[] = { "separable", "full", NULL };
    attn_config *self = &c->coder.self;
    self->model = c->coder.model;
    self->heads = c->coder.heads;
    self->width = cla_coder_head_width(&c->coder);
    c->coder.taps = 7;
    CLA_TRY(cla_attn_configure(self, s));
    CLA_TRY(cla_attn_check_dropout(self->way, c->coder.attention_dropout, s));
    CLA_TRY(check_scores(&c->coder, s));
    CLA_TRY(read_where(c, s));
    CLA_TRY(cla_config_int(s, "convolutions", &c->coder.convolutions, 0,
                           CODER_CONVOLUTIONS));
    CLA_TRY(cla_config_choice(s, "conv_kind", kinds, &c->coder.full));
    CLA_TRY(cla_config_int(s, "conv_width", &c->coder.taps, 1, 63));
    c->first = 1;
    c->last = self->way->all || c->layers < 3 ? c->layers : 3;
    return cla_attn_layers(&c->first, &c->last, s, c->layers);
}

/* Reads "position", and "positions" of older versions. */
static cla_status read_position(transformer_config *c, cla_config *s)
{
    int kind = 0, older = 0;
    if (json_object_get(s->values, "positions")) {
        if (!json_object_get(s->values, "position")) {
            cla_log(CLA_LOG_WARN, "%s: the key of 'positions' is 'position' now",
                    s->path);
        }
        CLA_TRY(cla_config_choice(s, "positions", older_names, &older));
    }
    CLA_TRY(cla_config_choice(s, "position", position_names, &kind));
    kind = kind ? kind : older;
    c->positions = kind < ROPE ? kind : TRANSFORMER_TENSOR2TENSOR;
    c->coder.position = kind == ROPE      ? CODER_ROPE
                        : kind == NOWHERE ? CODER_NOWHERE
                        : kind == BUCKETS ? CODER_BUCKETS
                        : kind == ALIBI   ? CODER_ALIBI
                                          : CODER_SINE;
    return CLA_OK;
}

/* Reads the keys of embeddings, positions and the output layer. */
static cla_status read_ends(transformer_config *c, cla_config *s)
{
    bool scaled = true;
    CLA_TRY(cla_config_choice(s, "tied", tied_names, &c->tied));
    CLA_TRY(cla_config_bool(s, "source_vector", &c->source_vector));
    CLA_TRY(cla_config_bool(s, "embedding_scale", &scaled));
    CLA_TRY(cla_config_bool(s, "output_bias", &c->output_bias));
    CLA_TRY(cla_config_bool(s, "start_pad", &c->start_pad));
    CLA_TRY(cla_config_bool(s, "start_end", &c->start_end));
    CLA_TRY(cla_config_bool(s, "start_unknown", &c->start_unknown));
    CLA_TRY(c->start_pad + c->start_end + c->start_unknown > 1
                ? cla_config_refuse(s, "start_end",
                                    "and start_pad, start_unknown: one of them")
                : CLA_OK);
    CLA_TRY(cla_config_bool(s, "output_scale", &c->output_scale));
    CLA_TRY(read_position(c, s));
    CLA_TRY(cla_config_int(s, "max_positions", &c->max_positions, 0, 1 << 20));
    CLA_TRY(cla_config_bool(s, "embedding_norm", &c->embedding_norm));
    if (c->positions == TRANSFORMER_LEARNED && !c->max_positions) {
        return cla_config_refuse(s, "max_positions",
                                 "is 0: learned positions need a number of them");
    }
    c->unscaled = !scaled;
    return CLA_OK;
}

cla_status cla_transformer_configure(transformer_config *c, cla_config *s)
{
    int preset = 0;
    *c = (transformer_config){
        .layers = 6,
        .smoothing = 0.1,
        .coder = { .model = 512, .heads = 8, .inner = 2048, .dropout = 0.1 },
    };
    CLA_TRY(cla_config_choice(s, "preset", preset_names, &preset));
    CLA_TRY(give_preset(s, preset));
    CLA_TRY(cla_config_int(s, "layers", &c->layers, 1, TRANSFORMER_LAYERS));
    c->decoder_layers = c->layers;
    CLA_TRY(
        cla_config_int(s, "decoder_layers", &c->decoder_layers, 1, TRANSFORMER_LAYERS));
    CLA_TRY(read_ends(c, s));
    CLA_TRY(cla_config_double(s, "smoothing", &c->smoothing, 0, 0.99));
    CLA_TRY(read_coder(&c->coder, s));
    CLA_TRY(cla_cross_hard_configure(&c->coder.hard, s));
    return read_self(c, s);
}

/* Says "position" as a run of an older version did, beside its "positions". */
static cla_status renew_position(cla_config *settings, const cla_config *run)
{
    json_t *older = json_object_get(run->values, "positions");
    for (int i = 1; older && older_names[i]; i++) {
        if (is(run, "positions", older_names[i]) &&
            is(settings, "position", position_names[i])) {
            json_object_set(settings->values, "position",
                            json_object_get(run->values, "position"));
        }
    }
    return older ? cla_config_complete(settings, json_pack("{s:O}", "positions", older))
                 : CLA_OK;
}

/* Adds the keys of newer versions, with the meaning that runs without them had. */
cla_status cla_transformer_renew(cla_config *settings, const cla_config *run)
{
    const bool both = is(run, "attention", "rel_pos") &&
                      !json_object_get(run->values, "attention_where");
    const int where = both ? TRANSFORMER_BOTH : TRANSFORMER_ENCODER;
    json_t *layers = json_object_get(run->values, "layers");
    CLA_TRY(renew_position(settings, run));
    CLA_TRY(cla_coder_renew(settings, run));
    CLA_TRY(cla_config_complete(
        settings, json_pack("{s:i, s:b, s:i, s:i, s:b, s:b}", "head_width", 0,
                            "attention_scale", 1, "buckets", 32, "bucket_reach", 128,
                            "start_unknown", 0, "output_scale", 0)));
    CLA_TRY(cla_config_complete(
        settings, json_pack("{s:i, s:b, s:s, s:b, s:b, s:b, s:b}", "max_positions", 0,
                            "embedding_norm", 0, "attention_where", where_names[where],
                            "embedding_scale", 1, "output_bias", 0, "start_pad", 0,
                            "start_end", 0)));
    return layers ? cla_config_complete(settings,
                                        json_pack("{s:O}", "decoder_layers", layers))
                  : CLA_OK;
}
