/* import_ctranslate2.h - reads a folder of CTranslate2, or an Argos package around
 * one. */
#pragma once

#include "exchange/ct2.h"
#include "exchange/import_marian.h"
#include "exchange/import_package.h"

typedef struct ct2_folder {
    marian *m;
    const import_package *package;
    bool argos;    // the model lies in the folder model
    ct2_read file; // model.bin
    cla_text path; // of it
    bool padded;   // the tables get a row of zeros for <pad>, which they lack
    bool zero;     // the decoder starts with zeros
} ct2_folder;

#define CT2_TARGET "decoder/embeddings/weight"
#define CT2_OUTPUT "decoder/projection/weight"

/* Returns the name of the source's table, which has a number in newer files. */
const char *cla_ct2_source(const ct2_folder *f);
/* Returns whether two variables, which may be NULL, are one. */
bool cla_ct2_same(const ct2_variable *a, const ct2_variable *b);
/* Gives the shape of a matrix. Errors: CLA_E_INPUT (it is missing or has another rank).
 */
cla_status cla_ct2_shape(const ct2_folder *f, const char *name, int64_t *rows,
                         int64_t *columns);
/* Refuses a variable by its name. Returns CLA_E_INPUT. */
cla_status cla_ct2_wrong(const ct2_folder *f, const char *name, const char *what);

/* Reads the sizes of the network from the variables. Errors: CLA_E_INPUT. */
cla_status cla_ct2_read_sizes(ct2_folder *f);

/* Makes the tensors of f->m with the names and shapes of Hugging Face. Needs the sizes
 * and the numbers of pieces in f->m. Errors: CLA_E_INPUT (a variable that is missing,
 * left over or of another shape), CLA_E_NUMERIC, CLA_E_NOMEM. */
cla_status cla_ct2_read_weights(ct2_folder *f);

/* Gives the tokens of a vocabulary with their numbers, an object to be freed.
 * text  in  a list in JSON, or a token a line when the path ends in .txt; is changed
 * Errors: CLA_E_INPUT (no such text, a token twice), CLA_E_NOMEM. */
cla_status cla_ct2_tokens(json_t **tokens, const char *path, char *text, size_t size);
