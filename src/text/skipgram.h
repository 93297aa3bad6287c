/* skipgram.h - trains word vectors (skip-gram, negative sampling) on the host. */
#pragma once

#include "text/vectors.h"

/* The training text. {0} is empty. */
typedef struct cla_skipgram {
    cla_vocab words;
    int32_t *id;                // of all lines, one after the other
    size_t *end;                // of each line, in id
    size_t count, cap;          // words
    size_t line_count, end_cap; // lines
} cla_skipgram;

void cla_skipgram_free(cla_skipgram *s);

/* add appends a word to the current line, end closes the line. Errors: CLA_E_NOMEM. */
cla_status cla_skipgram_add(cla_skipgram *s, const char *word);
cla_status cla_skipgram_end(cla_skipgram *s);

typedef struct cla_skipgram_options {
    int dim;       // 1 to 4096
    int window;    // most words on either side; each place draws 1 .. window
    int negatives; // negative samples a pair
    int epochs;
    int64_t min_count; // rarer words are removed from the lines
    double rate;       // initial learning rate; falls linearly to 1e-4 of it
    double sample;     // subsampling threshold (relative frequency); 0: none
    uint32_t seed;
} cla_skipgram_options;

/* Returns dim 512, window 5, negatives 5, epochs 5, min_count 5, rate 0.025, no
 * subsampling, seed 42. */
cla_skipgram_options cla_skipgram_defaults(void);

/* Trains skip-gram with negative sampling. For each occurrence of a word w and each
 * word c in its window, takes a gradient ascent step on
 *   log s(v_w . u_c) + sum_k log s(-v_w . u_n(k)),   s(x) = 1 / (1 + e^-x).
 * Negatives n(k) are drawn with probability proportional to count^0.75; a draw that
 * equals c is skipped. A word of relative frequency f is read with probability
 * sqrt(sample / f) + sample / f. v starts uniform in +-0.5 / dim, u starts at 0.
 * out receives v, words in falling order of counts. *loss, unless NULL, is the mean of
 * minus the sum above over the pairs of the last epoch. Runs in one thread; the same
 * lines, options and seed give the same bits.
 * Errors: CLA_E_USAGE (an option out of range), CLA_E_INPUT (no word occurs min_count
 * times), CLA_E_NOMEM. Source: Mikolov et al. 2013, word2vec.c. */
cla_status cla_skipgram_train(const cla_skipgram *s,
                              const cla_skipgram_options *options, cla_vectors *out,
                              double *loss);
