/* treebank.h - how long real sentences are. */
#pragma once

#include <stddef.h>

#include "clattn/status.h"

/* The folder of the treebank that comes with the program: beside it as installed, or in
 * the sources. The configs lie in "../../configs" from there. path has room for size
 * bytes. */
const char *bench_treebank_folder(char *path, size_t size);

/* Words in each sentence of the treebank that comes with the program, evenly drawn from
 * all of it. Errors: CLA_E_IO (no such file), CLA_E_INPUT, CLA_E_NOMEM. */
cla_status bench_treebank_lengths(int *lengths, int count);
