/* sum.h - sums of runs of a tensor's elements, in a fixed order. */
#pragma once

#include "tensor/tensor.h"

/* What is summed, as cl/sum.cl numbers it. */
typedef enum cla_summed {
    CLA_SUMMED_VALUES,
    CLA_SUMMED_SQUARES,
    CLA_SUMMED_DIFFERENCES // squares of a - b
} cla_summed;

enum { CLA_MOST_RUNS = 1024 };

/* Equal runs of n elements, at most CLA_MOST_RUNS; the last may be shorter. */
typedef struct cla_runs {
    int64_t each, count; // count is 0 if there are no elements
} cla_runs;

cla_runs cla_runs_of(int64_t n);

/* Queues partial[i] = sum of run i. partial: [runs of a] floats; b: of a's shape, and
 * NULL unless differences are summed. Errors: CLA_E_DEVICE. */
cla_status cla_sum_runs(cla_runtime *rt, const cla_memory *partial, cla_summed summed,
                        const cla_tensor *a, const cla_tensor *b);
