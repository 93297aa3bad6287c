/* split.h - punctuation and ideographs cut off words, and put back to the byte.
 *
 * A split line is tokens with one blank between them. Words end at blanks, at
 * punctuation (a run of one mark is a token) and at ideographs (each is a token). What
 * was written together and is not an ideograph beside another carries a joiner on the
 * side that touches: "(so)!" is "(U+FFED so U+FFED) U+FFED!". A blank that is no plain
 * one between two tokens, a control character, and U+FFED and U+FF05 themselves are a
 * token of U+FF05 and four hexadecimal digits, which touches its neighbours. */
#pragma once

#include "base/text.h"

/* Appends the tokens of a line (UTF-8, without its line end). Errors: CLA_E_NOMEM. */
cla_status cla_split(const char *line, size_t size, cla_text *out);

/* Appends the line whose tokens these are; any tokens give some line.
 * Errors: CLA_E_NOMEM. */
cla_status cla_unsplit(const char *tokens, size_t size, cla_text *out);
