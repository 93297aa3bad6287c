/* cutter.h - cuts a text where a regular expression matches: the parts between matches
 * are pieces, too. Source: the pre-tokenizers of Hugging Face's tokenizers. */
#pragma once

#include "base/text.h"

typedef struct cla_cutter cla_cutter;

/* Compiles a PCRE2 pattern, whose classes follow Unicode. path is for messages. Errors:
 * CLA_E_INPUT (malformed), CLA_E_NOMEM. */
cla_status cla_cutter_new(cla_cutter **out, const char *path, const char *pattern);
void cla_cutter_free(cla_cutter **cutter);

/* Gives the end of the piece of text [size] (UTF-8) that begins at `from`: of a match
 * there, else of what comes before the next one. Call it from the start on. Errors:
 * CLA_E_INPUT (the pattern takes too long), CLA_E_NOMEM. */
cla_status cla_cutter_next(cla_cutter *cutter, const char *text, size_t size,
                           size_t from, size_t *end);
