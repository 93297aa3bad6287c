/* vectors.h - word vectors in the text format of word2vec, GloVe and fastText. */
#pragma once

#include "text/vocab.h"

typedef struct cla_vectors {
    cla_vocab words;
    float *value; // [words.count, dim]
    size_t cap;   // of value
    int dim;
    int64_t passed_over; // skipped words of the file: unwanted or duplicate
} cla_vectors;

void cla_vectors_free(cla_vectors *v);

/* Reads a word a line: the word and dim numbers, separated by blanks. A first line of
 * two whole numbers gives the number of words and dim. A word may contain blanks (GloVe
 * has some); an empty one is passed over; the first of duplicates counts. only: read
 * the words of this vocabulary; NULL: all words. dim: the size that the file must have;
 * 0: any of 1 to 4096. Errors: CLA_E_INPUT with path:line (not UTF-8 text, a malformed
 * number, a wrong count of numbers or of words, no word), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_vectors_read(cla_vectors *v, const char *path, const cla_vocab *only,
                            int dim);

/* Writes a file for cla_vectors_read, with a first line of sizes. Reading it gives the
 * same floats. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_vectors_write(const cla_vectors *v, const char *path);

/* Adds a word with a vector of zeros unless it is there, and gives its vector. Errors:
 * CLA_E_NOMEM. */
cla_status cla_vectors_add(cla_vectors *v, const char *word, float **vector);

/* Returns the vector of word, or NULL. */
const float *cla_vectors_find(const cla_vectors *v, const char *word);

/* Copies the vectors of vocab's tokens into the rows of table [vocab->count, dim].
 * Other rows keep their values. Returns the number of copied rows. */
size_t cla_vectors_fill(const cla_vectors *v, const cla_vocab *vocab, float *table);

typedef struct cla_neighbour {
    int word; // of v->words
    double cosine;
} cla_neighbour;

/* Finds the n words whose vectors have the largest cosine with vector [dim], in falling
 * order, ties by id, without the words of except [n_except]. *found is their number,
 * which may be less than n. A zero vector has no neighbours and is no neighbour.
 * Errors: CLA_E_NOMEM. */
cla_status cla_vectors_nearest(const cla_vectors *v, const float *vector,
                               const int *except, size_t n_except, size_t n,
                               cla_neighbour *out, size_t *found);
