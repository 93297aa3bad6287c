/* segmented.h - texts that a data set gives as lists of words. */
#pragma once

#include "text/reading.h"

/* Returns whether list is a list of strings; it may be empty. */
bool cla_segmented_is(const json_t *list);

const char *cla_segmented_word(const json_t *list, size_t i);

/* Appends a text and at most limit (0: any number) of its words. The text is written
 * when that is a string, else the words of list without blanks. *was_cut tells whether
 * words were left out. Errors: CLA_E_INPUT (too long), CLA_E_NOMEM. */
cla_status cla_segmented_add(cla_reading *r, const json_t *written, const json_t *list,
                             int64_t limit, cla_reading_text *text, bool *was_cut);
