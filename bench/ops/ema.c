/* ema.c - the running mean of the parameters of a tagger. */
#include "bench/block.h"

/* t: e, p */
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
