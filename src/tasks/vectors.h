/* vectors.h - word vectors in a model's table of words. */
#pragma once

#include "tensor/tensor.h"
#include "text/vocab.h"

/* Copies the vectors of the file at path (text format, as wide as the table) into the
 * rows of table [words->count, dim] whose words it has. Other rows keep their values.
 * Errors: those of cla_vectors_read, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_tasks_place_vectors(const char *path, const cla_vocab *words,
                                   cla_tensor *table);
