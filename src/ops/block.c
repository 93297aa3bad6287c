/* block.c - packs the results of a block of operators into bf16, and back. */
#include "ops/block.h"

#include "ops/spread.h"
#include "tensor/block.h"

static bool holds(const cla_tape *tape)
{
    const cla_runtime *rt = cla_tape_runtime(tape);
    return cla_tape_training(tape) && cla_runtime_precision(rt) == CLA_PRECISION_MEDIUM;
}

static cla_status pack(cla_runtime *rt, const cla_memory *to, const cla_memory *from,
                       int64_t n, bool back)
{
    cla_launch launch = {
        .file = "pack",
        .kernel = back ? "unpack_bf16" : "pack_bf16",
        .args = { cla_mem(to), cla_mem(from), cla_i32((int32_t)n) },
    };
    cla_spread_elements(rt, &launch, n);
    return cla_enqueue(rt, &launch);
}

cla_status cla_block_begin(cla_tape *tape)
{
    return holds(tape) ? cla_tape_begin_block(tape) : CLA_OK;
}

cla_status cla_block_end(cla_tape *tape, cla_tensor *y)
{
    return holds(tape) ? cla_tape_end_block(tape, y, pack) : CLA_OK;
}
