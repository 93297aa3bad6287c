/* msmarco.h - questions of MS MARCO, a JSON object a line: a query, plain-text passages
 * and free-form answers. */
#pragma once

#include <jansson.h>

#include "base/text.h"

/* Returns whether the line has MS MARCO's layout: a list 'passages'. */
bool cla_msmarco_is(const json_t *line);

/* Converts the line to DuReader's layout (text/dureader.h): each passage becomes a
 * document of one paragraph; texts are split into words in lower case. 'query' and
 * 'passage_text' keep the original text. The answer "No Answer Present." is left out.
 * On failure *what describes the fault of the line.
 * Errors: CLA_E_INPUT, CLA_E_NOMEM. Source: Nguyen et al. 2016. */
cla_status cla_msmarco_question(json_t **question, const json_t *line,
                                const char **what);
