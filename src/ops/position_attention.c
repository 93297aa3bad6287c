/* position_attention.c - attention with scalars for positions added to its scores.
 *
 * The scalars are packed into a table that the kernels read by whole vectors. The pass
 * for dQ computes the gradient of every score. It sums them over a run of sequences in
 * the layout of the table, and the runs' sums become the gradients. */
#include <string.h>

#include "cl/position_attention_args.h"
#include "ops/attention_common.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum {
    RUNS_TILE = 4,
    RUNS_GROUP = 64,      // most parts of the sum over sequences
    SUMS_BYTES = 64 << 20 // limit of their memory, unless one is larger
};

typedef struct position_call {
    cla_attention_call attention;
    cla_tensor *absolute, *relative; // [H,t,t], [H,2t]; one may be NULL
    position_args args;
    cla_memory table; // packed for forward and dQ
} position_call;

/* The gradients of the parameters, and the runs' sums. */
typedef struct position_grads {
    cla_tensor *absolute, *relative;
    int add_absolute, add_relative;
    int64_t runs; // 0: none is wanted
    cla_memory sums;
} position_grads;

/* Returns what the tables change in the passes of attention. The arguments refer to
 * table, args and sums (NULL for passes without sums), which must stay. */
static cla_attention_change change_of(const cla_memory *table,
                                      const position_args *args, const cla_memory *sums)
{
    cla_attention_change change = { .tile = "position_attention_tile",
                                    .define = { "TABLE" },
                                    .whole = true };
    change.args[0] = cla_mem(table);
    change.args[1] = cla_bytes(args, sizeof *args);
    if (sums) {
        change.args[2] = cla_mem(sums);
    }
    return change;
}

/* Queues a pass over n numbers of tables or parameters. */
static cla_status enqueue_numbers(cla_runtime *rt, int64_t n, cla_launch *launch)
{
    launch->file = "position_tables";
    launch->define[0] = (cla_define){ "WG", CLA_WG };
    launch->groups[0] = (size_t)((n + CLA_WG - 1) / CLA_WG);
    launch->local[0] = CLA_WG;
    return cla_enqueue(rt, launch);
}

/* Packs the table for a pass: its rows are queries or, if turned, keys. */
static cla_status pack(cla_tape *tape, const position_call *call, cla_memory *table,
                       bool turned)
{
    const int64_t n = (int64_t)call->attention.heads * call->args.size;
    CLA_TRY(cla_tape_scratch(tape, table, (size_t)n * sizeof(float)));
    cla_launch launch = {
        .kernel = "position_tables_pack",
        .args = { cla_mem(table), cla_buf(call->absolute), cla_buf(call->relative),
                  cla_i32(call->attention.heads),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(turned) },
    };
    return enqueue_numbers(cla_tape_runtime(tape), n, &launch);
}

static cla_status forward(cla_tape *tape, position_call *call)
{
    CLA_TRY(pack(tape, call, &call->table, call->args.turned));
    const cla_attention_change change = change_of(&call->table, &call->args, NULL);
    return cla_attention_forward(cla_tape_runtime(tape), &call->attention, &change);
}

/* ---- backward -------------------------------------------------------------------- */

static cla_status grad_q(cla_runtime *rt, const position_call *call,
                         const cla_attention_grads *g, const position_grads *p)
{
    const cla_attention_call *a = &call->attention;
    static const cla_memory none;
    position_args args = call->args;
    args.run = p->runs ? args.run : 1;
    const cla_attention_change change =
        change_of(&call->table, &args, p->runs ? &p->sums : &none);
    const int64_t layers = p->runs ? p->runs : a->sequences;
    const int turns = cla_tiled(rt) ? 1 : args.run; // work-items go through a run
    for (; args.turn < turns; args.turn++) {
        CLA_TRY(cla_attention_grad_q(rt, a, g, &change, layers));
    }
    return CLA_OK;
}

static cla_status grads_kv(cla_tape *tape, const position_call *call,
                           const cla_attention_grads *g)
{
    cla_memory table;
    CLA_TRY(pack(tape, call, &table, !call->args.turned));
    const cla_attention_change change = change_of(&table, &call->args, NULL);
    return cla_attention_grads_kv(cla_tape_runtime(tape), &call->attention, g, &change);
}

static cla_status sums_begin(cla_tape *tape, const position_call *call,
                             position_grads *p)
{
    CLA_TRY(cla_grad_out(tape, call->absolute, &p->absolute, &p->add_absolute));
    CLA_TRY(cla_grad_out(tape, call->relative, &p->relative, &p->add_relative));
    if (!p->absolute && !p->relative) {
        return CLA_OK;
    }
    const position_args *s = &call->args;
    p->runs = s->sequences ? (s->sequences + s->run - 1) / s->run : 1;
    const int64_t n = p->runs * call->attention.heads * s->parts * s->size;
    CLA_TRY(cla_tape_scratch(tape, &p->sums, (size_t)n * sizeof(float)));
    return cla_memory_fill(cla_tape_runtime(tape), &p->sums, 0);
}

