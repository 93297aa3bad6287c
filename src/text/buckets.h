/* buckets.h - pairs of sentences in batches by the token. */
#pragma once

#include "text/bitext.h"

/* An epoch's batches. Batch k has pairs pair[first[k]] .. pair[first[k+1]]. */
typedef struct cla_buckets {
    int64_t *pair;  // [pairs] each pair of the bitext once
    int64_t *first; // [count+1]
    int64_t count;
} cla_buckets;

/* Batches of pairs of like length with at most tokens pieces on either side, and at
 * least one pair. Which pairs are together and the order of batches depend on seed and
 * epoch alone: a run is resumed from its epoch and the number of batches done.
 * Errors: CLA_E_USAGE (tokens < 1), CLA_E_NOMEM. */
cla_status cla_buckets_make(cla_buckets *b, const cla_bitext *text, int64_t tokens,
                            uint32_t seed, uint32_t epoch);
void cla_buckets_free(cla_buckets *b);

/* Pairs as a packed batch: what an encoder and a decoder read, and what the decoder
 * must say. One block of memory. */
typedef struct cla_pair_batch {
    int64_t pairs, source_count, target_count;
    int32_t *source;          // [source_count]
    int32_t *source_position; // [source_count] in its sentence
    int32_t *source_offsets;  // [pairs+1]
    int32_t *input;           // [target_count] the target one late; first -1: no token
    int32_t *target;          // [target_count]
    int32_t *target_position; // [target_count]
    int32_t *target_offsets;  // [pairs+1]
} cla_pair_batch;

/* Errors: CLA_E_USAGE (2^31 pieces or more), CLA_E_NOMEM. */
cla_status cla_pair_batch_make(cla_pair_batch *batch, const cla_bitext *text,
                               const int64_t *pair, int64_t n);
void cla_pair_batch_free(cla_pair_batch *batch);
