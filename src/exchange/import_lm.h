/* import_lm.h - imports a causal language model: a Hugging Face folder of GPT-2, Llama
 * or Mistral. */
#pragma once

#include "exchange/lm_family.h"

/* Returns whether config.json of the folder names one of cla_lm_families. */
bool cla_lm_is_folder(const char *from);

/* Converts the folder to that of a language model. numbers, signal and errors as
 * cla_import. */
cla_status cla_lm_import(const char *from, const char *out, volatile const int *signal,
                         int64_t *numbers);

/* import_lm_settings.c: reads config.json and writes the settings of a language model.
 * end  out  number of the piece that ends a document, -1: the file has none
 * Errors: CLA_E_INPUT (file, key and value), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_lm_read_settings(const char *from, const lm_family **family,
                                cla_config *settings, int *end);
