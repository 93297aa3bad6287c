/* columns.h - a part of a matrix copied into a part of another. */
#pragma once

#include "tensor/tensor.h"

enum { CLA_COLUMNS_RUN = 8 }; // rows to a group

/* In floats, as in cl/elementwise.clh. */
typedef struct cla_columns {
    int32_t rows, columns, run; // run: CLA_COLUMNS_RUN
    int32_t to_at, to_stride, from_at, from_stride;
} cla_columns;

/* to[row,c] = from[row,c], or += with add. */
cla_status cla_copy_columns(cla_runtime *rt, const cla_tensor *to,
                            const cla_tensor *from, const cla_columns *s, int add);
