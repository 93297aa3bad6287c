/* adadelta.c - a step over the parameters of a tagger. */
#include "bench/block.h"

/* t: p, a, d, g */
static cla_status step(cla_runtime *rt, cla_tensor *const *t)
{
    return cla_adadelta(rt, t[0], t[1], t[2], t[3], 1e-6f, 0.95f, 1e-6f);
}

cla_status bench_adadelta(bench *b)
{
    return bench_block_run(b, &(bench_block){
                                  .name = "adadelta",
                                  .n = 2000000,
                                  .blocks = 4,
                                  .ones = { [1] = true, [2] = true },
                                  .flops = 14,
                                  .moves = 7,
                                  .step = step,
                              });
}
