/* additive_attention.c - attention whose scores are weighted sums of tanh. */
#include "cl/additive_attention_args.h"
#include "ops/attention_common.h"
#include "ops/column_sum.h"
#include "ops/ham.h"
#include "ops/hard_gates.h"
#include "ops/spread.h"
#include "tensor/signature.h"

static const char OP[] = "additive_attention";

typedef struct saved {
    cla_tensor *context, *weights, *scores; // [Nq,d], [P], [P]
    cla_tensor *m, *q, *v, *values;
    cla_hard_batch batch;
} saved;

static additive_args args_of(const saved *s)
{
    return (additive_args){ .inner = (int32_t)s->m->shape[1],
                            .width = (int32_t)s->values->shape[1],
                            .sequences = (int32_t)s->batch.q_rows->sequences,
                            .m = GRAD_SKIP,
                            .q = GRAD_SKIP,
                            .v = GRAD_SKIP,
                            .values = GRAD_SKIP };
}

/* Completes and queues a launch, with groups of one work-item under the tile schedule,
 * else of CLA_WG. */
static cla_status launch_pairs(cla_tape *tape, const saved *s, cla_launch *launch)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const bool tiled = cla_tiled(rt);
    launch->file = tiled ? "additive_attention_tile" : OP;
    launch->define[0] = tiled ? (cla_define){ "VEC", cla_vector_width(rt) }
                              : (cla_define){ "WG", CLA_WG };
    launch->local[0] = tiled ? 1 : CLA_WG;
    launch->flops = 30.0 * (double)s->batch.pairs * (double)s->m->shape[1] +
                    4.0 * (double)s->batch.pairs * (double)s->values->shape[1];
    return cla_enqueue(rt, launch);
}

static cla_status launch_forward(cla_tape *tape, const saved *s)
{
    const additive_args args = args_of(s);
    const cla_ragged *q_rows = s->batch.q_rows, *k_rows = s->batch.k_rows;
    cla_launch launch = {
        .kernel = "additive_forward",
        .groups = { (size_t)q_rows->longest, (size_t)q_rows->sequences },
        .args = { cla_buf(s->context), cla_buf(s->weights), cla_buf(s->scores),
                  cla_buf(s->m), cla_buf(s->q), cla_buf(s->v), cla_buf(s->values),
                  cla_mem(&q_rows->device_offsets), cla_mem(&k_rows->device_offsets),
                  cla_bytes(&args, sizeof args) },
    };
    return q_rows->longest ? launch_pairs(tape, s, &launch) : CLA_OK;
}

/* ---- backward -------------------------------------------------------------------- */

/* Queues the gradient of the scores and, if context has a gradient, of the values. */
static cla_status launch_scores(cla_tape *tape, const saved *s, const cla_memory *ds)
{
    const cla_tensor *dcontext = cla_grad_in(s->context);
    const cla_ragged *q_rows = s->batch.q_rows, *k_rows = s->batch.k_rows;
    cla_tensor *dvalues = NULL;
    additive_args args = args_of(s);
    if (dcontext) {
        int mode = 0;
        CLA_TRY(cla_grad_out(tape, s->values, &dvalues, &mode));
        args.values = dvalues ? mode : GRAD_SKIP;
    }
    cla_launch launch = {
        .kernel = "additive_back_scores",
        .groups = { (size_t)args.sequences },
        .args = { cla_mem(ds), cla_buf(dvalues), cla_buf(s->weights),
                  cla_buf(s->values), cla_buf(dcontext),
                  cla_buf(cla_grad_in(s->weights)), cla_buf(cla_grad_in(s->scores)),
                  cla_mem(&q_rows->device_offsets), cla_mem(&k_rows->device_offsets),
                  cla_bytes(&args, sizeof args) },
    };
    return launch_pairs(tape, s, &launch);
}

