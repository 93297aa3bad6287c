/* columns.h - a part of a matrix copied into a part of another. */
#pragma once

#include "cl/elementwise_args.h"
#include "tensor/tensor.h"

enum { CLA_COLUMNS_RUN = 8 }; // rows to a group

/* to[row,c] = from[row,c], or += with add. */
cla_status cla_copy_columns(cla_runtime *rt, const cla_tensor *to,
                            const cla_tensor *from, const columns_shape *s, int add);
