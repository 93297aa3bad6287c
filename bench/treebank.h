/* treebank.h - lengths of real sentences. */
#pragma once

#include <stddef.h>

#include "clattn/status.h"

/* Returns the folder of the bundled treebank: beside the program, where it is
 * installed, or in the sources. "../../configs" from there is the folder of the
 * configs. path [size] is a buffer for the result, which may also be a constant. */
const char *bench_treebank_folder(char *path, size_t size);

/* Writes to lengths [count] the numbers of words of sentences of the bundled treebank,
 * taken at equal distances from all of it. Errors: CLA_E_IO (no such file), CLA_E_INPUT
 * (fewer than count sentences), CLA_E_NOMEM. */
cla_status bench_treebank_lengths(int *lengths, int count);
