/* rmsprop.c - a step over the parameters of a tagger. */
#include "bench/block.h"

/* t: p, a, g */
static cla_status step(cla_runtime *rt, cla_tensor *const *t)
{
    return cla_rmsprop(rt, t[0], t[1], t[2], 1e-6f, 0.9f, 1e-7f);
}

cla_status bench_rmsprop(bench *b)
{
    return bench_block_run(b, &(bench_block){
                                  .name = "rmsprop",
                                  .n = 2000000,
                                  .blocks = 3,
                                  .ones = { [1] = true },
                                  .flops = 8,
                                  .moves = 5,
                                  .step = step,
                              });
}
