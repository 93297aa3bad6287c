/* segmented.h - texts that the makers of data cut into words: lists of strings. */
#pragma once

#include "text/reading.h"

/* Whether it is a list of strings, perhaps empty. */
bool cla_segmented_is(const json_t *list);

const char *cla_segmented_word(const json_t *list, size_t i);

/* Appends a text with its words, at most limit (0: any number) of them: written, where
 * that is a string; else the words of list, without blanks. *was_cut says that some
 * were left out. Errors: CLA_E_INPUT (too long), CLA_E_NOMEM. */
cla_status cla_segmented_add(cla_reading *r, const json_t *written, const json_t *list,
                             int64_t limit, cla_reading_text *text, bool *was_cut);
