/* yaml.h - flat YAML, read by libyaml: a mapping of strings to strings or lists of
 * strings. */
#pragma once

#include <jansson.h>

#include "base/base.h"

/* Parses a mapping into a JSON object of strings and arrays of strings, in the same
 * order. Deeper values are left out.
 *
 * root  out  the caller's; NULL on failure
 * path  in   for messages
 *
 * Errors: CLA_E_INPUT (path:line: malformed YAML, not a mapping, an alias, a duplicate
 * key, a key that is not a string, more than 16 levels, not UTF-8), CLA_E_NOMEM. */
cla_status cla_yaml_parse(json_t **root, const char *path, const char *text,
                          size_t size);
