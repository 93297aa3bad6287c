/* reinforce.c - the score-function gradient (REINFORCE) of gates. */
#include "clattn/hard.h"
#include "ops/hard_gates.h"
#include "ops/spread.h"

static const char OP[] = "reinforce";

typedef struct saved {
    cla_tensor *loss, *scores, *learned;
    const cla_tensor *gates, *rewards;
    cla_tensor *returns;  // [Nq]
    cla_memory advantage; // [Nq]
    cla_hard_batch batch;
    cla_baseline baseline;
    float entropy;
} saved;

/* Queues a kernel with `count` work-items or more side by side. */
static cla_status launch_flat(cla_runtime *rt, int64_t count, cla_launch *launch)
{
    const int64_t wg = cla_tiled(rt) ? 1 : CLA_WG;
    cla_spread_rows(rt, launch, (count + wg - 1) / wg, 1);
    launch->file = OP;
    return cla_enqueue(rt, launch);
}

/* Queues a kernel with a work-group for each query of each sequence. */
static cla_status launch_rows(cla_runtime *rt, const saved *s, cla_launch *launch)
{
    const cla_ragged *rows = s->batch.q_rows;
    cla_spread_rows(rt, launch, rows->longest, 1);
    launch->file = OP;
    launch->groups[1] = (size_t)rows->sequences;
    launch->flops = 60.0 * (double)s->batch.pairs;
    return rows->sequences ? cla_enqueue(rt, launch) : CLA_OK;
}

/* ---- backward -------------------------------------------------------------------- */

static cla_status backward_learned(cla_tape *tape, const saved *s,
                                   const cla_tensor *dloss)
{
    const int64_t queries = s->batch.q_rows->tokens;
    cla_tensor *dlearned = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->learned, &dlearned, &add));
    cla_launch launch = {
        .kernel = "reinforce_baseline",
        .args = { cla_buf(dlearned), cla_mem(&s->advantage), cla_buf(dloss),
                  cla_i32(queries), cla_i32(add) },
    };
    return dlearned ? launch_flat(cla_tape_runtime(tape), queries, &launch) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_hard_batch *b = &s->batch;
    const cla_tensor *dloss = cla_grad_in(s->loss);
    cla_tensor *ds = NULL;
    int add = 0;
    CLA_TRY(backward_learned(tape, s, dloss));
    CLA_TRY(cla_grad_out(tape, s->scores, &ds, &add));
    cla_launch launch = {
        .kernel = "reinforce_backward",
        .args = { cla_buf(ds), cla_buf(s->scores), cla_buf(s->gates),
                  cla_mem(&s->advantage), cla_buf(dloss),
                  cla_mem(&b->q_rows->device_offsets),
                  cla_mem(&b->k_rows->device_offsets), cla_mem(&b->maps),
                  cla_i32(b->q_rows->tokens), cla_f32(s->entropy), cla_i32(add) },
    };
    return ds ? launch_rows(cla_tape_runtime(tape), s, &launch) : CLA_OK;
}

/* ---- forward --------------------------------------------------------------------- */

static cla_status advantages(cla_tape *tape, saved *s)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const cla_ragged *rows = s->batch.q_rows;
    const int64_t queries = rows->tokens;
    CLA_TRY(cla_tape_tensor(tape, &s->returns, CLA_F32, 1, &queries));
    CLA_TRY(cla_tape_scratch(tape, &s->advantage, (size_t)queries * sizeof(float)));
    cla_launch sums = {
        .kernel = "reinforce_returns",
        .args = { cla_buf(s->returns), cla_buf(s->rewards),
                  cla_mem(&rows->device_offsets), cla_i32(rows->sequences) },
    };
    CLA_TRY(launch_flat(rt, rows->sequences, &sums));
    cla_launch launch = {
        .kernel = "reinforce_advantage",
        .args = { cla_mem(&s->advantage), cla_buf(s->returns), cla_buf(s->learned),
                  cla_mem(&rows->device_offsets), cla_i32(rows->sequences),
                  cla_i32(rows->longest), cla_i32((int)s->baseline) },
    };
    return launch_flat(rt, rows->longest, &launch);
}

