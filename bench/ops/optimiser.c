/* optimiser.c - times a step of each optimiser on a tagger's parameters. */
#include "ops/optimiser.h"

#include "bench/block.h"

/* Updates the parameters t[0] and moments t[1] ...; the last t is the gradient. */
static cla_status step(cla_runtime *rt, cla_tensor *const *t, const void *optimiser)
{
    const cla_optimiser *o = optimiser;
    cla_optimiser_rates rates = o->usual;
    rates.lr = 1e-6;
    return cla_optimiser_step(rt, o, t[0], t + 1, t[cla_optimiser_moments(o) + 1], 1,
                              &rates);
}

cla_status bench_optimiser(bench *b)
{
    const cla_optimiser *o = NULL;
    for (int i = 0; (o = cla_optimiser_at(i)); i++) {
        const int blocks = cla_optimiser_moments(o) + 2;
        const bench_block block = {
            .name = o->signature.op,
            .n = 2000000,
            .blocks = blocks,
            .ones = { [1] = true, [2] = blocks > 3 },
            .flops = o->flops,
            .moves = 2 * blocks - 1,
            .step = step,
            .context = o,
        };
        CLA_TRY(bench_block_run(b, &block));
    }
    return CLA_OK;
}
