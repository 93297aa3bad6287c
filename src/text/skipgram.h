/* skipgram.h - vectors of words or characters learnt from lines, on the host. */
#pragma once

#include "text/vectors.h"

/* Lines of words, zero-initialised empty. */
typedef struct cla_skipgram {
    cla_vocab words;
    int32_t *id;                // of all lines, one after the other
    size_t *end;                // of each line, in id
    size_t count, cap;          // words
    size_t line_count, end_cap; // lines
} cla_skipgram;

void cla_skipgram_free(cla_skipgram *s);

/* A word more of the line that is being added; the end of it. Errors: CLA_E_NOMEM. */
cla_status cla_skipgram_add(cla_skipgram *s, const char *word);
cla_status cla_skipgram_end(cla_skipgram *s);

typedef struct cla_skipgram_options {
    int dim;           // 1 to 4096
    int window;        // words on either side, at most; each place draws 1 to window
    int negatives;     // words drawn against each pair
    int epochs;        // times that all lines are read
    int64_t min_count; // words that are rarer are left out of the lines
    double rate;       // of the first step; falls in a straight line to 1e-4 of itself
    double sample;     // 0, or how frequent a word is that begins to be left out
    uint32_t seed;
} cla_skipgram_options;

/* dim 512, window 5, negatives 5, epochs 5, min_count 5, rate 0.025, no sampling, seed
 * 42. */
cla_skipgram_options cla_skipgram_defaults(void);

/* Skip-gram with negative sampling. For each place of a word w and each word c within
 * the window of it a step up the gradient of
 *   log s(v_w . u_c) + sum_k log s(-v_w . u_n(k)),   s(x) = 1 / (1 + e^-x),
 * with n(k) drawn in proportion to count^0.75 and passed over where it is c. A word of
 * a part f of all words is read with probability sqrt(sample / f) + sample / f. v
 * begins uniform within +-0.5 / dim, u as 0. out: v of the words in falling order of
 * counts. *loss, unless NULL: the mean over pairs of minus the sum above, in the last
 * epoch. One thread; the same lines, options and seed give the same bits.
 * Errors: CLA_E_USAGE (an option out of its range), CLA_E_INPUT (no word is as frequent
 * as min_count), CLA_E_NOMEM. Source: Mikolov et al. 2013, word2vec.c. */
cla_status cla_skipgram_train(const cla_skipgram *s,
                              const cla_skipgram_options *options, cla_vectors *out,
                              double *loss);
