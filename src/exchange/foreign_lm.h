/* foreign_lm.h - writes a language model as a folder of GPT-2, Llama or Mistral. */
#pragma once

#include "exchange/foreign.h"
#include "exchange/lm_family.h"
#include "tasks/language/language.h"

/* Writes all files of a Hugging Face folder, config.json last. Errors: those of
 * cla_foreign_huggingface. */
cla_status cla_foreign_lm(const foreign *f, cla_publish *p, bool half,
                          int64_t *numbers);

/* foreign_lm_settings.c: finds the family that has the blocks of the model; writes
 * config.json and generation_config.json. Errors: CLA_E_INPUT (the key that no family,
 * or not this one, has), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_lm_family_of(const foreign *f, const lm_family **family);
cla_status cla_lm_write_settings(const foreign *f, const lm_family *family,
                                 cla_publish *p, bool half);

/* foreign_lm_pieces.c: writes tokenizer.json and tokenizer_config.json. Errors:
 * CLA_E_INPUT (pieces that such a file cannot express), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_lm_write_pieces(const foreign *f, cla_publish *p);
