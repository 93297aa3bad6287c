/* config.h - JSON settings with strict keys: an unknown key is an error that names it.
 *
 * A getter reads a dotted key ("a.b": key b of object a), checks the range of its value
 * and records the key as known. It writes the default of an absent key into the
 * settings, so that a saved copy is complete. */
#pragma once

#include <jansson.h>

#include "base/text.h"

enum { CLA_CONFIG_KEY = 256 }; // bytes of a dotted key

typedef struct cla_config {
    char *path;       // for messages
    char *text;       // of that file, to find lines of keys; may be NULL
    json_t *values;   // the given settings, completed with defaults
    json_t *defaults; // of the keys that getters read; NULL: not recorded
    json_t *known;    // keys of getters and of cla_config_know
    json_t *assigned; // keys that cla_config_set and _give set; may be NULL
} cla_config;

/* Reads a JSON file. Messages name the file and line of a key, or --set for a value
 * that cla_config_set gave.
 * Errors: CLA_E_IO, CLA_E_INPUT (malformed JSON, with file:line:column; not an object),
 * CLA_E_NOMEM. */
cla_status cla_config_read(cla_config *config, const char *path);
/* Reads text [size], a NUL behind it, which the config owns from now on. Errors: the
 * same but CLA_E_IO. */
cla_status cla_config_parse(cla_config *config, const char *path, char *text,
                            size_t size);
void cla_config_fini(cla_config *config);

/* Applies "key=value". The key may be dotted; the value is JSON, else a string. Errors:
 * CLA_E_USAGE (no key, an empty or overlong part of it, not UTF-8, malformed JSON after
 * '"', '[' or '{', a key inside a value that is not an object), CLA_E_NOMEM. */
cla_status cla_config_set(cla_config *config, const char *assignment);

/* Applies "key=value", without dots, where the key is absent; messages name the key
 * giver, such as a preset, as the origin of the value. Errors: CLA_E_NOMEM. */
cla_status cla_config_give(cla_config *config, const char *assignment,
                           const char *giver);

/* Read a value; *value is the default on entry. Errors: CLA_E_INPUT with key, value and
 * range; CLA_E_NOMEM. */
cla_status cla_config_int(cla_config *config, const char *key, int *value, int low,
                          int high);
cla_status cla_config_double(cla_config *config, const char *key, double *value,
                             double low, double high);
cla_status cla_config_bool(cla_config *config, const char *key, bool *value);
/* Reads a string, which config keeps. NULL on entry: the key is required. */
cla_status cla_config_text(cla_config *config, const char *key, const char **value);
/* Reads one of names (NULL-terminated); *value is its index. */
cla_status cla_config_choice(cla_config *config, const char *key,
                             const char *const *names, int *value);

/* Appends the origin of key's value for messages: "--set", "config.json:7", or the path
 * alone; of a value that another key gave, that key's origin and its name.
 * Errors: CLA_E_NOMEM. */
cla_status cla_config_place(const cla_config *config, const char *key, cla_text *place);

/* Fails with CLA_E_INPUT and the message "PLACE: KEY TEXT"; PLACE is that of
 * cla_config_place, TEXT the formatted text. Errors: CLA_E_NOMEM. */
cla_status cla_config_refuse(const cla_config *config, const char *key,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Resolves the paths of these keys (NULL-terminated, without dots): a relative path
 * becomes the path of that file beside the config file, where there is one. Other
 * values, and those of cla_config_set, stay. Errors: CLA_E_NOMEM. */
cla_status cla_config_find_files(cla_config *config, const char *const *keys);

/* Marks these keys (NULL-terminated) as known without a getter; they are neither
 * checked nor completed. Errors: CLA_E_NOMEM. */
cla_status cla_config_know(cla_config *config, const char *const *keys);

/* Adds the keys of values (consumed; NULL means out of memory) that config lacks.
 * Errors: CLA_E_NOMEM. */
cla_status cla_config_complete(cla_config *config, json_t *values);

/* Fails with CLA_E_INPUT because key is missing. The message suggests an unknown key
 * that may stand for it. */
cla_status cla_config_missing(const cla_config *config, const char *key);

/* Fails with CLA_E_INPUT when a key is unknown; the message suggests the nearest known
 * key. */
cla_status cla_config_check(const cla_config *config);
cla_status cla_config_save(const cla_config *config, const char *path);
