/* yaml.h - flat YAML: one mapping of texts to texts or lists of texts, read by libyaml.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"

/* Reads the mapping: a JSON object of strings and arrays of strings, in its order.
 * Deeper values are left out. There are no aliases.
 *
 * root  out  the caller's; NULL on failure
 * path  in   for messages
 *
 * Errors: CLA_E_INPUT (path:line: bad YAML, no mapping, an alias, a key twice, more
 * than 16 levels, a text that is not UTF-8), CLA_E_NOMEM. */
cla_status cla_yaml_parse(json_t **root, const char *path, const char *text,
                          size_t size);
