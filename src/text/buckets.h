/* buckets.h - batches of sentence pairs, sized by their number of tokens. */
#pragma once

#include "text/bitext.h"

/* The batches of an epoch. Batch k is pair[first[k] .. first[k+1]). */
typedef struct cla_buckets {
    int64_t *pair;  // [pairs] every pair of the corpus once
    int64_t *first; // [count+1]
    int64_t count;
} cla_buckets;

/* Makes batches of pairs of similar length. A batch has at most tokens pieces on either
 * side, but always at least one pair. Content and order of the batches depend on seed
 * and epoch alone, so a run resumes from its epoch and the number of finished batches.
 * Errors: CLA_E_USAGE (tokens < 1), CLA_E_NOMEM. */
cla_status cla_buckets_make(cla_buckets *b, const cla_bitext *text, int64_t tokens,
                            uint32_t seed, uint32_t epoch);
void cla_buckets_free(cla_buckets *b);

/* A packed batch: the encoder's input, the decoder's input and the decoder's target.
 * All arrays share one block of memory. */
typedef struct cla_pair_batch {
    int64_t pairs, source_count, target_count;
    int32_t *source;          // [source_count]
    int32_t *source_position; // [source_count] in its sentence
    int32_t *source_offsets;  // [pairs+1]
    int32_t *input;           // [target_count] target shifted right; first -1: no token
    int32_t *target;          // [target_count]
    int32_t *target_position; // [target_count]
    int32_t *target_offsets;  // [pairs+1]
} cla_pair_batch;

/* Errors: CLA_E_USAGE (2^31 pieces or more), CLA_E_NOMEM. */
cla_status cla_pair_batch_make(cla_pair_batch *batch, const cla_bitext *text,
                               const int64_t *pair, int64_t n);
void cla_pair_batch_free(cla_pair_batch *batch);
