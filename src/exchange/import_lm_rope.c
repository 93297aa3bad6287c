/* import_lm_rope.c - reads the rotary positions of a causal language model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exchange/import_lm.h"
#include "exchange/import_marian.h"

/* An object of config.json, whose keys are read as "place.key". */
typedef struct place {
    cla_config *config;
    const char *name;
    json_t *ours;
} place;

/* Reads a number of the object; *value is that of a file without it. */
static cla_status read_number(const place *p, const char *key, double *value,
                              double low, double high)
{
    char name[CLA_CONFIG_KEY];
    snprintf(name, sizeof name, "%s.%s", p->name, key);
    return cla_config_double(p->config, name, value, low, high);
}

static cla_status set(const place *p, const char *key, json_t *value)
{
    return json_object_set_new(p->ours, key, value)
               ? cla_fail(CLA_E_NOMEM, "import: out of memory")
               : CLA_OK;
}

/* Reads a number and sets ours. */
static cla_status take(const place *p, const char *key, const char *ours, double value,
                       double low, double high)
{
    CLA_TRY(read_number(p, key, &value, low, high));
    return set(p, ours, json_real(value));
}

static double scale(double factor, double by)
{
    return 0.1 * by * log(factor) + 1;
}

/* Reads the factor of cosines and sines of YaRN, which may follow from two scales. */
static cla_status read_gain(const place *p, double factor)
{
    double over = 0, under = 0;
    CLA_TRY(read_number(p, "mscale", &over, 0, 1e3));
    CLA_TRY(read_number(p, "mscale_all_dim", &under, 0, 1e3));
    const bool both = over > 0 && under > 0;
    return take(p, "attention_factor", "rope_gain",
                both ? scale(factor, over) / scale(factor, under) : scale(factor, 1),
                1e-3, 1e3);
}

/* Reads the context of the training before: a key of the whole file goes first. */
static cla_status read_context(const place *p, int context)
{
    static const char key[] = "original_max_position_embeddings";
    char name[CLA_CONFIG_KEY];
    snprintf(name, sizeof name, "%s.%s", p->name, key);
    CLA_TRY(cla_config_int(p->config, name, &context, 1, 1 << 30));
    CLA_TRY(cla_config_int(p->config, key, &context, 1, 1 << 30));
    return set(p, "rope_context", json_integer(context));
}

/* Reads what all kinds of scaling have, then what each has alone. */
static cla_status read_scaling(const place *p, const char *kind, int context)
{
    double factor = 1;
    const json_t *object = json_object_get(p->config->values, p->name);
    if (!json_object_get(object, "factor")) {
        return cla_config_refuse(p->config, p->name, "has no factor");
    }
    CLA_TRY(read_number(p, "factor", &factor, 1, 1e6));
    CLA_TRY(set(p, "rope_scaling", json_string(kind)));
    CLA_TRY(set(p, "rope_factor", json_real(factor)));
    if (strcmp(kind, "linear") == 0) {
        return CLA_OK;
    }
    CLA_TRY(read_context(p, context));
    const bool yarn = strcmp(kind, "yarn") == 0;
    CLA_TRY(take(p, yarn ? "beta_slow" : "low_freq_factor", "rope_low", 1, 1e-6, 1e6));
    CLA_TRY(take(p, yarn ? "beta_fast" : "high_freq_factor", "rope_high", yarn ? 32 : 4,
                 1e-6, 1e6));
    return yarn ? read_gain(p, factor) : CLA_OK;
}

/* Refuses what is not read. */
static cla_status check(const place *p, const json_t *object, const char *kind)
{
    static const char *const known[] = { "default", "linear", "llama3", "yarn", NULL };
    const json_t *part = json_object_get(object, "partial_rotary_factor");
    int i = 0;
    while (known[i] && strcmp(known[i], kind) != 0) {
        i++;
    }
    if (!json_is_object(object) || !known[i]) {
        return cla_config_refuse(p->config, p->name,
                                 "has the type '%.40s', must be default, linear, "
                                 "llama3 or yarn",
                                 kind);
    }
    if (json_is_false(json_object_get(object, "truncate"))) {
        return cla_config_refuse(p->config, p->name,
                                 "has truncate false, which is not read");
    }
    return !part || json_number_value(part) == 1
               ? CLA_OK
               : cla_config_refuse(p->config, p->name,
                                   "has a partial_rotary_factor, which is not read");
}

/* Newer releases have the base and the scaling in rope_parameters. */
cla_status cla_lm_read_rope(cla_config *theirs, json_t *ours, int context)
{
    static const char *const names[] = { "rope_scaling", "rope_parameters", NULL };
    place p = { theirs, NULL, ours };
    double base = 10000;
    CLA_TRY(cla_config_double(theirs, "rope_theta", &base, 1, 1e12));
    CLA_TRY(set(&p, "rope_base", json_real(base)));
    for (int i = 0; names[i]; i++) {
        json_t *object = json_object_get(theirs->values, names[i]);
        const char *kind = json_string_value(json_object_get(object, "rope_type"));
        kind = kind ? kind : json_string_value(json_object_get(object, "type"));
        kind = kind ? kind : "default";
        p.name = names[i];
        if (!object) {
            continue;
        }
        CLA_TRY(check(&p, object, kind));
        cla_marian_drop_nulls(object);
        CLA_TRY(take(&p, "rope_theta", "rope_base", base, 1, 1e12));
        CLA_TRY(strcmp(kind, "default") != 0 ? read_scaling(&p, kind, context)
                                             : CLA_OK);
    }
    return CLA_OK;
}
