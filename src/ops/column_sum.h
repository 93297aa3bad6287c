/* column_sum.h - sums partial gradients over rows. */
#pragma once

#include "tensor/tensor.h"

/* Partial sums from work-items: the first row begins at float `at`, and rows begin
 * stride floats apart. */
typedef struct cla_partials {
    const cla_memory *memory;
    int64_t rows, at, stride;
} cla_partials;

/* Queues out (+)= sum of the rows, in order. A row has as many columns as out has
 * elements. Errors: CLA_E_DEVICE. */
cla_status cla_column_sum(cla_runtime *rt, const cla_tensor *out,
                          const cla_partials *partials, int add);

/* Queues the same for many rows: sums of runs of them, then of those. */
cla_status cla_column_sum_runs(cla_tape *tape, const cla_tensor *out,
                               const cla_partials *partials, int add);
