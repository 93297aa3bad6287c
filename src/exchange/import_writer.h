/* import_writer.h - a translator's parameters while they are made of the tensors of a
 * Hugging Face folder. */
#pragma once

#include "exchange/import_marian.h"
#include "train/made.h"

typedef struct writer {
    const marian *m;
    const char *path; // of the file that is read
    cla_st_file file;
    bool *used; // [file.count]
    cla_made made;
    int positions; // transformer_positions
} writer;

/* Reads a tensor [rows,columns] (rows 0: a vector). The caller frees the numbers.
 * Errors: CLA_E_INPUT (it is missing or of another shape), CLA_E_NUMERIC,
 * CLA_E_NOMEM. */
cla_status cla_writer_take(const writer *w, const char *name, int64_t rows,
                           int64_t columns, float **numbers);

/* n linear layers [out,in] with the same input, which become one, to [in,n*out], with
 * their biases. prefix: of their names, such as "model.encoder.layers.0.self_attn.". */
typedef struct writer_linear {
    const char *to, *prefix;
    const char *part[3];
    int64_t in, out;
    bool unbiased;
} writer_linear;
cla_status cla_writer_linear(writer *w, const writer_linear *l);

/* Copies a table in clattn's order of the pieces. The file holds it under one or more
 * of these names, NULL at the end. */
cla_status cla_writer_table(writer *w, const char *to, const marian_pieces *p,
                            const char *const *names);

/* import_t5.c: copies all tensors of T5. tied out: the output layer is the table. */
cla_status cla_writer_t5(writer *w, bool *tied);

/* Copies the gain and the bias of a norm. Errors: the same. */
cla_status cla_writer_norm(writer *w, const char *to, const char *from);

/* import_positions.c: finds the kind of the sines in w->positions; copies learned
 * positions, behind two rows that no text has, and the norms of the embeddings. Errors:
 * the same. */
cla_status cla_writer_sines(writer *w);
cla_status cla_writer_learned(writer *w);
