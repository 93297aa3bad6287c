/* finite.c - checks whether all numbers of a block are finite. */
#include "clattn/optim.h"
#include "ops/spread.h"

enum { GROUP_SIZE = 64, SHORTEST_RUN = 4096, MOST_RUNS = 64 };

static cla_status launch(cla_runtime *rt, const cla_memory *found, const cla_tensor *x,
                         int64_t runs, int64_t run)
{
    const cla_launch launch = {
        .file = "finite",
        .kernel = "finite",
        .define = { { "WG", GROUP_SIZE } },
        .groups = { (size_t)runs },
        .local = { GROUP_SIZE },
        .args = { cla_mem(found), cla_buf(x), cla_i32(cla_size(x)), cla_i32(run) },
    };
    return cla_enqueue(rt, &launch);
}

cla_status cla_finite(cla_runtime *rt, bool *finite, const cla_tensor *x)
{
    CLA_NEED(rt, finite, x);
    CLA_HOLD(rt);
    CLA_SAME(rt, x);
    *finite = true;
    CLA_TRY(cla_check_f32("finite", "x", x));
    const int64_t n = cla_size(x), even = (n + MOST_RUNS - 1) / MOST_RUNS;
    const int64_t run = even < SHORTEST_RUN ? SHORTEST_RUN : even;
    const int64_t runs = (n + run - 1) / run; // 0 if x is empty
    const size_t bytes = (size_t)runs * GROUP_SIZE * sizeof(int32_t);
    int32_t host[MOST_RUNS * GROUP_SIZE];
    cla_memory found;
    CLA_TRY(cla_memory_new(&found, rt, bytes));
    cla_status status = launch(rt, &found, x, runs, run);
    status = status ? status : cla_memory_read(rt, &found, 0, host, bytes);
    cla_memory_free(&found, rt);
    for (int64_t i = 0; i < runs * GROUP_SIZE && !status; i++) {
        *finite = *finite && !host[i];
    }
    return status;
}
