/* config.c - reads JSON settings with strict keys. */
#include "base/config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/jsonline.h"
#include "base/text.h"
#include "base/utf8.h"

static cla_status no_memory(void)
{
    return cla_fail(CLA_E_NOMEM, "config: out of memory");
}

cla_status cla_config_parse(cla_config *config, const char *path, char *text,
                            size_t size)
{
    *config = (cla_config){ .text = text };
    cla_status status =
        cla_json_text(&config->values, path, 1, text, size, JSON_REJECT_DUPLICATES);
    if (!status && !json_is_object(config->values)) {
        status = cla_fail(CLA_E_INPUT, "%s: a config must be an object", path);
    }
    status = status ? status : cla_strdup(&config->path, path);
    config->defaults = json_object();
    config->known = json_object();
    config->assigned = json_object();
    if (!status && (!config->defaults || !config->known || !config->assigned)) {
        status = no_memory();
    }
    if (status) cla_config_fini(config);
    return status;
}

cla_status cla_config_read(cla_config *config, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    *config = (cla_config){ 0 };
    CLA_TRY(cla_text_read(&text, &size, path, CLA_SOURCE_FILE));
    return cla_config_parse(config, path, text, size);
}

void cla_config_fini(cla_config *config)
{
    json_decref(config->values);
    json_decref(config->defaults);
    json_decref(config->known);
    json_decref(config->assigned);
    free(config->path);
    free(config->text);
    *config = (cla_config){ 0 };
}

/* ---- dotted keys ------------------------------------------------------------- */

enum { PART = 64 };

/* Copies the first part of *key into part and advances *key behind it. Returns false
 * when there is no part or it is too long. */
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

