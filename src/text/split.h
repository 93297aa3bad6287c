/* split.h - reversible tokenisation: separates punctuation and ideographs from words.
 *
 * A split line is tokens separated by one blank. A run of one punctuation mark is a
 * token, and so is each ideograph; blanks end words. Where two tokens had no blank
 * between them and are not both ideographs, one of them carries the joiner U+FFED:
 * "(so)!" becomes "(U+FFED so U+FFED) U+FFED!". Other blanks, control characters, and
 * U+FFED and U+FF05 themselves become a token of U+FF05 and four hexadecimal digits,
 * which is joined to its neighbours. */
#pragma once

#include "base/text.h"

/* Appends the tokens of a line (UTF-8, without line end). Errors: CLA_E_NOMEM. */
cla_status cla_split(const char *line, size_t size, cla_text *out);

/* Joins tokens and appends the line: the inverse of cla_split. Accepts any tokens.
 * Errors: CLA_E_NOMEM. */
cla_status cla_unsplit(const char *tokens, size_t size, cla_text *out);
