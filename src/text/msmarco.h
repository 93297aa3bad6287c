/* msmarco.h - MS MARCO's questions, a JSON object a line: a query, passages as they
 * were written, answers in free words. */
#pragma once

#include <jansson.h>

#include "base/text.h"

/* Whether the line has MS MARCO's layout: a list 'passages'. */
bool cla_msmarco_is(const json_t *line);

/* The line in DuReader's layout (text/dureader.h): each passage is a document of one
 * paragraph, texts are cut into words in lower case. 'query' and 'passage_text' stay as
 * they were written; answers that say that there is none are left out. *what says what
 * is wrong with the line.
 * Errors: CLA_E_INPUT, CLA_E_NOMEM. Source: Nguyen et al. 2016. */
cla_status cla_msmarco_question(json_t **question, const json_t *line,
                                const char **what);
