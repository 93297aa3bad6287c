/* export.h - a model without what only training needs. */
#pragma once

#include "train/weights.h"

typedef enum cla_export_format {
    CLA_EXPORT_CLATTN,
    CLA_EXPORT_HUGGINGFACE, // a translator as a MarianMT folder, for transformers
    CLA_EXPORT_CTRANSLATE2, // a translator for CTranslate2
} cla_export_format;

/* Their names, up to a NULL. */
extern const char *const cla_export_formats[];

typedef struct cla_export_options {
    int format;                 // cla_export_format
    cla_weights weights;        // bits of the numbers; CLA_WEIGHTS_INT8: clattn's only
    volatile const int *signal; // set by a handler: stop, with CLA_E_IO; may be NULL
} cla_export_options;

/* Writes the folder out: settings, vocabularies and the best state's parameters of a
 * run, without the optimiser's, in the files of the format.
 *
 * numbers  out  of the parameters
 *
 * Nothing of it stays in out after a failure.
 * Errors: CLA_E_USAGE (out holds a run; 8 bits for another program), CLA_E_INPUT (no
 * run; damage; a link out of the run's folder; a parameter that a half cannot hold; a
 * model that the format cannot express), CLA_E_NUMERIC (a parameter that is not
 * finite), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_export(const char *run, const cla_export_options *options,
                      const char *out, int64_t *numbers);
