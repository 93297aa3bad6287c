/* adam.c - a step over the parameters of a small Transformer. */
#include "bench/block.h"

/* t: p, m, v, g */
static cla_status step(cla_runtime *rt, cla_tensor *const *t)
{
    static const cla_adam_options options = { 1e-6f, 0.9f, 0.98f, 1e-9f };
    return cla_adam(rt, t[0], t[1], t[2], t[3], 1, &options);
}

cla_status bench_adam(bench *b)
{
    return bench_block_run(b, &(bench_block){
                                  .name = "adam",
                                  .n = 8000000,
                                  .blocks = 4,
                                  .ones = { [2] = true },
                                  .flops = 13,
                                  .moves = 7,
                                  .step = step,
                              });
}
