/* ragged_cross_entropy.c - cross entropy of pointing at one row of each sequence. */
#include "cl/ragged_cross_entropy_args.h"
#include "clattn/ham.h"
#include "ops/spread.h"
#include "tensor/signature.h"

static const char OP[] = "ragged_cross_entropy";

typedef struct saved {
    cla_tensor *loss, *x, *logp; // logp NULL: not wanted
    const cla_tensor *targets;
    const cla_ragged *rows;
    cla_memory lse, weight; // [B], [1]
    pointer_args args;
} saved;

static cla_status launch_groups(cla_tape *tape, const saved *s, int64_t groups,
                                cla_launch *launch)
{
    cla_spread_each_row(cla_tape_runtime(tape), launch, groups, CLA_WG, 1);
    launch->file = OP;
    launch->flops = 10.0 * (double)s->rows->tokens;
    return groups ? cla_enqueue(cla_tape_runtime(tape), launch) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    saved *s = bytes;
    const cla_tensor *dloss = cla_grad_in(s->loss);
    cla_tensor *dx = NULL;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &s->args.add));
    cla_launch launch = {
        .kernel = "pointer_backward",
        .args = { cla_buf(dx), cla_buf(s->x), cla_mem(&s->lse), cla_buf(s->targets),
                  cla_mem(&s->rows->device_offsets), cla_mem(&s->weight),
                  cla_buf(dloss), cla_bytes(&s->args, sizeof s->args) },
    };
    return launch_groups(tape, s, s->rows->sequences, &launch);
}

/* Queues the cost of each sequence, then the mean. */
static cla_status forward(cla_tape *tape, saved *s)
{
    const size_t bytes = (size_t)s->rows->sequences * sizeof(float);
    cla_memory cost;
    CLA_TRY(cla_tape_scratch(tape, &s->lse, bytes));
    CLA_TRY(cla_tape_scratch(tape, &cost, bytes));
    CLA_TRY(cla_tape_scratch(tape, &s->weight, sizeof(float)));
    cla_launch rows = {
        .kernel = "pointer_rows",
        .args = { cla_mem(&s->lse), cla_mem(&cost), cla_buf(s->logp), cla_buf(s->x),
                  cla_buf(s->targets), cla_mem(&s->rows->device_offsets),
                  cla_bytes(&s->args, sizeof s->args) },
    };
    CLA_TRY(launch_groups(tape, s, s->rows->sequences, &rows));
    cla_launch mean = {
        .kernel = "pointer_mean",
        .args = { cla_buf(s->loss), cla_mem(&s->weight), cla_mem(&cost),
                  cla_buf(s->targets), cla_mem(&s->rows->device_offsets),
                  cla_bytes(&s->args, sizeof s->args) },
    };
    return launch_groups(tape, s, 1, &mean);
}

const cla_signature cla_ragged_cross_entropy_signature = {
    "ragged_cross_entropy", "x:N targets:B:i32 rows(N,B) -> loss:1 logp?:N"
};

cla_status cla_ragged_cross_entropy(cla_tape *tape, cla_tensor **loss, cla_tensor *x,
                                    const cla_tensor *targets, const cla_ragged *rows,
                                    const cla_pointer_options *options)
{
    CLA_OP(tape, loss, x, targets, rows);
    static const cla_pointer_options none = { .least = 0 };
    options = options ? options : &none;
    saved s = { .x = x, .targets = targets, .rows = rows };
    CLA_TRY(cla_reserved(OP, options->reserved));
    CLA_TRY(cla_signature_check(&cla_ragged_cross_entropy_signature,
                                (cla_given[]){ { x }, { targets }, { .rows = rows } },
                                &(cla_sizes){ 0 }));
    if (!(options->least >= 0)) {
        return cla_fail(CLA_E_USAGE, "%s: least is %g, must be 0 or more", OP,
                        (double)options->least);
    }
    s.args = (pointer_args){ .sequences = (int32_t)rows->sequences,
                             .given = options->probabilities,
                             .least = options->least };
    CLA_TRY(cla_tape_tensor(tape, &s.loss, CLA_F32, 1, (int64_t[]){ 1 }));
    if (options->logp) {
        CLA_TRY(cla_tape_tensor(tape, &s.logp, CLA_F32, 1, x->shape));
    }
    CLA_TRY(forward(tape, &s));
    if (options->logp) {
        *options->logp = s.logp;
    }
    const cla_note end = { backward, &s, sizeof s, { x } };
    return cla_tape_give(tape, loss, s.loss, &end);
}
