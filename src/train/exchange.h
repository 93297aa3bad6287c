/* exchange.h - sums gradients over all processes while the backward pass still runs. */
#pragma once

#include "nn/param.h"

/* A collective call on its way. */
typedef struct cla_request cla_request;

/* The processes of a data-parallel run; rank 0 leads. A single process has size 1. All
 * processes call each of these functions in the same order; they are NULL when size is
 * 1. Memory that is given to deal and gather is theirs until `ended` says so. */
typedef struct cla_parallel {
    int rank, size;
    int place; // rank among the processes on this machine
    /* Replaces the bytes by those of process 0. */
    cla_status (*follow)(void *data, size_t bytes);
    /* Begins to give each process i its part i of numbers [size,n]. This one gets its
     * part of all processes: parts [size,n]. */
    cla_status (*deal)(cla_request **request, const float *numbers, float *parts,
                       int64_t n);
    /* Begins to give all processes part i of numbers [size,n] of each process i. */
    cla_status (*gather)(cla_request **request, float *numbers, int64_t n);
    /* Sets *request to NULL if it has ended. */
    cla_status (*ended)(cla_request **request);
} cla_parallel;

/* What has happened to a bucket. */
typedef enum cla_bucket_stage {
    CLA_BUCKET_OPEN,     // gradients are still to come
    CLA_BUCKET_COMPUTED, // the launches that compute them are queued
    CLA_BUCKET_READ,     // the copies to the host are queued
    CLA_BUCKET_DEALT,    // each process gets its part of it
    CLA_BUCKET_GATHERED, // all get the sums
    CLA_BUCKET_WRITTEN,  // the copies to the device are queued
    CLA_BUCKET_DONE,
} cla_bucket_stage;

/* Some of the gradients: numbers [from, to) of the line in which they stand. */
typedef struct cla_bucket {
    int64_t from, to;
    int64_t at;   // place in the host memory
    int64_t each; // numbers of the part that a process sums
    cla_bucket_stage stage;
    cla_end *end;         // of the stage, on the device
    cla_request *request; // of the stage, between processes
} cla_bucket;

/* The place of a parameter in the line. */
typedef struct cla_place {
    size_t param;
    size_t first_use; // of the tape of process 0 in its first step
    int64_t from;
} cla_place;

/* The gradients stand in a line, those first that the backward pass completes first.
 * Each number is summed by one process, in the order of their ranks. So the sums do not
 * depend on time, nor on how the line is cut, and all processes have the same bits. */
typedef struct cla_exchange {
    const cla_params *params;
    cla_parallel parallel;
    cla_aside *aside;
    float *host;     // of aside: buckets, then room for parts
    cla_place *line; // of all parameters; in order from the first step on
    bool ordered;
    cla_bucket *buckets;   // the last one holds what is said beside the gradients
    int count, next;       // next: the first whose gradients are still to come
    int64_t parts, widest; // place of the first part, numbers of one
    int64_t broken;        // of this process's sums that are not finite
    int early;             // buckets that were complete before the backward pass ended
} cla_exchange;

/* What processes tell each other beside the gradients; the sums afterwards. */
typedef struct cla_told {
    float loss, stop;
    float broken; // out: whether a sum of gradients is not finite, above 0
} cla_told;

/* Cuts the gradients into buckets of `numbers`; 0: of a usual size.
 * cla_exchange_fini may be called in any case. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_exchange_init(cla_exchange *x, const cla_params *params,
                             const cla_parallel *parallel, int64_t numbers);
void cla_exchange_fini(cla_exchange *x);

/* Watches the last backward pass of a step, and begins to sum what is complete. Its
 * forward pass has run. */
cla_status cla_exchange_watch(cla_exchange *x, cla_tape *tape);
/* Begins to sum all gradients that are left. tape is no longer watched. */
cla_status cla_exchange_rest(cla_exchange *x, cla_tape *tape);
/* Goes on with all sums as far as they can go without waiting; *done: they have ended,
 * and the gradients are the sums. Call it after cla_exchange_rest. */
cla_status cla_exchange_advance(cla_exchange *x, cla_told *told, bool *done);
/* Waits for the sums. Errors: CLA_E_DEVICE. */
cla_status cla_exchange_finish(cla_exchange *x, cla_told *told);
