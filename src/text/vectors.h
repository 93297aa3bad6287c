/* vectors.h - vectors of words, in the text format of word2vec, GloVe and fastText. */
#pragma once

#include "text/vocab.h"

typedef struct cla_vectors {
    cla_vocab words;
    float *value; // [words.count, dim]
    size_t cap;   // of value
    int dim;
    int64_t passed_over; // words of the file that were not asked for, or stood twice
} cla_vectors;

void cla_vectors_free(cla_vectors *v);

/* Reads a line a word: the word and dim numbers, separated by blanks. A first line of
 * two whole numbers says how many words there are and dim. A word may hold blanks
 * (GloVe has some); of a word that stands there twice the first counts. only: none but
 * the words of this vocabulary, NULL: all. dim: what the file must have, 0: 1 to 4096.
 * Errors: CLA_E_INPUT with path:line (no text, a number that is none, another number
 * of numbers, fewer or more words than the first line says; no word), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cla_vectors_read(cla_vectors *v, const char *path, const cla_vocab *only,
                            int dim);

/* Writes what cla_vectors_read reads, with a first line of counts; floats come back the
 * same. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_vectors_write(const cla_vectors *v, const char *path);

/* Adds a word with a vector of zeros, when it is new. Errors: CLA_E_NOMEM. */
cla_status cla_vectors_add(cla_vectors *v, const char *word, float **vector);

/* The vector of word, or NULL. */
const float *cla_vectors_find(const cla_vectors *v, const char *word);

/* Copies the vectors of vocab's tokens into the rows of table [vocab->count, dim], and
 * leaves the other rows alone. Gives how many it copied. */
size_t cla_vectors_fill(const cla_vectors *v, const cla_vocab *vocab, float *table);

typedef struct cla_neighbour {
    int word; // of v->words
    double cosine;
} cla_neighbour;

/* The n words of v (at most) whose vectors have the largest cosine with vector [dim],
 * largest first, ties by number; those of except [n_except] are left out. *found says
 * how many there are. Vectors of length 0 have no neighbours and are none.
 * Errors: CLA_E_NOMEM. */
cla_status cla_vectors_nearest(const cla_vectors *v, const float *vector,
                               const int *except, size_t n_except, size_t n,
                               cla_neighbour *out, size_t *found);
