/* attention.c - full attention: encoder, causal decoder, cross. */
#include <stdio.h>

#include "bench/bench.h"
#include "oracle/oracle.h"
#include "tensor/tensor.h"

typedef struct attention_shape {
    int B, H, T, S, d;
    bool causal;
    cla_ragged *q_rows, *k_rows;
} attention_shape;

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const attention_shape *c = context;
    const cla_attention_options options = { .causal = c->causal };
    return cla_attention(tape, y, x[0], x[1], x[2], c->q_rows, c->k_rows, &options);
}

static void oracle(double *y, double *const *x, void *context)
{
    const attention_shape *c = context;
    const oracle_attention_shape shape = {
        .B = c->B,
        .H = c->H,
        .d = c->d,
        .q_offsets = c->q_rows->offsets,
        .k_offsets = c->k_rows->offsets,
        .causal = c->causal,
    };
    oracle_attention(y, NULL, x[0], x[1], x[2], &shape);
}

/* Two products forward; backward makes the scores again: five in all. */
static cla_status run_shape(bench *b, attention_shape *c, bool backward)
{
    const double rows = (double)c->B * c->H * c->d;
    const double pairs = c->causal ? c->T * (c->T + 1.0) / 2 : (double)c->T * c->S;
    bench_op op = {
        .suite = "attention",
        .in = { { 3, { (int64_t)c->B * c->T, c->H, c->d } },
                { 3, { (int64_t)c->B * c->S, c->H, c->d } },
                { 3, { (int64_t)c->B * c->S, c->H, c->d } } },
        .inputs = 3,
        .backward = backward,
        .flops = (backward ? 14 : 4) * rows * pairs,
        .bytes = (backward ? 24 : 8) * rows * (c->T + c->S),
        .forward = forward,
        .oracle = oracle,
        .context = c,
    };
    char keys[16] = "";
    if (c->S != c->T) {
        snprintf(keys, sizeof keys, " S%d", c->S);
    }
    snprintf(op.name, sizeof op.name, "attention %s B%d H%d T%d%s d%d%s",
             backward ? "fwd+bwd" : "fwd", c->B, c->H, c->T, keys, c->d,
             c->causal ? " causal" : "");
    return bench_op_run(b, &op);
}

static cla_status run_both(bench *b, attention_shape *c)
{
    cla_status status = run_shape(b, c, false);
    return status ? status : run_shape(b, c, true);
}

cla_status bench_attention(bench *b)
{
    attention_shape shapes[] = {
        { 64, 8, 64, 64, 64, false, NULL, NULL },
        { 8, 8, 512, 512, 64, true, NULL, NULL },
        { 32, 8, 48, 64, 64, false, NULL, NULL },
        { 8, 8, 512, 512, 64, false, NULL, NULL },
        { 8, 8, 256, 256, 128, false, NULL, NULL },
    };
    const int count = bench_quick(b) ? 1 : (int)(sizeof shapes / sizeof *shapes);
    cla_status status = CLA_OK;
    for (int i = 0; i < count && !status; i++) {
        attention_shape *c = &shapes[i];
        status = bench_rows(b, &c->q_rows, c->B, c->T);
        status = status ? status : bench_rows(b, &c->k_rows, c->B, c->S);
        status = status ? status : run_both(b, c);
        cla_ragged_free(&c->q_rows);
        cla_ragged_free(&c->k_rows);
    }
    return status;
}
