/* max_attention.c - query-to-context attention: rows weighted by their best match. */
#include "cl/max_attention_args.h"
#include "clattn/ham.h"
#include "ops/attention_common.h"
#include "ops/spread.h"
#include "tensor/signature.h"

static const char OP[] = "max_attention";

typedef struct saved {
    cla_tensor *out, *q, *k;
    const cla_ragged *q_rows, *k_rows;
    cla_memory best, top, weight; // [Nq] each
    max_args args;
} saved;

/* Queues a kernel over runs of the rows of each sequence. */
static cla_status launch_runs(cla_tape *tape, const saved *s, int64_t rows,
                              cla_launch *launch)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_spread_rows(rt, launch, rows, MAX_RUN);
    launch->file = OP;
    launch->define[1] = (cla_define){ "VEC", cla_vector_width(rt) };
    launch->groups[1] = (size_t)s->q_rows->sequences;
    return launch->groups[0] && launch->groups[1] ? cla_enqueue(rt, launch) : CLA_OK;
}

static cla_status launch_sums(cla_tape *tape, const saved *s, cla_launch *launch)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_spread_rows(rt, launch, s->q_rows->sequences, 1);
    launch->file = OP;
    launch->define[1] = (cla_define){ "VEC", cla_vector_width(rt) };
    return launch->groups[0] ? cla_enqueue(rt, launch) : CLA_OK;
}

static double pairs_of(const saved *s)
{
    const int32_t *q = s->q_rows->offsets, *k = s->k_rows->offsets;
    double pairs = 0;
    for (int64_t b = 0; b < s->q_rows->sequences; b++) {
        pairs += (double)(q[b + 1] - q[b]) * (double)(k[b + 1] - k[b]);
    }
    return pairs;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->out);
    cla_tensor *dq = NULL, *dk = NULL;
    CLA_TRY(cla_grad_out(tape, s->q, &dq, &s->args.mode));
    s->args.mode = dq ? s->args.mode : GRAD_SKIP;
    cla_launch rows = {
        .kernel = "max_back_rows",
        .args = { cla_buf(dq), cla_mem(&s->top), cla_buf(s->q), cla_buf(s->k),
                  cla_mem(&s->best), cla_mem(&s->weight), cla_buf(s->out), cla_buf(dy),
                  cla_mem(&s->q_rows->device_offsets),
                  cla_bytes(&s->args, sizeof s->args) },
        .flops = 6.0 * (double)cla_size(s->q),
    };
    CLA_TRY(launch_runs(tape, s, s->q_rows->longest, &rows));
    CLA_TRY(cla_grad_out(tape, s->k, &dk, &s->args.mode));
    cla_launch keys = {
        .kernel = "max_back_keys",
        .args = { cla_buf(dk), cla_buf(s->q), cla_mem(&s->best), cla_mem(&s->top),
                  cla_mem(&s->q_rows->device_offsets),
                  cla_mem(&s->k_rows->device_offsets),
                  cla_bytes(&s->args, sizeof s->args) },
        .flops = 2.0 * (double)cla_size(s->q),
    };
    return dk ? launch_runs(tape, s, s->k_rows->longest, &keys) : CLA_OK;
}

static cla_status forward(cla_tape *tape, saved *s)
{
    const size_t bytes = (size_t)s->q_rows->tokens * sizeof(float);
    CLA_TRY(cla_tape_scratch(tape, &s->best, bytes));
    CLA_TRY(cla_tape_scratch(tape, &s->top, bytes));
    CLA_TRY(cla_tape_scratch(tape, &s->weight, bytes));
    cla_launch best = {
        .kernel = "max_best",
        .args = { cla_mem(&s->best), cla_mem(&s->top), cla_buf(s->q), cla_buf(s->k),
                  cla_mem(&s->q_rows->device_offsets),
                  cla_mem(&s->k_rows->device_offsets),
                  cla_bytes(&s->args, sizeof s->args) },
        .flops = 2.0 * pairs_of(s) * s->args.width,
    };
    CLA_TRY(launch_runs(tape, s, s->q_rows->longest, &best));
    cla_launch pool = {
        .kernel = "max_pool",
        .args = { cla_buf(s->out), cla_mem(&s->weight), cla_mem(&s->top), cla_buf(s->q),
                  cla_mem(&s->q_rows->device_offsets),
                  cla_mem(&s->k_rows->device_offsets),
                  cla_bytes(&s->args, sizeof s->args) },
        .flops = 2.0 * (double)cla_size(s->q),
    };
    return launch_sums(tape, s, &pool);
}

const cla_signature cla_max_attention_signature = {
    "max_attention", "q:Nq,d k:Nk,d q_rows(Nq,B) k_rows(Nk,B) -> out:B,d"
};

cla_status cla_max_attention(cla_tape *tape, cla_tensor **out, cla_tensor *q,
                             cla_tensor *k, const cla_ragged *q_rows,
                             const cla_ragged *k_rows)
{
    CLA_OP(tape, out, q, k, q_rows, k_rows);
    saved s = { .q = q, .k = k, .q_rows = q_rows, .k_rows = k_rows };
    CLA_TRY(cla_signature_check(
        &cla_max_attention_signature,
        (cla_given[]){ { q }, { k }, { .rows = q_rows }, { .rows = k_rows } },
        &(cla_sizes){ 0 }));
    s.args.width = (int32_t)q->shape[1];
    const int64_t shape[] = { q_rows->sequences, q->shape[1] };
    CLA_TRY(cla_tape_tensor(tape, &s.out, CLA_F32, 2, shape));
    CLA_TRY(forward(tape, &s));
    const cla_note end = { backward, &s, sizeof s, { q, k } };
    return cla_tape_give(tape, out, s.out, &end);
}