static cla_status forward(cla_tape *tape, saved *s)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_hard_batch *b = &s->batch;
    const int64_t queries = b->q_rows->tokens;
    cla_memory cost;
    CLA_TRY(cla_hard_batch_begin(tape, b));
    CLA_TRY(cla_tape_scratch(tape, &cost, (size_t)queries * sizeof(float)));
    CLA_TRY(advantages(tape, s));
    cla_launch rows = {
        .kernel = "reinforce_rows",
        .args = { cla_mem(&cost), cla_buf(s->scores), cla_buf(s->gates),
                  cla_mem(&s->advantage), cla_mem(&b->q_rows->device_offsets),
                  cla_mem(&b->k_rows->device_offsets), cla_mem(&b->maps),
                  cla_f32(s->entropy), cla_i32(s->learned != NULL) },
    };
    CLA_TRY(launch_rows(rt, s, &rows));
    cla_launch mean = {
        .kernel = "reinforce_mean",
        .args = { cla_buf(s->loss), cla_mem(&cost), cla_i32(queries) },
    };
    return launch_flat(rt, 1, &mean);
}

static cla_status check(const saved *s)
{
    CLA_TRY(cla_check_shape(OP, "scores", s->scores, CLA_F32, 1, &s->batch.pairs));
    CLA_TRY(cla_check_shape(OP, "gates", s->gates, CLA_F32, 1, &s->batch.pairs));
    const int64_t queries = s->batch.q_rows->tokens;
    CLA_TRY(cla_check_shape(OP, "rewards", s->rewards, CLA_F32, 1, &queries));
    if (!(s->entropy >= 0)) {
        return cla_fail(CLA_E_USAGE, "%s: entropy is %g, must be 0 or more", OP,
                        (double)s->entropy);
    }
    const bool learned = s->baseline == CLA_BASELINE_LEARNED;
    if (learned != (s->learned != NULL)) {
        return cla_fail(CLA_E_USAGE, "%s: baseline is %d, and learned is %s", OP,
                        (int)s->baseline, s->learned ? "given" : "not given");
    }
    return learned ? cla_check_shape(OP, "learned", s->learned, CLA_F32, 1, &queries)
                   : CLA_OK;
}

cla_status cla_reinforce(cla_tape *tape, cla_tensor **loss, cla_tensor *scores,
                         const cla_tensor *gates, const cla_tensor *rewards,
                         const cla_ragged *q_rows, const cla_ragged *k_rows,
                         const cla_reinforce_options *options)
{
    CLA_OP(tape, loss, scores, gates, rewards, q_rows, k_rows);
    static const cla_reinforce_options none = { 0 };
    options = options ? options : &none;
    CLA_MAY(tape, options->learned);
    CLA_KNOWN("options.baseline", options->baseline, CLA_BASELINE_LEARNED);
    saved s = { .scores = scores,
                .learned = options->learned,
                .gates = gates,
                .rewards = rewards,
                .baseline = options->baseline,
                .entropy = options->entropy };
    CLA_TRY(cla_reserved(OP, options->reserved));
    CLA_TRY(cla_hard_batch_check(OP, &s.batch, q_rows, k_rows));
    CLA_TRY(check(&s));
    CLA_TRY(cla_tape_tensor(tape, &s.loss, CLA_F32, 1, (int64_t[]){ 1 }));
    CLA_TRY(forward(tape, &s));
    const cla_note end = { backward, &s, sizeof s, { scores, s.learned } };
    CLA_TRY(cla_tape_give(tape, loss, s.loss, &end));
    if (options->returns) {
        *options->returns = s.returns;
    }
    return CLA_OK;
}
