/* config.c - JSON settings with strict keys. */
#include "base/config.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

static cla_status no_memory(void)
{
    return cla_fail(CLA_E_NOMEM, "config: out of memory");
}

cla_status cla_config_read(cla_config *config, const char *path)
{
    *config = (cla_config){ 0 };
    char *data = NULL;
    size_t size = 0;
    CLA_TRY(cla_file_read(path, &data, &size));
    json_error_t error = { 0 };
    config->values = json_loadb(data, size, JSON_REJECT_DUPLICATES, &error);
    free(data);
    if (!json_is_object(config->values)) {
        const cla_status status =
            cla_fail(CLA_E_INPUT, "%s:%d:%d: %s", path, error.line, error.column,
                     config->values ? "a config must be an object" : error.text);
        cla_config_fini(config);
        return status;
    }
    config->known = json_object();
    return config->known ? cla_strdup(&config->path, path) : no_memory();
}

void cla_config_fini(cla_config *config)
{
    json_decref(config->values);
    json_decref(config->known);
    free(config->path);
    *config = (cla_config){ 0 };
}

/* ---- dotted keys ------------------------------------------------------------- */

enum { PART = 64 };

/* Cuts the first part of *key into part; false at the end or when a part is too
 * long. */
static bool next_part(const char **key, char part[PART])
{
    const size_t size = strcspn(*key, ".");
    if (!size || size >= PART) {
        return false;
    }
    memcpy(part, *key, size);
    part[size] = 0;
    *key += size + ((*key)[size] == '.');
    return true;
}

static json_t *find(const json_t *object, const char *key)
{
    char part[PART];
    json_t *at = (json_t *)object;
    while (at && next_part(&key, part)) {
        at = json_object_get(at, part);
    }
    return *key ? NULL : at;
}

/* Puts value (taken) at key, making objects on the way. */
static cla_status put(json_t *object, const char *key, json_t *value)
{
    char part[PART];
    while (next_part(&key, part) && *key) {
        json_t *inner = json_object_get(object, part);
        if (!json_is_object(inner)) {
            inner = json_object();
            if (json_object_set_new(object, part, inner)) {
                json_decref(value);
                return no_memory();
            }
        }
        object = inner;
    }
    return json_object_set_new(object, part, value) ? no_memory() : CLA_OK;
}

cla_status cla_config_set(cla_config *config, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    char key[256];
    if (!equals || equals == assignment || equals - assignment >= (long)sizeof key) {
        return cla_fail(CLA_E_USAGE, "--set '%s': must be key=value", assignment);
    }
    snprintf(key, sizeof key, "%.*s", (int)(equals - assignment), assignment);
    json_error_t error;
    json_t *value = json_loads(equals + 1, JSON_DECODE_ANY, &error);
    return put(config->values, key, value ? value : json_string(equals + 1));
}

/* ---- getters ----------------------------------------------------------------- */

/* The value at key; where it is absent, fallback (taken) is put there. */
static cla_status fetch(cla_config *config, const char *key, json_t *fallback,
                        json_t **value)
{
    CLA_TRY(put(config->known, key, json_true()));
    *value = find(config->values, key);
    if (*value) {
        json_decref(fallback);
        return CLA_OK;
    }
    if (!fallback) {
        return cla_fail(CLA_E_INPUT, "%s: key '%s' is missing", config->path, key);
    }
    CLA_TRY(put(config->values, key, fallback));
    *value = find(config->values, key);
    return *value ? CLA_OK : no_memory();
}

static cla_status wrong(const cla_config *config, const char *key, const json_t *value,
                        const char *must)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const cla_status status = cla_fail(CLA_E_INPUT, "%s: %s is %.80s, must be %s",
                                       config->path, key, text ? text : "?", must);
    free(text);
    return status;
}

cla_status cla_config_int(cla_config *config, const char *key, int *value, int low,
                          int high)
{
    json_t *given = NULL;
    CLA_TRY(fetch(config, key, json_integer(*value), &given));
    const json_int_t n = json_integer_value(given);
    if (!json_is_integer(given) || n < low || n > high) {
        char must[64];
        snprintf(must, sizeof must, "a whole number from %d to %d", low, high);
        return wrong(config, key, given, must);
    }
    *value = (int)n;
    return CLA_OK;
}

