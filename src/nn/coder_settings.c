/* coder_settings.c - keys of the blocks of a Transformer. */
#include <math.h>
#include <string.h>

#include "nn/coder.h"

/* Kinds of feed-forward blocks: the activations, then those with a gate. */
static const struct {
    const char *name;
    int activation;
} gates[] = { { "swiglu", CLA_SILU },
              { "geglu", CLA_GELU },
              { "geglu_tanh", CLA_GELU_TANH } };

enum { GATES = sizeof gates / sizeof *gates, FEEDS = 16 };

/* Lists the names of the kinds; returns how many are plain activations. */
static int list_feeds(const char *names[FEEDS])
{
    int plain = 0;
    while (cla_activation_names[plain]) {
        names[plain] = cla_activation_names[plain];
        plain++;
    }
    for (int i = 0; i < GATES; i++) {
        names[plain + i] = gates[i].name;
    }
    names[plain + GATES] = NULL;
    return plain;
}

static int function_of(int feed, int plain)
{
    return feed < plain ? feed : gates[feed - plain].activation;
}

/* Reads "feed_forward" and "activation", each of which gives the default of the
 * other. */
static cla_status read_feed(coder_config *c, cla_config *s)
{
    const char *names[FEEDS], *asked = NULL;
    const int plain = list_feeds(names);
    int feed = 0;
    asked = json_string_value(json_object_get(s->values, "feed_forward"));
    c->activation = CLA_RELU;
    for (int i = 0; asked && names[i]; i++) {
        c->activation =
            strcmp(names[i], asked) == 0 ? function_of(i, plain) : c->activation;
    }
    CLA_TRY(cla_config_choice(s, "activation", cla_activation_names, &c->activation));
    feed = c->activation;
    CLA_TRY(cla_config_choice(s, "feed_forward", names, &feed));
    c->gated = feed >= plain;
    return function_of(feed, plain) == c->activation
               ? CLA_OK
               : cla_config_refuse(
                     s, "activation",
                     "is '%s', and feed_forward is '%s': give one of them",
                     cla_activation_names[c->activation], names[feed]);
}

/* Reads "kv_heads", whose default is the number of heads. */
static cla_status read_kv_heads(coder_config *c, cla_config *s)
{
    c->kv_heads = c->heads;
    CLA_TRY(cla_config_int(s, "kv_heads", &c->kv_heads, 1, 256));
    return c->heads % c->kv_heads == 0
               ? CLA_OK
               : cla_config_refuse(s, "kv_heads", "is %d, must divide the %d heads",
                                   c->kv_heads, c->heads);
}

int cla_coder_head_width(const coder_config *c)
{
    return c->head_width ? c->head_width : c->model / c->heads;
}

/* Reads the keys of a scaling of rotary positions; without one they are known alone. */
static cla_status read_scaling(coder_rope *c, cla_config *s)
{
    static const char *const keys[] = { "rope_factor", "rope_context", "rope_low",
                                        "rope_high",   "rope_gain",    NULL };
    static const char *const names[] = { "none", "linear", "llama3", "yarn", NULL };
    *c = (coder_rope){ .base = c->base, .factor = 8, .context = 8192, .gain = 1 };
    CLA_TRY(cla_config_choice(s, "rope_scaling", names, &c->scaling));
    CLA_TRY(cla_config_know(s, keys));
    if (c->scaling == CODER_UNSCALED) {
        return CLA_OK;
    }
    const bool yarn = c->scaling == CODER_YARN;
    CLA_TRY(cla_config_double(s, "rope_factor", &c->factor, 1, 1e6));
    c->low = 1;
    c->high = yarn ? 32 : 4;
    c->gain = yarn ? 0.1 * log(c->factor) + 1 : 1;
    CLA_TRY(cla_config_double(s, "rope_gain", &c->gain, 1e-3, 1e3));
    if (c->scaling == CODER_LINEAR) {
        return CLA_OK;
    }
    CLA_TRY(cla_config_int(s, "rope_context", &c->context, 1, 1 << 30));
    CLA_TRY(cla_config_double(s, "rope_low", &c->low, 1e-6, 1e6));
    CLA_TRY(cla_config_double(s, "rope_high", &c->high, 1e-6, 1e6));
    if (yarn && c->base <= 1) {
        return cla_config_refuse(s, "rope_base", "is %g, must be above 1 for '%s'",
                                 c->base, names[c->scaling]);
    }
    return c->low < c->high
               ? CLA_OK
               : cla_config_refuse(s, "rope_low", "is %g, must be below rope_high, %g",
                                   c->low, c->high);
}

static cla_status read_position(coder_config *c, cla_config *s,
                                const char *const *positions)
{
    const int width = cla_coder_head_width(c);
    double part = 1;
    c->rope.base = 10000;
    CLA_TRY(positions ? cla_config_choice(s, "position", positions, &c->position)
                      : CLA_OK);
    CLA_TRY(cla_config_double(s, "rope_base", &c->rope.base, 1, 1e12));
    CLA_TRY(cla_config_double(s, "rope_part", &part, 0, 1));
    CLA_TRY(read_scaling(&c->rope, s));
    const int pairs = (int)(part * width / 2);
    c->rope.width = c->position == CODER_ROPE ? 2 * pairs : 0;
    return c->position != CODER_ROPE || pairs
               ? CLA_OK
               : cla_config_refuse(s, "rope_part",
                                   "is %g: it leaves no pair of the %d numbers of a "
                                   "head",
                                   part, width);
}

cla_status cla_coder_configure(coder_config *c, cla_config *s,
                               const char *const *positions)
{
    static const char *const norms[] = { "layer", "rms", NULL };
    int norm = 0;
    bool biased = true;
    c->norm_epsilon = CODER_NORM_EPSILON;
    CLA_TRY(cla_config_choice(s, "norm", norms, &norm));
    CLA_TRY(cla_config_double(s, "norm_epsilon", &c->norm_epsilon, 1e-12, 1));
    CLA_TRY(read_feed(c, s));
    CLA_TRY(cla_config_bool(s, "bias", &biased));
    CLA_TRY(read_kv_heads(c, s));
    c->rms = norm;
    c->unbiased = !biased;
    return read_position(c, s, positions);
}

cla_status cla_coder_renew(cla_config *settings, const cla_config *run)
{
    json_t *heads = json_object_get(run->values, "heads");
    const char *feed = json_string_value(json_object_get(run->values, "activation"));
    CLA_TRY(cla_config_complete(
        settings, json_pack("{s:s, s:s, s:f, s:f, s:b, s:s, s:s}", "activation",
                            feed ? feed : "relu", "norm", "layer", "rope_base", 10000.0,
                            "rope_part", 1.0, "bias", 1, "feed_forward",
                            feed ? feed : "relu", "position", "sine")));
    CLA_TRY(cla_config_complete(settings,
                                json_pack("{s:f, s:s}", "norm_epsilon",
                                          CODER_NORM_EPSILON, "rope_scaling", "none")));
    return heads ? cla_config_complete(settings, json_pack("{s:O}", "kv_heads", heads))
                 : CLA_OK;
}
