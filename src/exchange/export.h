/* export.h - exports a trained model without the data that only training needs. */
#pragma once

#include "train/weights.h"

typedef enum cla_export_format {
    CLA_EXPORT_CLATTN,
    CLA_EXPORT_HUGGINGFACE, // for transformers: a translator, a language model
    CLA_EXPORT_CTRANSLATE2, // a translator for CTranslate2
} cla_export_format;

/* Names of the formats, up to a NULL. */
extern const char *const cla_export_formats[];

typedef struct cla_export_options {
    int format;                 // cla_export_format
    cla_weights weights;        // number type; CLA_WEIGHTS_INT8: CLA_EXPORT_CLATTN only
    volatile const int *signal; // set by a handler: stop, with CLA_E_IO; may be NULL
} cla_export_options;

/* Writes the settings, vocabularies and best parameters of a run to the folder out, in
 * the files of the format. The optimiser's state is left out.
 *
 * numbers  out  parameter values written
 *
 * A failed export leaves none of its files in out.
 * Errors: CLA_E_USAGE (out holds a run; int8 for another program), CLA_E_INPUT (no run;
 * damage; a link out of the run's folder; a parameter that float16 cannot hold; a model
 * that the format cannot express), CLA_E_NUMERIC (a parameter that is not finite),
 * CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_export(const char *run, const cla_export_options *options,
                      const char *out, int64_t *numbers);
