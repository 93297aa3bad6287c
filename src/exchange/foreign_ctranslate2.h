/* foreign_ctranslate2.h - parts of a CTranslate2 folder that all its models have. */
#pragma once

#include "exchange/ct2.h"
#include "exchange/foreign.h"

/* Adds the scalars that all models have, apart from scale_embeddings, whose type
 * differs. zero_start: translations start with zeros. Errors: CLA_E_NOMEM. */
cla_status cla_ct2_add_scalars(const foreign *f, ct2_file *file, bool zero_start);

/* Appends the token of a piece to an array. Errors: CLA_E_INPUT (it is not UTF-8). */
cla_status cla_ct2_add_token(const foreign *f, json_t *tokens, size_t piece,
                             const char *token);

/* Adds the tensors to the variables and writes model.bin.
 * half  in  float16
 * Errors: CLA_E_INPUT (a number that float16 cannot hold), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_ct2_save(const foreign *f, cla_publish *p, cla_made *made,
                        ct2_file *file, bool half);

/* Writes config.json.
 * first  in  bos_token, which the program does not put in front of sources
 * start  in  the token that translations start with
 * usual  in  the epsilon of norms that CTranslate2 takes without being told one
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_ct2_write_settings(const foreign *f, cla_publish *p, const char *first,
                                  const char *start, double usual);

/* foreign_ctranslate2_t5.c: writes the folder of a T5, mT5 or MADLAD-400. Errors: those
 * of cla_foreign_ctranslate2. */
cla_status cla_foreign_ctranslate2_t5(const foreign *f, cla_publish *p, bool half,
                                      int64_t *numbers);
