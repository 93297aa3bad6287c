/* parts.h - lines as parts that are translated one by one: sentences, and clauses of
 * sentences with more pieces than the model was trained on. */
#pragma once

#include "tasks/translation/translation.h"

/* A part of line `line`: its bytes from..to, blanks at its ends left out. */
typedef struct translation_part {
    size_t line, from, to;
} translation_part;

typedef struct translation_parts {
    const translation *t;
    const char *const *lines; // [line_count]
    size_t line_count;
    translation_part *part; // [count] in order
    size_t count, cap;
    cla_text texts;    // of the parts, each with its line's prefix, a NUL behind it
    const char **text; // [count] into texts
} translation_parts;

/* Cuts lines into parts. A line of blanks has none.
 *
 * parts  out  free it with cla_translation_parts_free, whatever is returned
 * lines  in   [n] UTF-8; they must live as long as the parts
 *
 * Errors: CLA_E_NOMEM. */
cla_status cla_translation_parts_make(translation_parts *parts, translation *t,
                                      const char *const *lines, size_t n);
void cla_translation_parts_free(translation_parts *parts);

/* Joins the translations of parts to those of lines. The blanks of a line stay where
 * they were, those of a line without parts are lost. Between two sentences without a
 * blank goes one, unless both sides are written without blanks. The i-th translation of
 * a line joins the i-th of each part, or its last one where it has fewer. Its logp is
 * the sum of theirs, and so is its score.
 *
 * from  in   [parts->count*best]
 * to    out  [parts->line_count*best] zero-initialised by the caller
 *
 * Errors: CLA_E_NOMEM. */
cla_status cla_translation_parts_join(const translation_parts *parts, size_t best,
                                      const translation_result *from,
                                      translation_result *to);
