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

/* Pieces that end a text: that of documents, then others. */
enum { LM_ENDS = 16 };
typedef struct lm_ends {
    int id[LM_ENDS], count;
} lm_ends;

/* import_lm_settings.c: reads config.json, and generation_config.json where there is
 * one, and writes the settings of a language model.
 * ends  out  as the latter has them or, without, the former
 * Errors: CLA_E_INPUT (file, key and value), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_lm_read_settings(const char *from, const lm_family **family,
                                cla_config *settings, lm_ends *ends);

/* import_lm_rope.c: reads rotary positions, whose settings are added to ours. theirs
 * has num_attention_heads and so on; context: of the model. Errors: CLA_E_INPUT (a kind
 * of scaling that is not read, by its name), CLA_E_NOMEM. */
cla_status cla_lm_read_rope(cla_config *theirs, json_t *ours, int context);
