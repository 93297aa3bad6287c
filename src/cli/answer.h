/* answer.h - shared functions of `clattn answer'. */
#pragma once

#include "tasks/reading/reading.h"

/* Prints one JSON object that maps the ids of a file's questions to their answers.
 * Refuses passages of more than max_words words. Errors: CLA_E_INPUT, those of
 * cla_reading_read_file and cla_reading_answers. */
cla_status cli_answer_file(reading *t, const char *path, int max_words);