/* Queues the gradients of m, q and v from that of the scores. */
static cla_status launch_inner(cla_tape *tape, const saved *s, const cla_memory *ds)
{
    const cla_ragged *q_rows = s->batch.q_rows, *k_rows = s->batch.k_rows;
    cla_tensor *dm = NULL, *dq = NULL, *dv = NULL;
    additive_args args = args_of(s);
    cla_memory parts;
    int mode[3] = { 0 };
    CLA_TRY(cla_grad_out(tape, s->m, &dm, &mode[0]));
    CLA_TRY(cla_grad_out(tape, s->q, &dq, &mode[1]));
    CLA_TRY(cla_grad_out(tape, s->v, &dv, &mode[2]));
    args.m = dm ? mode[0] : GRAD_SKIP;
    args.q = dq ? mode[1] : GRAD_SKIP;
    const size_t sums = (size_t)args.sequences * (size_t)args.inner;
    CLA_TRY(cla_tape_scratch(tape, &parts, sums * sizeof(float)));
    cla_launch launch = {
        .kernel = "additive_back_inner",
        .groups = { (size_t)args.sequences },
        .args = { cla_buf(dm), cla_buf(dq), cla_mem(&parts), cla_mem(ds), cla_buf(s->m),
                  cla_buf(s->q), cla_buf(s->v), cla_mem(&q_rows->device_offsets),
                  cla_mem(&k_rows->device_offsets), cla_bytes(&args, sizeof args) },
    };
    CLA_TRY(launch_pairs(tape, s, &launch));
    const cla_partials partials = { &parts, args.sequences, 0, args.inner };
    return dv ? cla_column_sum(cla_tape_runtime(tape), dv, &partials, mode[2]) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    cla_memory ds;
    if (!cla_grad_in(s->context) && !cla_grad_in(s->weights) &&
        !cla_grad_in(s->scores)) {
        return CLA_OK;
    }
    CLA_TRY(cla_tape_scratch(tape, &ds, (size_t)s->batch.pairs * sizeof(float)));
    CLA_TRY(launch_scores(tape, s, &ds));
    return s->scores->wants_grad ? launch_inner(tape, s, &ds) : CLA_OK;
}

/* ---- forward --------------------------------------------------------------------- */

const cla_signature cla_additive_attention_signature = {
    "additive_attention", "m:Nk,a q:Nq,a v:a values:Nk,d q_rows(Nq,B) k_rows(Nk,B) -> "
                          "context:Nq,d weights?:P scores?:P"
};

static cla_status forward(cla_tape *tape, saved *s)
{
    const int64_t shape[2] = { s->q->shape[0], s->values->shape[1] };
    cla_tensor *const scored[] = { s->m, s->q, s->v };
    CLA_TRY(cla_tape_tensor(tape, &s->context, CLA_F32, 2, shape));
    CLA_TRY(cla_tape_tensor(tape, &s->weights, CLA_F32, 1, &s->batch.pairs));
    CLA_TRY(cla_tape_tensor(tape, &s->scores, CLA_F32, 1, &s->batch.pairs));
    CLA_TRY(launch_forward(tape, s));
    s->scores->wants_grad = cla_tape_needs_grad(tape, 3, scored);
    s->weights->wants_grad = s->scores->wants_grad;
    s->context->wants_grad =
        cla_tape_needs_grad(tape, 1, &s->values) || s->scores->wants_grad;
    cla_tensor *const results[CLA_RESULTS] = { s->context, s->weights, s->scores };
    return s->context->wants_grad
               ? cla_tape_record(tape, backward, s, sizeof *s, results)
               : CLA_OK;
}

cla_status cla_additive_attention(cla_tape *tape, cla_tensor **context, cla_tensor *m,
                                  cla_tensor *q, cla_tensor *v, cla_tensor *values,
                                  const cla_ragged *q_rows, const cla_ragged *k_rows,
                                  const cla_additive_options *options)
{
    CLA_OP(tape, context, m, q, v, values, q_rows, k_rows);
    saved s = { .m = m, .q = q, .v = v, .values = values };
    CLA_TRY(options ? cla_reserved(OP, options->reserved) : CLA_OK);
    CLA_TRY(cla_hard_batch_check(OP, &s.batch, q_rows, k_rows));
    CLA_TRY(cla_signature_check(
        &cla_additive_attention_signature,
        (cla_given[]){
            { m }, { q }, { v }, { values }, { .rows = q_rows }, { .rows = k_rows } },
        &(cla_sizes){ 0 }));
    CLA_TRY(forward(tape, &s));
    if (options && options->weights) {
        *options->weights = s.weights;
    }
    if (options && options->scores) {
        *options->scores = s.scores;
    }
    *context = s.context;
    return CLA_OK;
}
