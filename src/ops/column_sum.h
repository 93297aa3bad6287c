/* column_sum.h - the last step of gradients that are sums over rows. */
#pragma once

#include "tensor/tensor.h"

/* What the rows of work-items left behind: rows of columns floats, from at on, stride
 * floats apart. */
typedef struct cla_partials {
    const cla_memory *memory;
    int64_t rows, at, stride;
} cla_partials;

/* out (+)= the rows' sum, in order; out holds as many columns as it has elements.
 * Errors: CLA_E_DEVICE. */
cla_status cla_column_sum(cla_runtime *rt, const cla_tensor *out,
                          const cla_partials *partials, int add);
