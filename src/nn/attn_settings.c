/* attn_settings.c - the keys of kinds of attention. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/attn.h"

static cla_status read_keys(attn_config *config, const attn_way *way,
                            cla_config *settings)
{
    assert(way->size <= sizeof config->state);
    config->way = way;
    memset(&config->state, 0, sizeof config->state);
    return way->configure ? way->configure(config, settings) : CLA_OK;
}

/* Accepts the keys of a way that is not chosen, without checks and defaults, so that
 * one line of a config can change the way. */
static cla_status know(const attn_way *way, const cla_config *settings)
{
    cla_config copy = *settings;
    attn_config unused = { .model = 1, .heads = 1, .width = 1, .length = 1 };
    copy.values = json_object();
    copy.defaults = NULL;
    const cla_status status = copy.values ? read_keys(&unused, way, &copy)
                                          : cla_fail(CLA_E_NOMEM, "out of memory");
    json_decref(copy.values);
    return status == CLA_E_NOMEM ? status : CLA_OK;
}

cla_status cla_attn_choose(attn_config *config, const attn_way *way,
                           cla_config *settings)
{
    for (int i = 0; cla_attn_ways[i]; i++) {
        CLA_TRY(cla_attn_ways[i] != way ? know(cla_attn_ways[i], settings) : CLA_OK);
    }
    if (way->tied && !config->length) {
        return cla_config_refuse(settings, "attention",
                                 "is '%s', which has parameters for each place of a "
                                 "sequence: sentences of a translator have no greatest "
                                 "length",
                                 way->name);
    }
    return read_keys(config, way, settings);
}

cla_status cla_attn_configure(attn_config *config, cla_config *settings)
{
    const char **names = NULL;
    int count = 0, chosen = 0;
    while (cla_attn_ways[count]) {
        count++;
    }
    CLA_TRY(cla_alloc(&names, (size_t)count + 1, sizeof *names));
    for (int i = 0; i < count; i++) {
        names[i] = cla_attn_ways[i]->name;
    }
    const cla_status status = cla_config_choice(settings, "attention", names, &chosen);
    free(names);
    CLA_TRY(status);
    return cla_attn_choose(config, cla_attn_ways[chosen], settings);
}

cla_status cla_attn_layers(int *first, int *last, cla_config *settings, int layers)
{
    char range[32], *end = NULL;
    snprintf(range, sizeof range, "%d-%d", *first, *last);
    const char *text = range;
    CLA_TRY(cla_config_text(settings, "attention_layers", &text));
    const long from = strtol(text, &end, 10);
    const long to = *end == '-' ? strtol(end + 1, &end, 10) : 0;
    if (*end || from < 1 || to < from || to > layers) {
        return cla_config_refuse(settings, "attention_layers",
                                 "is '%s', must be like 1-3 within 1-%d", text, layers);
    }
    *first = (int)from;
    *last = (int)to;
    return CLA_OK;
}

cla_status cla_attn_check_dropout(const attn_way *way, double p, const cla_config *s)
{
    return !way->whole || p == 0
               ? CLA_OK
               : cla_config_refuse(s, "attention_dropout",
                                   "is %g, must be 0: attention '%s' convolves whole "
                                   "maps",
                                   p, way->name);
}
