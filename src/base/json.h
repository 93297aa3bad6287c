/* json.h - parses JSON, telling lack of memory from malformed text, writes it, and
 * copies objects completely. (Copies by Jansson itself lack the keys that had no
 * memory.) */
#pragma once

#include <jansson.h>

#include "base/input.h"

/* Parses size bytes of JSON with Jansson's flags and "C" number formats; the front of
 * every reader of JSON. A byte order mark at the start is skipped.
 *
 * root  out  the caller's; NULL on failure
 * path  in   of the text, for messages
 * line  in   the number of its first line, from 1
 *
 * Errors: CLA_E_INPUT with path:line:column, CLA_E_NOMEM. */
cla_status cla_json_text(json_t **root, const char *path, size_t line, const char *text,
                         size_t size, size_t flags);
/* Parses a file. Errors: the same, CLA_E_IO. */
cla_status cla_json_file(json_t **root, const char *path, cla_source source,
                         size_t flags);

/* Parses text that has no path or no lines, such as a word of the command line.
 *
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