cla_status cla_config_double(cla_config *config, const char *key, double *value,
                             double low, double high)
{
    json_t *given = NULL;
    CLA_TRY(fetch(config, key, json_real(*value), &given));
    const double x = json_number_value(given);
    if (!json_is_number(given) || !(x >= low && x <= high)) {
        cla_text must = { 0 };
        CLA_TRY(cla_text_add(&must, "a number from %g to %g", low, high));
        const cla_status status = wrong(config, key, given, must.data);
        cla_text_free(&must);
        return status;
    }
    *value = x;
    return CLA_OK;
}

cla_status cla_config_bool(cla_config *config, const char *key, bool *value)
{
    json_t *given = NULL;
    CLA_TRY(fetch(config, key, json_boolean(*value), &given));
    if (!json_is_boolean(given)) {
        return wrong(config, key, given, "true or false");
    }
    *value = json_is_true(given);
    return CLA_OK;
}

cla_status cla_config_text(cla_config *config, const char *key, const char **value)
{
    json_t *given = NULL;
    CLA_TRY(fetch(config, key, *value ? json_string(*value) : NULL, &given));
    if (!json_is_string(given)) {
        return wrong(config, key, given, "a string");
    }
    *value = json_string_value(given);
    return CLA_OK;
}

cla_status cla_config_choice(cla_config *config, const char *key,
                             const char *const *names, int *value)
{
    json_t *given = NULL;
    CLA_TRY(fetch(config, key, json_string(names[*value]), &given));
    cla_text must = { 0 };
    CLA_TRY(cla_text_add(&must, "one of"));
    for (int i = 0; names[i]; i++) {
        if (json_is_string(given) && strcmp(json_string_value(given), names[i]) == 0) {
            *value = i;
            cla_text_free(&must);
            return CLA_OK;
        }
        CLA_TRY(cla_text_add(&must, " %s", names[i]));
    }
    const cla_status status = wrong(config, key, given, must.data);
    cla_text_free(&must);
    return status;
}

cla_status cla_config_know(cla_config *config, const char *const *keys)
{
    for (; *keys; keys++) {
        CLA_TRY(put(config->known, *keys, json_true()));
    }
    return CLA_OK;
}

/* ---- unknown keys ------------------------------------------------------------ */

/* Letters of a that appear in b in order: enough to find a misspelt key. */
static size_t likeness(const char *a, const char *b)
{
    size_t same = 0;
    for (; *a && *b; a++) {
        const char *at = strchr(b, *a);
        if (at) {
            same++;
            b = at + 1;
        }
    }
    return same;
}

static const char *nearest(const json_t *known, const char *key)
{
    const char *best = NULL, *name = NULL;
    size_t most = 1;
    json_t *value = NULL;
    json_object_foreach((json_t *)known, name, value)
    {
        const size_t same = 2 * likeness(key, name);
        const size_t score = same > strlen(name) ? same - strlen(name) : 0;
        if (score >= most) {
            most = score;
            best = name;
        }
    }
    return best;
}

static cla_status unknown_key(const cla_config *config, const json_t *known,
                              const char *key)
{
    const char *near = nearest(known, key);
    return cla_fail(CLA_E_INPUT, "%s: unknown key '%s'%s%s%s", config->path, key,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the known keys, which are ours
static cla_status check_object(const cla_config *config, const json_t *values,
                               const json_t *known)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)values, key, value)
    {
        const json_t *expected = json_object_get(known, key);
        if (!expected) return unknown_key(config, known, key);
        const bool nested = json_is_object(value) && json_is_object(expected);
        CLA_TRY(nested ? check_object(config, value, expected) : CLA_OK);
    }
    return CLA_OK;
}

cla_status cla_config_check(const cla_config *config)
{
    return check_object(config, config->values, config->known);
}

cla_status cla_config_save(const cla_config *config, const char *path)
{
    char *text = json_dumps(config->values, JSON_INDENT(2));
    cla_text file = { 0 };
    cla_status status = text ? cla_text_add(&file, "%s\n", text) : no_memory();
    status = status ? status : cla_file_write(path, file.data, file.size);
    cla_text_free(&file);
    free(text);
    return status;
}
