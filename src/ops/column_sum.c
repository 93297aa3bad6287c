/* column_sum.c - sums partial gradients over rows. */
#include "ops/column_sum.h"

cla_status cla_column_sum(cla_runtime *rt, const cla_tensor *out,
                          const cla_partials *partials, int add)
{
    enum { GROUP_SIZE = 32 };
    const int64_t columns = cla_size(out);
    const size_t read = (size_t)(partials->rows * columns) * sizeof(float);
    const cla_launch launch = {
        .file = "column_sum",
        .kernel = "column_sum",
        .define = { { "WG", GROUP_SIZE } },
        .groups = { (size_t)((columns + GROUP_SIZE - 1) / GROUP_SIZE) },
        .local = { GROUP_SIZE },
        .args = { cla_buf(out), cla_mem_some(partials->memory, read),
                  cla_i32(partials->rows), cla_i32(columns), cla_i32(partials->at),
                  cla_i32(partials->stride), cla_i32(add) },
    };
    return cla_enqueue(rt, &launch);
}
