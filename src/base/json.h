/* json.h - JSON texts in, with lack of memory told from bad text, and copies that are
 * whole: Jansson's own leave out what memory was lacking for. */
#pragma once

#include <jansson.h>

#include "base/base.h"

/* Parses size bytes of text under Jansson's flags, with "C" number formats.
 *
 * root   out  the caller's; NULL on failure
 * error  out  place and reason of a bad text
 *
 * Errors: CLA_E_NOMEM; CLA_E_INPUT, whose message the caller writes from *error. */
cla_status cla_json_parse(json_t **root, const char *text, size_t size, size_t flags,
                          json_error_t *error);

/* Adds the keys of more that object lacks. False where memory was lacking. */
bool cla_json_complete(json_t *object, json_t *more);

/* A copy of an object, with the same values; NULL where memory was lacking. */
json_t *cla_json_copy(json_t *from);
