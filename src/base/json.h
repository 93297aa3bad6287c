/* json.h - parses JSON, telling lack of memory from malformed text, writes it, and
 * copies objects completely. (Copies by Jansson itself lack the keys that had no
 * memory.) */
#pragma once

#include <jansson.h>

#include "base/base.h"

/* Parses size bytes of text with Jansson's flags and "C" number formats.
 *
 * root   out  the caller's; NULL on failure
 * error  out  position and reason of malformed text
 *
 * Errors: CLA_E_NOMEM; CLA_E_INPUT, whose message the caller writes from *error. */
cla_status cla_json_parse(json_t **root, const char *text, size_t size, size_t flags,
                          json_error_t *error);

/* Enough digits for every real to be read back as it was. */
enum { CLA_JSON_EXACT = 17 };

/* Returns a value as text, or NULL when out of memory. flags are Jansson's. Reals have
 * "C" format and at most so many significant digits. With CLA_JSON_EXACT they are the
 * shortest decimals that are read back as the same numbers: 0.9, not
 * 0.90000000000000002. */
char *cla_json_write(const json_t *value, size_t flags, int digits);

/* Adds the keys of more that object lacks. Returns false when out of memory. */
bool cla_json_complete(json_t *object, json_t *more);

/* Returns a copy of an object that shares its values, or NULL when out of memory. */
json_t *cla_json_copy(json_t *from);
