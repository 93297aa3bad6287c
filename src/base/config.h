/* config.h - JSON settings with strict keys: what is asked for is known, all else is an
 * error that names the key.
 *
 * A getter reads "a.b" from nested objects, checks the range, and notes the key as
 * known. Where the key is absent the default stands and is written into the settings,
 * so that a saved copy says everything. */
#pragma once

#include <jansson.h>

#include "base/text.h"

enum { CLA_CONFIG_KEY = 256 }; // bytes of a dotted key

typedef struct cla_config {
    char *path;       // for messages
    char *text;       // of that file, for the lines of keys; may be NULL
    json_t *values;   // what was given, completed by the defaults
    json_t *defaults; // of the keys that getters asked for; may be NULL: not noted
    json_t *known;    // keys that getters asked for
    json_t *assigned; // keys that cla_config_set gave; may be NULL
} cla_config;

/* Messages name the file and the line of the key, or --set where that gave the value.
 * Errors: CLA_E_IO, CLA_E_INPUT (file:line:column of broken JSON), CLA_E_NOMEM. */
cla_status cla_config_read(cla_config *config, const char *path);
void cla_config_fini(cla_config *config);

/* "key=value", key dotted; value is JSON, or a bare word taken as a string.
 * Errors: CLA_E_USAGE (no key, a part of it that is empty or too long, no UTF-8, JSON
 * that is not at its end, a key inside of one that is no object), CLA_E_NOMEM. */
cla_status cla_config_set(cla_config *config, const char *assignment);

/* *value is the default going in. Errors: CLA_E_INPUT with key, value and range. */
cla_status cla_config_int(cla_config *config, const char *key, int *value, int low,
                          int high);
cla_status cla_config_double(cla_config *config, const char *key, double *value,
                             double low, double high);
cla_status cla_config_bool(cla_config *config, const char *key, bool *value);
/* The text stays the config's. NULL going in means the key must be given. */
cla_status cla_config_text(cla_config *config, const char *key, const char **value);
/* One of names (NULL-terminated); *value is its position. */
cla_status cla_config_choice(cla_config *config, const char *key,
                             const char *const *names, int *value);

/* Appends where key's value comes from, for messages: "--set", "config.json:7", or the
 * path alone. Errors: CLA_E_NOMEM. */
cla_status cla_config_place(const cla_config *config, const char *key, cla_text *place);

/* Fails with CLA_E_INPUT: "PLACE: KEY " and the text, where PLACE is as
 * cla_config_place has it. Errors: CLA_E_NOMEM. */
cla_status cla_config_refuse(const cla_config *config, const char *key,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Values of these keys (NULL-terminated) that are relative paths become paths of what
 * they name beside the config file, where that exists; other values, and those that
 * cla_config_set gave, stay. Errors: CLA_E_NOMEM. */
cla_status cla_config_find_files(cla_config *config, const char *const *keys);

/* These keys (NULL-terminated) are known though no getter asks for them: they are
 * neither checked nor completed. */
cla_status cla_config_know(cla_config *config, const char *const *keys);

/* Adds the keys of values (consumed; may be NULL: out of memory) that config lacks.
 * Errors: CLA_E_NOMEM. */
cla_status cla_config_complete(cla_config *config, json_t *values);

/* Fails since key is not there, naming the unknown one that may stand for it. */
cla_status cla_config_missing(const cla_config *config, const char *key);

/* Fails for a key that no getter asked for, naming the nearest known one. */
cla_status cla_config_check(const cla_config *config);
cla_status cla_config_save(const cla_config *config, const char *path);
