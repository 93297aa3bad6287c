/* custom.c - reads custom attention, whose scores are expressions, from a config. */
#include "nn/custom.h"

#include <stdio.h>
#include <string.h>

#include "ops/custom_code.h"

/* Fails with the place of learn.name.key in the config. */
static cla_status wrong(const cla_config *s, const char *name, const char *key,
                        const char *must)
{
    cla_text whole = { 0 };
    cla_status status =
        cla_text_add(&whole, "learn.%s%s%s", name, *key ? "." : "", key);
    status = status ? status : cla_config_refuse(s, whole.data, "must be %s", must);
    cla_text_free(&whole);
    return status;
}

static cla_status read_expression(cla_config *s, const char *key, const char *missing,
                                  const char **text)
{
    *text = missing;
    CLA_TRY(cla_config_text(s, key, text));
    return strlen(*text) <= CUSTOM_TEXT
               ? CLA_OK
               : cla_config_refuse(s, key, "has more than %d characters", CUSTOM_TEXT);
}

/* Returns one size of a shape; 0 if it is invalid. */
static int64_t size_of(const json_t *value)
{
    const char *name = json_string_value(value);
    if (name) {
        return strcmp(name, "heads") == 0    ? CUSTOM_HEADS
               : strcmp(name, "length") == 0 ? CUSTOM_LENGTH
                                             : 0;
    }
    const json_int_t n = json_integer_value(value);
    return n > 0 && n < 1 << 24 ? n : 0;
}

static cla_status read_shape(custom_learned *l, const cla_config *s,
                             const json_t *shape)
{
    static const char must[] = "a list of 1 to 4 sizes, each a number from 1 on, "
                               "\"heads\" or \"length\"";
    const size_t rank = json_array_size(shape);
    for (size_t i = 0; i < rank && i < 4; i++) {
        l->shape[i] = size_of(json_array_get(shape, i));
        if (!l->shape[i]) {
            return wrong(s, l->name, "shape", must);
        }
    }
    l->rank = (int)rank;
    return rank >= 1 && rank <= 4 ? CLA_OK : wrong(s, l->name, "shape", must);
}

static cla_status read_init(custom_learned *l, const cla_config *s, const json_t *init)
{
    static const struct {
        const char *name;
        cla_init init;
    } known[] = {
        { "zeros", { CLA_INIT_ZEROS, 0, 0, 0 } },
        { "ones", { CLA_INIT_ONES, 0, 0, 0 } },
        { "normal", { CLA_INIT_NORMAL, 0.02, 0, 0 } },
        { "alibi", { CLA_INIT_ALIBI, 0, 0, 0 } },
    };
    const char *name = json_string_value(init);
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0) {
            l->init = known[i].init;
            return CLA_OK;
        }
    }
    if (!json_is_number(init)) {
        return wrong(s, l->name, "init",
                     "\"zeros\", \"ones\", \"normal\", \"alibi\" or a number");
    }
    l->init = (cla_init){ CLA_INIT_CONSTANT, json_number_value(init), 0, 0 };
    return CLA_OK;
}

static cla_status read_learned(custom_learned *l, const cla_config *s, const char *name,
                               const json_t *value)
{
    const json_t *shape = json_object_get(value, "shape");
    const json_t *init = json_object_get(value, "init");
    if (strlen(name) > CUSTOM_NAME) {
        return wrong(s, name, "", "a name of at most 31 characters");
    }
    l->name = name;
    if (!shape || !init || json_object_size(value) != 2) {
        return wrong(s, name, "", "an object of \"shape\" and \"init\"");
    }
    CLA_TRY(read_shape(l, s, shape));
    return read_init(l, s, init);
}

static cla_status read_all(custom_config *c, const cla_config *s)
{
    json_t *learn = json_object_get(s->values, "learn"), *value = NULL;
    const char *name = NULL;
    if (learn && !json_is_object(learn)) {
        return cla_config_refuse(s, "learn", "must be an object");
    }
    json_object_foreach(learn, name, value)
    {
        if (c->count == CLA_CUSTOM_INPUTS) {
            return cla_config_refuse(s, "learn", "holds more than %d parameters",
                                     CLA_CUSTOM_INPUTS);
        }
        CLA_TRY(read_learned(&c->learned[c->count], s, name, value));
        c->count++;
    }
    return CLA_OK;
}

