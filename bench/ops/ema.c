/* ema.c - times the running mean of a tagger's parameters. */
#include "bench/block.h"

/* Updates the mean t[0] from the parameters t[1]. */
static cla_status step(cla_runtime *rt, cla_tensor *const *t, const void *context)
{
    (void)context;
    return cla_ema(rt, t[0], t[1], 0.999f);
}

cla_status bench_ema(bench *b)
{
    return bench_block_run(b, &(bench_block){
                                  .name = "ema",
                                  .n = 2000000,
                                  .blocks = 2,
                                  .flops = 3,
                                  .moves = 3,
                                  .step = step,
                              });
}