/* Queues the gradients of the parameters from the runs' sums. */
static cla_status sum_runs(cla_runtime *rt, const position_call *call,
                           const position_grads *p)
{
    const cla_arg heads = cla_i32(call->attention.heads), runs = cla_i32(p->runs);
    const cla_arg args = cla_bytes(&call->args, sizeof call->args);
    cla_launch absolute = {
        .kernel = "position_tables_absolute",
        .args = { cla_buf(p->absolute), cla_mem(&p->sums), heads, args, runs,
                  cla_i32(p->add_absolute) },
    };
    cla_launch relative = {
        .kernel = "position_tables_relative",
        .args = { cla_buf(p->relative), cla_mem(&p->sums), heads, args, runs,
                  cla_i32(p->add_relative) },
    };
    if (p->absolute) {
        CLA_TRY(enqueue_numbers(rt, cla_size(p->absolute), &absolute));
    }
    return p->relative ? enqueue_numbers(rt, cla_size(p->relative), &relative) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *saved)
{
    const position_call *call = saved;
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_attention_grads grads;
    position_grads tables = { .runs = 0 };
    bool any = false;
    CLA_TRY(cla_attention_grads_take(&grads, &any, tape, &call->attention));
    if (!any) {
        return CLA_OK;
    }
    CLA_TRY(sums_begin(tape, call, &tables));
    const bool queries = grads.q || tables.runs;
    CLA_TRY(cla_attention_delta(tape, &call->attention, &grads, queries));
    if (queries) {
        CLA_TRY(grad_q(rt, call, &grads, &tables));
    }
    if (grads.k || grads.v) {
        CLA_TRY(grads_kv(tape, call, &grads));
    }
    return tables.runs ? sum_runs(rt, call, &tables) : CLA_OK;
}

/* ---- the operator ---------------------------------------------------------------- */

const cla_signature cla_position_attention_signature = {
    "position_attention", "q~:N,H,d k~:N,H,d v~:N,H,d absolute?:H,t,t relative?:H,2t "
                          "rows(N,B,T) -> o:N,H,d map?:B,H,T,T"
};

static cla_status check(const cla_given *given, const cla_attention_options *options)
{
    static const char op[] = "position_attention";
    const cla_ragged *rows = given[5].rows;
    cla_sizes z = { 0 };
    CLA_TRY(cla_attention_check(op, given[0].tensor, given[1].tensor, given[2].tensor,
                                rows, rows, options));
    if (!given[3].tensor && !given[4].tensor) {
        return cla_fail(CLA_E_USAGE, "%s: absolute and relative are both NULL", op);
    }
    CLA_TRY(cla_signature_check(&cla_position_attention_signature, given, &z));
    if (cla_ragged_longest(rows) > cla_sizes_get(&z, "t")) {
        return cla_fail(
            CLA_E_SHAPE, "%s: a sequence of %lld tokens, the tables are for %lld", op,
            (long long)cla_ragged_longest(rows), (long long)cla_sizes_get(&z, "t"));
    }
    return CLA_OK;
}

/* Sets the layout of the tables. Both sides are padded to whole tiles. */
static void shape_tables(cla_runtime *rt, position_call *call)
{
    const cla_attention_call *a = &call->attention;
    position_args *s = &call->args;
    const cla_attention_change change = change_of(NULL, s, NULL);
    *s = (position_args){ .longest = a->longest_q > 1 ? a->longest_q : 1 };
    int most = 0;
    const int tile = cla_attention_grad_q_rows(rt, a, &change, &most);
    const int padded = (s->longest + most - 1) / most * most;
    const bool matrix = call->absolute != NULL;
    s->t = (int32_t)(matrix ? call->absolute->shape[1] : call->relative->shape[1] / 2);
    s->step = matrix ? padded : -1;
    s->center = matrix ? 0 : padded;
    s->size = matrix ? padded * padded : 2 * padded;
    s->parts = matrix ? 1 : (s->longest + tile - 1) / tile;
    s->sequences = a->sequences;
    s->turned = cla_tiled(rt);
    const int64_t one = (int64_t)a->heads * s->parts * s->size * 4;
    int64_t runs = cla_tiled(rt) ? RUNS_TILE : RUNS_GROUP;
    runs = runs * one > SUMS_BYTES ? SUMS_BYTES / one : runs;
    runs = runs < 1 ? 1 : runs;
    s->run = (int32_t)((a->sequences + runs - 1) / runs);
}

cla_status cla_position_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                  cla_tensor *k, cla_tensor *v, cla_tensor *absolute,
                                  cla_tensor *relative, const cla_ragged *rows,
                                  const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, rows);
    CLA_MAY(tape, absolute, relative);
    position_call call = { .absolute = absolute, .relative = relative };
    cla_attention_call *a = &call.attention;
    const cla_given given[] = { { q },        { k },        { v },
                                { absolute }, { relative }, { .rows = rows } };
    CLA_TRY(check(given, options));
    CLA_TRY(cla_attention_begin(a, tape, q, k, v, rows, rows, options));
    CLA_TRY(cla_attention_round(a, tape));
    CLA_TRY(cla_attention_needs(a, tape, 2, (cla_tensor *[]){ absolute, relative }));
    shape_tables(cla_tape_runtime(tape), &call);
    CLA_TRY(forward(tape, &call));
    if (options && options->map) {
        const cla_attention_reach all = {
            .area = 1, .absolute = absolute, .relative = relative, .t = call.args.t
        };
        CLA_TRY(cla_attention_map(tape, options->map, a, &all));
    }
    const cla_note end = {
        backward, &call, sizeof call, { q, k, v, absolute, relative }
    };
    return cla_tape_give(tape, o, a->o, &end);
}
