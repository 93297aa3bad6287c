/* answer.h - what the parts of clattn answer share. */
#pragma once

#include "tasks/reading/reading.h"

/* Prints one JSON object of the ids of a file's questions and their answers. Refuses a
 * passage of more than max_words words. Errors: those of reading_read_file and
 * reading_answers. */
cla_status cli_answer_file(reading *t, const char *path, int max_words);
