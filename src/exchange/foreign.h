/* foreign.h - a translator's folder, opened to be written in another program's format.
 *
 * Matrices here are [in,out]; those of other programs are [out,in]. q, k and v are side
 * by side here. */
#pragma once

#include "tasks/translation/translation.h"
#include "train/made.h"
#include "train/publish.h"

typedef struct foreign {
    const char *run;
    cla_config settings;
    cla_task *task; // a translator without a device
    const translation *t;
    char *path; // of the weights
    cla_st_file file;
    bool joint; // one vocabulary for both languages
} foreign;

/* Opens the translator in run: settings, pieces and best weights, all of which fit.
 * Call foreign_close in any case.
 * Errors: CLA_E_INPUT (no translator; damage; a tensor that is missing, left over or of
 * another shape), CLA_E_NUMERIC, CLA_E_IO, CLA_E_NOMEM. */
cla_status foreign_open(foreign *f, const char *run);
void foreign_close(foreign *f);

/* Refuses the kinds of attention, convolutions and vectors that no other program has.
 * program  in  its name, for the message
 * Errors: CLA_E_INPUT (key and value), CLA_E_NOMEM. */
cla_status foreign_check(const foreign *f, const char *program);
/* The error for the value of a key that the program cannot express. */
cla_status foreign_refuse(const foreign *f, const char *key, const char *program);

/* Rows that positions have at most. */
int foreign_positions(const foreign *f);

/* The numbers of a tensor, as float32. */
cla_status foreign_take(const foreign *f, const char *name, float **numbers);

/* A linear layer of theirs: some columns of a matrix of ours. */
typedef struct foreign_linear {
    const char *from;   // the matrix [in,columns]; its bias is from_bias [columns]
    int64_t first, out; // columns that the layer has
    const char *weight; // its name there, [out,in]
    const char *bias;   // [out]
} foreign_linear;

cla_status foreign_add_linear(const foreign *f, cla_made *made,
                              const foreign_linear *l);

/* Adds the gain and the bias of the norm `from`. */
cla_status foreign_add_norm(const foreign *f, cla_made *made, const char *from,
                            const char *gain, const char *bias);

/* Adds the table [count,D] of signals of positions. */
cla_status foreign_add_positions(const foreign *f, cla_made *made, const char *name);

/* Writes a file of the folder: bytes, or JSON (taken). Errors: CLA_E_INPUT (a text that
 * is not UTF-8), CLA_E_IO, CLA_E_NOMEM. */
cla_status foreign_write(cla_publish *p, const char *name, const char *bytes,
                         size_t size);
cla_status foreign_write_json(cla_publish *p, const char *name, json_t *value);

/* Writes source.spm and target.spm, or codes.txt of byte pairs. */
cla_status foreign_write_codes(const foreign *f, cla_publish *p);

/* Write the folder's files, config.json last.
 * half  in  weights as float16
 * Errors: those of foreign_check, CLA_E_IO, CLA_E_NOMEM. */
cla_status foreign_ctranslate2(const foreign *f, cla_publish *p, bool half,
                               int64_t *numbers);
cla_status foreign_huggingface(const foreign *f, cla_publish *p, bool half,
                               int64_t *numbers);
