/* hard_gates.h - the maps of a packed batch and their gates. */
#pragma once

#include "clattn/hard.h"
#include "tensor/tensor.h"

/* The queries and keys of a batch, and the place of each sequence's map. */
typedef struct cla_hard_batch {
    const cla_ragged *q_rows, *k_rows;
    int64_t pairs;   // P, numbers in all maps
    cla_memory maps; // [B+1] i32, where each map begins
} cla_hard_batch;

/* Fills batch from queries and keys, which must not be NULL, and counts the pairs.
 * Errors: CLA_E_SHAPE (different numbers of sequences, 2^31 pairs or more). */
cla_status cla_hard_batch_check(const char *who, cla_hard_batch *batch,
                                const cla_ragged *q_rows, const cla_ragged *k_rows);

/* Allocates batch.maps and queues the kernel that fills it. */
cla_status cla_hard_batch_begin(cla_tape *tape, cla_hard_batch *batch);

/* Queues gates [P] of scores [P]. options->gate must not be CLA_GATE_GIVEN. */
cla_status cla_hard_gates(cla_tape *tape, const cla_hard_batch *batch,
                          const cla_tensor *gates, const cla_tensor *scores,
                          const cla_hard_options *options);

/* Queues norm [Nq] = 1 / max(1, sum of the query's gates). */
cla_status cla_hard_norm(cla_tape *tape, const cla_hard_batch *batch, cla_memory *norm,
                         const cla_tensor *gates);

/* Lists of the open gates of each query, or of each key. */
typedef struct cla_hard_lists {
    cla_memory places; // [P] i32, each row's list at the start of its part of the map
    cla_memory count;  // [rows] i32, lengths of the lists
} cla_hard_lists;

cla_status cla_hard_list(cla_tape *tape, const cla_hard_batch *batch,
                         cla_hard_lists *lists, const cla_tensor *gates, bool by_key);
