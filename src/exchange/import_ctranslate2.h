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

/* Reads a scalar of both stacks, which must agree; leaves *value when there is none.
 * Errors: CLA_E_INPUT. */
cla_status cla_ct2_both(const ct2_folder *f, const char *name, double *value);

/* Makes the tensors of f->m with the names and shapes of Hugging Face. Needs the sizes
 * and the numbers of pieces in f->m. Errors: CLA_E_INPUT (a variable that is missing,
 * left over or of another shape), CLA_E_NUMERIC, CLA_E_NOMEM. */
cla_status cla_ct2_read_weights(ct2_folder *f);

/* Reads a variable [rows,columns] (rows 0: a vector). The caller frees the numbers.
 * Errors: those of cla_ct2_read_weights. */
cla_status cla_ct2_take(const ct2_folder *f, const char *name, int64_t rows,
                        int64_t columns, float **numbers);
/* Adds a tensor of some rows of numbers (high 0: a vector) to f->m. */
cla_status cla_ct2_keep(ct2_folder *f, const char *name, int64_t high, int64_t wide,
                        const float *numbers);
/* Refuses variables that nothing has used, except scalars of 0 and those that only
 * alignments and the merging of several sources use. */
cla_status cla_ct2_check_rest(const ct2_folder *f);

/* import_ctranslate2_t5.c: whether the model is a T5, mT5 or MADLAD-400; its sizes, in
 * addition to those that all models have; its pieces, of tokens with their numbers; its
 * tensors. Errors: those of the functions for all models. */
bool cla_ct2_is_t5(const ct2_folder *f);
cla_status cla_ct2_t5_sizes(ct2_folder *f);
cla_status cla_ct2_t5_pieces(ct2_folder *f, json_t *tokens, const char *path,
                             marian_pieces *pieces, int count);
cla_status cla_ct2_t5_weights(ct2_folder *f);

/* Gives the tokens of a vocabulary with their numbers, an object to be freed.
 * text  in  a list in JSON, or a token a line when the path ends in .txt; is changed
 * Errors: CLA_E_INPUT (no such text, a token twice), CLA_E_NOMEM. */
cla_status cla_ct2_tokens(json_t **tokens, const char *path, char *text, size_t size);
