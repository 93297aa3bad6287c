/* column_sum.c - sums partial gradients over rows. */
#include "ops/column_sum.h"

#include "ops/spread.h"

/* Queues a kernel over the columns of out, which have `last` as their last argument. */
static cla_status launch(cla_runtime *rt, const char *kernel, const cla_memory *out,
                         const cla_partials *partials, int64_t columns, int64_t runs,
                         int last)
{
    enum { GROUP_SIZE = 32 };
    const size_t read = (size_t)(partials->rows * columns) * sizeof(float);
    const cla_launch sum = {
        .file = "column_sum",
        .kernel = kernel,
        .define = { { "WG", GROUP_SIZE } },
        .groups = { (size_t)cla_pieces(columns, GROUP_SIZE), (size_t)runs },
        .local = { GROUP_SIZE },
        .args = { cla_mem(out), cla_mem_some(partials->memory, read),
                  cla_i32(partials->rows), cla_i32(columns), cla_i32(partials->at),
                  cla_i32(partials->stride), cla_i32(last) },
    };
    return cla_enqueue(rt, &sum);
}

cla_status cla_column_sum(cla_runtime *rt, const cla_tensor *out,
                          const cla_partials *partials, int add)
{
    return launch(rt, "column_sum", &out->memory, partials, cla_size(out), 1, add);
}

cla_status cla_column_sum_runs(cla_tape *tape, const cla_tensor *out,
                               const cla_partials *partials, int add)
{
    enum { LEAST = 32, MOST = 64 }; // rows of a run, runs
    cla_runtime *rt = cla_tape_runtime(tape);
    const int64_t columns = cla_size(out), each = cla_pieces(partials->rows, MOST);
    const int64_t run = each > LEAST ? each : LEAST;
    cla_memory sums = { 0 };
    const cla_partials runs = { .memory = &sums,
                                .rows = cla_pieces(partials->rows, run),
                                .stride = columns };
    CLA_TRY(cla_tape_scratch(tape, &sums,
                             (size_t)(runs.rows * columns + 1) * sizeof(float)));
    if (runs.rows) {
        CLA_TRY(
            launch(rt, "column_runs", &sums, partials, columns, runs.rows, (int)run));
    }
    return cla_column_sum(rt, out, &runs, add);
}
