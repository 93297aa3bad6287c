/* sum.c - the sum and the mean of all elements, and the mean squared error. */
#include "ops/sum.h"

#include "clattn/arithmetic.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { SHORTEST_RUN = 4096 };

cla_runs cla_runs_of(int64_t n)
{
    const int64_t even = cla_pieces(n, CLA_MOST_RUNS);
    const int64_t each = even < SHORTEST_RUN ? SHORTEST_RUN : even;
    return (cla_runs){ each, cla_pieces(n, each) };
}

cla_status cla_sum_runs(cla_runtime *rt, const cla_memory *partial, cla_summed summed,
                        const cla_tensor *a, const cla_tensor *b)
{
    const cla_runs runs = cla_runs_of(cla_size(a));
    cla_launch launch = {
        .file = "sum",
        .kernel = "sum_runs",
        .args = { cla_mem(partial), cla_buf(a), cla_buf(b), cla_i32(cla_size(a)),
                  cla_i32(runs.each) },
    };
    cla_spread_each_row(rt, &launch, runs.count, CLA_WG, 1);
    cla_launch_define(&launch, "SUMMED", (int)summed);
    return cla_enqueue(rt, &launch);
}

typedef struct saved {
    cla_tensor *y, *a, *b; // b is NULL unless differences are summed
    cla_summed summed;
    float factor; // of the sum
} saved;

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *da = NULL, *db = NULL;
    int add_a = 0, add_b = 0;
    CLA_TRY(cla_grad_out(tape, s->a, &da, &add_a));
    CLA_TRY(s->b ? cla_grad_out(tape, s->b, &db, &add_b) : CLA_OK);
    cla_launch launch = {
        .file = "sum",
        .kernel = "sum_backward",
        .args = { cla_buf(da), cla_buf(db), cla_buf(dy), cla_buf(s->a), cla_buf(s->b),
                  cla_i32(cla_size(s->a)), cla_f32(s->factor),
                  cla_i32(add_a | add_b << 1) },
    };
    cla_spread_elements(cla_tape_runtime(tape), &launch, cla_size(s->a));
    launch.define[1] = (cla_define){ "SUMMED", (int)s->summed };
    return da || db ? cla_enqueue(cla_tape_runtime(tape), &launch) : CLA_OK;
}

/* Makes y, the sum of s->a's elements times s->factor, and notes the backward step. */
static cla_status sum_up(cla_tape *tape, cla_tensor **y, saved *s)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const cla_runs runs = cla_runs_of(cla_size(s->a));
    const int wg = cla_tiled(rt) ? 1 : CLA_WG;
    cla_memory partial;
    CLA_TRY(cla_tape_tensor(tape, &s->y, CLA_F32, 1, (int64_t[]){ 1 }));
    CLA_TRY(cla_tape_scratch(tape, &partial, (size_t)runs.count * sizeof(float)));
    CLA_TRY(cla_sum_runs(rt, &partial, s->summed, s->a, s->b));
    const cla_launch end = {
        .file = "sum",
        .kernel = "sum_end",
        .define = { { "WG", wg }, { "SUMMED", (int)s->summed } },
        .groups = { 1 },
        .local = { (size_t)wg },
        .args = { cla_buf(s->y), cla_mem(&partial), cla_i32(runs.count),
                  cla_f32(s->factor) },
    };
    CLA_TRY(cla_enqueue(rt, &end));
    const cla_note note = { backward, s, sizeof *s, { s->a, s->b } };
    return cla_tape_give(tape, y, s->y, &note);
}

/* Returns 1 / n, and 0 for an empty tensor, whose mean is 0. */
static float share(const cla_tensor *x)
{
    return cla_size(x) ? (float)(1 / (double)cla_size(x)) : 0;
}

const cla_signature cla_sum_signature = { "sum", "x:... -> y:1" };

cla_status cla_sum(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    CLA_TRY(cla_signature_check(&cla_sum_signature, (cla_given[]){ { x } },
                                &(cla_sizes){ 0 }));
    saved s = { .a = x, .factor = 1 };
    return sum_up(tape, y, &s);
}

const cla_signature cla_mean_signature = { "mean", "x:... -> y:1" };

cla_status cla_mean(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    CLA_TRY(cla_signature_check(&cla_mean_signature, (cla_given[]){ { x } },
                                &(cla_sizes){ 0 }));
    saved s = { .a = x, .factor = share(x) };
    return sum_up(tape, y, &s);
}

const cla_signature cla_mse_signature = { "mse", "a:... b:... -> loss:1" };

cla_status cla_mse(cla_tape *tape, cla_tensor **loss, cla_tensor *a, cla_tensor *b)
{
    CLA_OP(tape, loss, a, b);
    CLA_TRY(cla_signature_check(&cla_mse_signature, (cla_given[]){ { a }, { b } },
                                &(cla_sizes){ 0 }));
    saved s = { .a = a, .b = b, .summed = CLA_SUMMED_DIFFERENCES, .factor = share(a) };
    return sum_up(tape, loss, &s);
}
