/* hard_gates.h - maps of a packed batch, and which of their gates are open. */
#pragma once

#include "clattn/hard.h"
#include "tensor/tensor.h"

/* Queries and keys of a batch, and where the map of each pair begins. */
typedef struct cla_hard_batch {
    const cla_ragged *q_rows, *k_rows;
    int64_t pairs;   // P, numbers of all maps
    cla_memory maps; // [B+1] i32
} cla_hard_batch;

/* Refuses rows that are missing or do not belong together, and counts pairs.
 * Errors: CLA_E_USAGE, CLA_E_SHAPE. */
cla_status cla_hard_batch_check(const char *who, cla_hard_batch *batch,
                                const cla_ragged *q_rows, const cla_ragged *k_rows);

/* Queues the making of batch.maps. */
cla_status cla_hard_batch_begin(cla_tape *tape, cla_hard_batch *batch);

/* Queues gates [P] for scores [P]; CLA_GATE_GIVEN is none of its business. */
cla_status cla_hard_gates(cla_tape *tape, const cla_hard_batch *batch,
                          const cla_tensor *gates, const cla_tensor *scores,
                          const cla_hard_options *options);

/* Queues norm [Nq] = 1 / max(1, sum of the query's gates). */
cla_status cla_hard_norm(cla_tape *tape, const cla_hard_batch *batch, cla_memory *norm,
                         const cla_tensor *gates);

/* The open gates of each query, or of each key. */
typedef struct cla_hard_lists {
    cla_memory places; // [P] i32, a row's part of the map as far as it is needed
    cla_memory count;  // [rows] i32
} cla_hard_lists;

cla_status cla_hard_list(cla_tape *tape, const cla_hard_batch *batch,
                         cla_hard_lists *lists, const cla_tensor *gates, bool by_key);
