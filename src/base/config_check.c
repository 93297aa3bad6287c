/* config_check.c - reports unknown and missing keys. */
#include <stdio.h>

#include "base/config.h"
#include "base/nearest.h"

/* Returns the known key that key most likely stands for, or NULL. */
static const char *nearest(const json_t *known, const char *key)
{
    enum { MOST = 256 };
    const char *names[MOST + 1] = { NULL }, *name = NULL;
    int count = 0;
    json_t *value = NULL;
    json_object_foreach((json_t *)known, name, value)
    {
        // cppcheck-suppress knownConditionTrueFalse; it does not see the loop
        if (count < MOST) { // more keys than any table of settings has
            names[count++] = name;
        }
    }
    return cla_nearest(key, names);
}

/* Fails for an unknown key. around is the path of its object with a dot, or empty. */
static cla_status unknown_key(const cla_config *config, const json_t *known,
                              const char *around, const char *key)
{
    const char *near = nearest(known, key);
    cla_text place = { 0 }, whole = { 0 };
    cla_status status = cla_text_add(&whole, "%s%s", around, key);
    status = status ? status : cla_config_place(config, whole.data, &place);
    status = status ? status
                    : cla_fail(CLA_E_INPUT, "%s: unknown key '%s'%s%s%s%s", place.data,
                               whole.data, near ? "; did you mean '" : "",
                               near ? around : "", near ? near : "", near ? "'?" : "");
    cla_text_free(&place);
    cla_text_free(&whole);
    return status;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the known keys, which are ours
static cla_status check_object(const cla_config *config, const json_t *values,
                               const json_t *known, const char *around)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)values, key, value)
    {
        const json_t *expected = json_object_get(known, key);
        if (!expected) {
            return unknown_key(config, known, around, key);
        }
        if (json_is_object(value) && json_is_object(expected)) {
            char inner[CLA_CONFIG_KEY];
            snprintf(inner, sizeof inner, "%s%s.", around, key);
            CLA_TRY(check_object(config, value, expected, inner));
        }
    }
    return CLA_OK;
}

cla_status cla_config_missing(const cla_config *config, const char *key)
{
    const char *const names[] = { key, NULL };
    const char *name = NULL, *near = NULL;
    json_t *value = NULL;
    json_object_foreach(config->values, name, value)
    {
        if (!json_object_get(config->known, name) && cla_nearest(name, names)) {
            near = name;
        }
    }
    cla_text place = { 0 };
    cla_status status = cla_config_place(config, near ? near : key, &place);
    status = status ? status
                    : cla_fail(CLA_E_INPUT, "%s: key '%s' is missing%s%s%s", place.data,
                               key, near ? "; did you mean it by '" : "",
                               near ? near : "", near ? "'?" : "");
    cla_text_free(&place);
    return status;
}

cla_status cla_config_check(const cla_config *config)
{
    return check_object(config, config->values, config->known, "");
}
