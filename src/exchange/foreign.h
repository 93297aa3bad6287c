/* foreign.h - writes a translator or a language model for another program.
 *
 * clattn stores matrices as [in,out], with q, k and v side by side; the other programs
 * store them as [out,in]. */
#pragma once

#include "tasks/translation/translation.h"
#include "train/made.h"
#include "train/publish.h"

typedef struct foreign {
    const char *run;
    cla_config settings;
    cla_task *task;       // without a device
    const translation *t; // NULL: a language model
    char *path;           // file of the weights
    cla_st_file file;
    bool joint; // a translator's: one vocabulary for both languages
} foreign;

/* Opens the model in the folder run and checks that its settings, pieces and best
 * weights fit together. Call cla_foreign_close in any case.
 * Errors: CLA_E_INPUT (neither of the two; damage; a tensor that is missing, left over
 * or of another shape), CLA_E_NUMERIC, CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_foreign_open(foreign *f, const char *run);
void cla_foreign_close(foreign *f);

/* Returns the number of rows of the table of positions: the longest output and its
 * start token, at least 1024. */
int cla_foreign_positions(const foreign *f);

/* Copies the values of a tensor as float32; the caller frees them. */
cla_status cla_foreign_take(const foreign *f, const char *name, float **numbers);

/* Returns the name of a piece in files that know pieces by their names. Rows without a
 * token, and words of text that are spelled as special tokens, have a name in unused
 * that no other piece has. next: 0 for the first piece. */
enum { FOREIGN_UNUSED = 32 };
const char *cla_foreign_token(const cla_vocab *vocab, size_t at, int64_t *next,
                              char unused[FOREIGN_UNUSED]);

/* A linear layer of the other program, made of columns of a matrix of clattn. */
typedef struct foreign_linear {
    const char *from;   // the matrix [in,columns]; its bias is from_bias [columns]
    int64_t first, out; // first column, number of columns
    const char *weight; // name in the other program, [out,in]
    const char *bias;   // name in the other program, [out]; NULL: it has none
} foreign_linear;

cla_status cla_foreign_add_linear(const foreign *f, cla_made *made,
                                  const foreign_linear *l);

/* Adds rows row[0], row[1], ... of the table `from` [V,D]. */
cla_status cla_foreign_add_rows(const foreign *f, cla_made *made, const char *from,
                                const char *to, const int32_t *row, int64_t rows);

/* Adds a tensor as it is: [rows,columns], rows 0: a vector. */
cla_status cla_foreign_add_same(const foreign *f, cla_made *made, const char *from,
                                const char *to, int64_t rows, int64_t columns);

/* Adds the gain and the bias of the layer norm `from`. */
cla_status cla_foreign_add_norm(const foreign *f, cla_made *made, const char *from,
                                const char *gain, const char *bias);

/* Adds the table of positional encodings [cla_foreign_positions,D]. */
cla_status cla_foreign_add_positions(const foreign *f, cla_made *made,
                                     const char *name);

/* Write a file of the folder: bytes, or JSON, which the function frees. Errors:
 * CLA_E_IO, CLA_E_NOMEM (also: value is NULL). */
cla_status cla_foreign_write(cla_publish *p, const char *name, const char *bytes,
                             size_t size);
cla_status cla_foreign_write_json(cla_publish *p, const char *name, json_t *value);

/* Writes source.spm and target.spm, or codes.txt for byte pair encoding. */
cla_status cla_foreign_write_codes(const foreign *f, cla_publish *p);

/* Write all files of the folder, config.json last.
 * half     in   store the weights as float16
 * numbers  out  parameter values written
 * Errors: CLA_E_INPUT (a key that the program cannot express, a
 * value that float16 cannot hold, a
 * piece that is not UTF-8), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_foreign_ctranslate2(const foreign *f, cla_publish *p, bool half,
                                   int64_t *numbers);
cla_status cla_foreign_huggingface(const foreign *f, cla_publish *p, bool half,
                                   int64_t *numbers);
