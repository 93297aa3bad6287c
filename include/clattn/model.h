/* model.h - trained systems inside an application (tier 3).
 *
 * A model folder, as clattn train writes it, holds all that is needed. Thread-safety:
 * as the
 * runtime. */
#pragma once

#include "clattn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cla_model cla_model;

/* Loads the best weights of a folder (the last ones where there is no best).
 *
 * Errors: CLA_E_IO, CLA_E_INPUT (what does not fit, by name), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
CLA_API cla_status cla_model_load(cla_model **model, cla_runtime *rt,
                                  const char *folder);
CLA_API void cla_model_free(cla_model **model);

/* The system's name: "tagger". */
CLA_API const char *cla_model_kind(const cla_model *model);

/* Tags a sentence.
 *
 * tags   out  [count] names, which stay the model's
 * words  in   [count] UTF-8, none empty
 *
 * Errors: CLA_E_USAGE (the model is no tagger), CLA_E_INPUT (a word that is empty,
 * holds a
 * tab or line end, or is not UTF-8: its position), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_tag(cla_model *model, const char **tags,
                                 const char *const *words, size_t count);

#ifdef __cplusplus
}
#endif