/* Checks the expressions against tensors that have only types and ranks. */
static cla_status check_expressions(const custom_config *c, cla_tensor *tensors)
{
    cla_tensor *learned[CLA_CUSTOM_INPUTS] = { NULL };
    bool wanted[CLA_CUSTOM_INPUTS] = { false };
    for (int i = 0; i < c->count; i++) {
        tensors[i].dtype = CLA_F32;
        tensors[i].rank = c->learned[i].rank;
        learned[i] = &tensors[i];
        wanted[i] = true;
    }
    const cla_attention_mod mod = cla_custom_mod(c, learned);
    return cla_custom_check(&mod, wanted);
}

/* Adds the place of the expression that cla_error() names to the message. */
static cla_status fail_at_key(const cla_config *s)
{
    char key[32];
    cla_text place = { 0 };
    snprintf(key, sizeof key, "%.*s", (int)strcspn(cla_error(), ":"), cla_error());
    cla_status status = cla_config_place(s, key, &place);
    status = status ? status : cla_fail_within(CLA_E_INPUT, "%s", place.data);
    cla_text_free(&place);
    return status;
}

/* Refuses even windows and invalid expressions while the config is read. */
static cla_status check(const custom_config *c, const cla_config *s)
{
    cla_tensor *tensors = NULL;
    if (c->window && c->window % 2 == 0) {
        return cla_config_refuse(s, "window", "is %d, must be odd, or 0 for none",
                                 c->window);
    }
    CLA_TRY(cla_alloc(&tensors, CLA_CUSTOM_INPUTS, sizeof *tensors));
    const cla_status status = check_expressions(c, tensors);
    free(tensors);
    return status == CLA_E_USAGE ? fail_at_key(s) : status;
}

cla_status cla_custom_configure(custom_config *config, cla_config *settings)
{
    static const char *const learn[] = { "learn", NULL };
    *config = (custom_config){ .window = 0 };
    CLA_TRY(read_expression(settings, "score", "s", &config->score));
    CLA_TRY(read_expression(settings, "mask", "", &config->mask));
    CLA_TRY(read_expression(settings, "weight", "", &config->weight));
    CLA_TRY(cla_config_int(settings, "window", &config->window, 0, 65535));
    CLA_TRY(cla_config_know(settings, learn));
    CLA_TRY(read_all(config, settings));
    return check(config, settings);
}

cla_status cla_custom_refuse_length(const custom_config *config,
                                    const cla_config *settings)
{
    for (int i = 0; i < config->count; i++) {
        const custom_learned *l = &config->learned[i];
        for (int n = 0; n < l->rank; n++) {
            if (l->shape[n] == CUSTOM_LENGTH) {
                return wrong(settings, l->name, "shape",
                             "numbers or \"heads\": sentences have no greatest length");
            }
        }
    }
    return CLA_OK;
}

cla_status cla_custom_init(const custom_config *config, cla_params *params,
                           cla_tensor **learned, const char *prefix, int heads,
                           int length)
{
    for (int i = 0; i < config->count; i++) {
        const custom_learned *l = &config->learned[i];
        int64_t shape[4] = { 1, 1, 1, 1 }, numbers = 1;
        for (int n = 0; n < l->rank; n++) {
            const int64_t size = l->shape[n];
            shape[n] = size == CUSTOM_HEADS    ? heads
                       : size == CUSTOM_LENGTH ? length
                                               : size;
            numbers *= shape[n];
            if (numbers > INT32_MAX) {
                return cla_fail(CLA_E_INPUT, "learn.%s holds more than 2^31 numbers",
                                l->name);
            }
        }
        CLA_TRY(cla_param_add(params, &learned[i], l->init, l->rank, shape, "%s.%s",
                              prefix, l->name));
    }
    return CLA_OK;
}

static const char *expression(const char *text)
{
    return text && *text ? text : NULL;
}

cla_attention_mod cla_custom_mod(const custom_config *config,
                                 cla_tensor *const *learned)
{
    cla_attention_mod mod = { .score = expression(config->score),
                              .mask = expression(config->mask),
                              .weight = expression(config->weight),
                              .window = config->window };
    for (int i = 0; i < config->count; i++) {
        mod.inputs[i] = (cla_custom_input){ config->learned[i].name, learned[i] };
    }
    return mod;
}