/* Returns whether key consists of valid parts only. */
static bool is_key(const char *key)
{
    char part[PART];
    const size_t size = strlen(key);
    while (next_part(&key, part)) {
    }
    return size > 0 && !*key && key[-1] != '.';
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

/* Sets value (consumed; NULL means out of memory) at key and creates the objects around
 * it. Errors: CLA_E_NOMEM; CLA_E_INPUT when a value around it is not an object. */
static cla_status put(json_t *object, const char *key, json_t *value)
{
    char part[PART] = "";
    const char *rest = key;
    while (value && next_part(&rest, part) && *rest) {
        json_t *inner = json_object_get(object, part);
        if (!inner) {
            inner = json_object();
            json_object_set_new(object, part, inner);
        }
        object = inner;
        if (!json_is_object(object)) {
            json_decref(value);
            return object ? cla_fail(CLA_E_INPUT, "%.*s must be an object",
                                     (int)(rest - key - 1), key)
                          : no_memory();
        }
    }
    return value && !json_object_set_new(object, part, value) ? CLA_OK : no_memory();
}

/* Parses text as JSON; other text becomes a string. *value stays NULL on failure. */
static cla_status parse_value(const char *key, const char *text, json_t **value)
{
    const size_t size = strlen(text), good = cla_utf8_check(text, size);
    if (good < size) {
        return cla_fail(CLA_E_USAGE, "--set %s: the value is not UTF-8 (byte %zu)", key,
                        good + 1);
    }
    json_error_t error = { 0 };
    const size_t flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES;
    if (cla_json_parse(value, text, size, flags, &error) == CLA_E_NOMEM) {
        return CLA_E_NOMEM; // only malformed JSON becomes a string
    }
    if (!*value && *text && strchr("\"[{", *text)) {
        return cla_fail(CLA_E_USAGE, "--set %s: the value is broken JSON: %s", key,
                        error.text);
    }
    *value = *value ? *value : json_string(text);
    return *value ? CLA_OK : no_memory();
}

/* Sets a key; giver, which is consumed, is noted as the origin of its value. */
static cla_status assign(cla_config *config, const char *key, const char *text,
                         json_t *giver)
{
    json_t *value = NULL;
    cla_status status = parse_value(key, text, &value);
    status = status ? status : put(config->values, key, value);
    if (status == CLA_E_INPUT) {
        status = cla_fail_within(CLA_E_USAGE, "--set %s", key);
    }
    if (!status && !config->assigned) {
        config->assigned = json_object();
    }
    if (status) {
        json_decref(giver);
        return status;
    }
    return put(config->assigned, key, giver);
}

cla_status cla_config_set(cla_config *config, const char *assignment)
{
    const size_t size = strcspn(assignment, "=");
    char key[CLA_CONFIG_KEY];
    if (!assignment[size] || !size) {
        return cla_fail(CLA_E_USAGE, "--set '%.80s': must be key=value", assignment);
    }
    snprintf(key, sizeof key, "%.*s",
             (int)(size < CLA_CONFIG_KEY ? size : CLA_CONFIG_KEY), assignment);
    if (size >= CLA_CONFIG_KEY || !is_key(key) || cla_utf8_check(key, size) < size) {
        return cla_fail(CLA_E_USAGE,
                        "--set '%.*s': must be a key, of parts with at most %d bytes "
                        "and dots between them",
                        (int)(size < PART ? size : PART), assignment, PART - 1);
    }
    return assign(config, key, assignment + size + 1, json_true());
}

cla_status cla_config_give(cla_config *config, const char *assignment,
                           const char *giver)
{
    char key[PART];
    const size_t size = strcspn(assignment, "=");
    assert(size < sizeof key && assignment[size]);
    snprintf(key, sizeof key, "%.*s", (int)size, assignment);
    return json_object_get(config->values, key)
               ? CLA_OK
               : assign(config, key, assignment + size + 1, json_string(giver));
}

/* ---- the origin of a value --------------------------------------------------- */

/* Returns what gave the key, a part of it, or an object that holds it: true for --set,
 * the key of cla_config_give; NULL when it is of the file. */
static const json_t *giver_of(const cla_config *config, const char *key)
{
    char part[PART];
    json_t *at = config->assigned;
    while (json_is_object(at) && next_part(&key, part)) {
        at = json_object_get(at, part);
    }
    return at != config->assigned ? at : NULL;
}

/* Appends "--set", or where the file has the key. */
static cla_status place_of(const cla_config *config, const char *key, cla_text *place)
{
    if (giver_of(config, key)) {
        return cla_text_add(place, "--set");
    }
    const int line = config->text ? cla_json_line(config->text, key) : 0;
    CLA_TRY(cla_text_add(place, "%s", config->path));
    return line ? cla_text_add(place, ":%d", line) : CLA_OK;
}

cla_status cla_config_place(const cla_config *config, const char *key, cla_text *place)
{
    const char *giver = json_string_value(giver_of(config, key));
    CLA_TRY(place_of(config, giver ? giver : key, place));
    return giver ? cla_text_add(place, ": %s", giver) : CLA_OK;
}

cla_status cla_config_refuse(const cla_config *config, const char *key,
                             const char *format, ...)
{
    char text[512];
    cla_text place = { 0 };
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cla_status status = cla_config_place(config, key, &place);
    status =
        status ? status : cla_fail(CLA_E_INPUT, "%s: %s %s", place.data, key, text);
    cla_text_free(&place);
    return status;
}

/* ---- getters ----------------------------------------------------------------- */

static cla_status wrong(const cla_config *config, const char *key, const json_t *value,
                        const char *must)
{
    char *text = cla_json_write(value, JSON_ENCODE_ANY | JSON_COMPACT, CLA_JSON_EXACT);
    const cla_status status =
        cla_config_refuse(config, key, "is %.80s, must be %s", text ? text : "?", must);
    free(text);
    return status;
}

/* Fails when a value around key is not an object. */
static cla_status check_around(const cla_config *config, const char *key)
{
    char outer[CLA_CONFIG_KEY];
    for (const char *dot = strchr(key, '.'); dot; dot = strchr(dot + 1, '.')) {
        snprintf(outer, sizeof outer, "%.*s", (int)(dot - key), key);
        const json_t *value = find(config->values, outer);
        if (value && !json_is_object(value)) {
            return wrong(config, outer, value, "an object");
        }
    }
    return CLA_OK;
}

/* Records key as known and gets its value. When it is absent, fallback (consumed)
 * becomes the value. */
static cla_status fetch(cla_config *config, const char *key, json_t *fallback,
                        json_t **value)
{
    cla_status status = put(config->known, key, json_true());
    status = status ? status : check_around(config, key);
    if (!status && config->defaults) {
        status = put(config->defaults, key, json_incref(fallback));
    }
    *value = status ? NULL : find(config->values, key);
    if (status || *value) {
        json_decref(fallback);
        return status;
    }
    if (!fallback) {
        return no_memory();
    }
    CLA_TRY(put(config->values, key, fallback));
    *value = find(config->values, key);
    return *value ? CLA_OK : no_memory();
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
    if (!*value && !find(config->values, key)) {
        return cla_config_missing(config, key);
    }
    CLA_TRY(fetch(config, key, json_string(*value ? *value : ""), &given));
    if (!json_is_string(given)) {
        return wrong(config, key, given, "a string");
    }
    *value = json_string_value(given);
    return CLA_OK;
}

/* Appends "one of a b c". */
static cla_status list_names(const char *const *names, cla_text *must)
{
    CLA_TRY(cla_text_add(must, "one of"));
    for (; *names; names++) {
        CLA_TRY(cla_text_add(must, " %s", *names));
    }
    return CLA_OK;
}

cla_status cla_config_choice(cla_config *config, const char *key,
                             const char *const *names, int *value)
{
    json_t *given = NULL;
    CLA_TRY(fetch(config, key, json_string(names[*value]), &given));
    const char *text = json_string_value(given);
    for (int i = 0; text && names[i]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *value = i;
            return CLA_OK;
        }
    }
    cla_text must = { 0 };
    cla_status status = list_names(names, &must);
    status = status ? status : wrong(config, key, given, must.data);
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

cla_status cla_config_complete(cla_config *config, json_t *values)
{
    const bool done = values && cla_json_complete(config->values, values);
    json_decref(values);
    return done ? CLA_OK : no_memory();
}

cla_status cla_config_save(const cla_config *config, const char *path)
{
    char *text = cla_json_write(config->values, JSON_INDENT(2), CLA_JSON_EXACT);
    cla_text file = { 0 };
    cla_status status = text ? cla_text_add(&file, "%s\n", text) : no_memory();
    status = status ? status : cla_file_write(path, file.data, file.size);
    cla_text_free(&file);
    free(text);
    return status;
}
