/* lm_settings.c - keys of a language model, and presets. */
#include <string.h>

#include "models/lm.h"

static const char *const preset_names[] = { "llama", "gpt2", NULL };
static const char *const place_names[] = { "sine",    "rope",  "none",
                                           "learned", "alibi", NULL };

/* Defaults of the presets for keys that a config lacks. */
static const char *const preset_blocks[][6] = {
    { "norm=rms", "feed_forward=swiglu", "position=rope", "bias=false", NULL },
    { "norm=layer", "feed_forward=gelu", "position=learned", "bias=true", NULL },
};
static const char *const training[] = { "optimiser=adamw", "clip=1", NULL };
static const char *const adamw[] = { "beta2=0.95", "weight_decay=0.1", NULL };

static cla_status give(cla_config *s, const char *const *assignments)
{
    for (int i = 0; assignments[i]; i++) {
        CLA_TRY(cla_config_give(s, assignments[i], "preset"));
    }
    return CLA_OK;
}

static cla_status give_preset(cla_config *s)
{
    int preset = 0;
    CLA_TRY(cla_config_choice(s, "preset", preset_names, &preset));
    CLA_TRY(give(s, preset_blocks[preset]));
    CLA_TRY(give(s, training));
    const char *kind = json_string_value(json_object_get(s->values, "optimiser"));
    return kind && strcmp(kind, "adamw") == 0 ? give(s, adamw) : CLA_OK;
}

/* Reads the width, the heads and the blocks. inner has its default by the gate: a third
 * matrix of two thirds of the columns leaves the number of parameters. */
static cla_status read_coder(coder_config *c, cla_config *s)
{
    CLA_TRY(cla_config_int(s, "dim", &c->model, 1, 1 << 14));
    CLA_TRY(cla_config_int(s, "heads", &c->heads, 1, 256));
    if (c->model % c->heads) {
        return cla_config_refuse(s, "dim", "is %d, no multiple of %d heads", c->model,
                                 c->heads);
    }
    CLA_TRY(cla_config_bool(s, "pre_norm", &c->pre_norm));
    CLA_TRY(cla_coder_configure(c, s, place_names));
    c->inner = c->gated ? (8 * c->model / 3 + 7) / 8 * 8 : 4 * c->model;
    CLA_TRY(cla_config_int(s, "inner", &c->inner, 1, 1 << 16));
    CLA_TRY(cla_config_double(s, "dropout", &c->dropout, 0, 0.99));
    CLA_TRY(cla_config_double(s, "attention_dropout", &c->attention_dropout, 0, 0.99));
    return cla_config_double(s, "relu_dropout", &c->relu_dropout, 0, 0.99);
}

/* Reads the kind of attention and its layers. It must not see later pieces. Those that
 * have parameters of places have them for the context. */
static cla_status read_self(lm_config *c, cla_config *s)
{
    attn_config *self = &c->coder.self;
    self->model = c->coder.model;
    self->heads = c->coder.heads;
    self->width = self->model / self->heads;
    self->length = c->context;
    CLA_TRY(cla_attn_configure(self, s));
    c->first = 1;
    c->last = c->layers;
    CLA_TRY(cla_attn_layers(&c->first, &c->last, s, c->layers));
    CLA_TRY(cla_attn_check_dropout(self->way, c->coder.attention_dropout, s));
    if (c->coder.position == CODER_ALIBI && self->way != &cla_attn_softmax) {
        return cla_config_refuse(s, "position",
                                 "is 'alibi', which is for attention 'softmax', not "
                                 "'%s'",
                                 self->way->name);
    }
    return self->way->decoder || self->way->causal
               ? CLA_OK
               : cla_config_refuse(s, "attention",
                                   "is '%s', which reads pieces that a language model "
                                   "has not written yet",
                                   self->way->name);
}

cla_status cla_lm_configure(lm_config *c, cla_config *s)
{
    *c = (lm_config){
        .layers = 6,
        .context = 256,
        .tied = true,
        .coder = { .model = 384, .heads = 6, .pre_norm = true },
    };
    CLA_TRY(give_preset(s));
    CLA_TRY(cla_config_int(s, "layers", &c->layers, 1, LM_LAYERS));
    CLA_TRY(cla_config_int(s, "context", &c->context, 1, 1 << 20));
    CLA_TRY(cla_config_bool(s, "tied", &c->tied));
    CLA_TRY(read_coder(&c->coder, s));
    return read_self(c, s);
}
