/* columns.h - copies a part of a matrix into a part of another one. */
#pragma once

#include "cl/elementwise_args.h"
#include "tensor/tensor.h"

enum { CLA_COLUMNS_RUN = 8 }; // rows of a work-group

/* Queues to[row,c] = from[row,c], or += with add, for the parts that s describes. */
cla_status cla_copy_columns(cla_runtime *rt, const cla_tensor *to,
                            const cla_tensor *from, const columns_shape *s, int add);
