/* reinforce.c - times the policy loss of a decoder's gates. */
#include "base/base.h"
#include "bench/bench.h"
#include "clattn/hard.h"

enum { B = 64, T = 32 };

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const cla_reinforce_options options = { .entropy = 1e-3f };
    return cla_reinforce(tape, y, x[0], x[1], x[2], context, context, &options);
}

cla_status bench_reinforce(bench *b)
{
    bench_op op = {
        .name = "reinforce fwd+bwd B64 T32 S32",
        .suite = "layers",
        .in = { { 1, { B * T * T }, 2 },
                { .rank = 1, .shape = { B * T * T }, .constant = true },
                { .rank = 1, .shape = { B * T }, .constant = true } },
        .inputs = 3,
        .backward = true,
        .bytes = 4.0 * 5 * B * T * T,
        .forward = forward,
    };
    cla_ragged *rows = NULL;
    if (!bench_wants(b, op.suite, op.name)) {
        return CLA_OK;
    }
    CLA_TRY(bench_rows(b, &rows, B, T));
    op.context = rows;
    const cla_status status = bench_op_run(b, &op);
    cla_ragged_free(&rows);
    return status;
}
