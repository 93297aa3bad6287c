/* hard_attention.c - hard attention: sums the rows whose gates are open.
 *
 * Each pass is one of three products for each sequence: rows with rows (SCORES), a map
 * with rows of keys (MIX), a transposed map with rows of queries (GATHER). */
#include <math.h>

#include "cl/hard_attention_args.h"
#include "clattn/hard.h"
#include "clattn/ops.h"
#include "ops/hard_gates.h"
#include "ops/product_group.h"
#include "ops/spread.h"

static const char OP[] = "hard_attention";

typedef struct saved {
    cla_tensor *o, *scores, *q, *k, *v;
    const cla_tensor *gates;
    cla_hard_batch batch;
    cla_memory norm; // [Nq]; mem NULL: 1
    float scale;
    cla_hard_form form;
} saved;

/* ---- launches -------------------------------------------------------------------- */

enum { RUN = 24 }; // as in cl/hard_attention_tile.cl

/* Queues a product with a result of at most longest x columns for each sequence. */
static cla_status launch_product(cla_tape *tape, const saved *s, int64_t longest,
                                 int64_t columns, cla_launch *launch)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const size_t sequences = (size_t)s->batch.q_rows->sequences;
    launch->flops = 2.0 * (double)s->batch.pairs * (double)s->q->shape[1];
    if (cla_tiled(rt)) {
        launch->file = "hard_attention_tile";
        launch->define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
        launch->groups[0] = (size_t)((longest + RUN - 1) / RUN);
        launch->groups[1] = sequences;
    } else {
        launch->file = OP;
        cla_tile_launch(rt, launch, 0, false);
        launch->groups[0] = (size_t)cla_tiles_across(columns);
        launch->groups[1] = (size_t)cla_tiles_down(longest);
        launch->groups[2] = sequences;
    }
    return sequences && longest && columns ? cla_enqueue(rt, launch) : CLA_OK;
}

/* A product y of map and x, or the same sum over lists of open gates. */
typedef struct product {
    const cla_tensor *y, *map, *x;
    int form, add;
} product;

static const cla_ragged *rows_of(const saved *s, const product *p)
{
    return p->form == GATHER ? s->batch.k_rows : s->batch.q_rows;
}

static cla_status launch_dense(cla_tape *tape, const saved *s, const product *p,
                               const cla_memory *norm, float scale)
{
    const cla_hard_batch *b = &s->batch;
    const int64_t width = s->q->shape[1];
    const product_args args = { (int32_t)width, p->form, p->add, scale };
    cla_launch launch = {
        .kernel = "hard_product",
        .args = { cla_buf(p->y), cla_buf(p->map), cla_buf(p->x), cla_mem(norm),
                  cla_mem(&b->q_rows->device_offsets),
                  cla_mem(&b->k_rows->device_offsets), cla_mem(&b->maps),
                  cla_bytes(&args, sizeof args) },
    };
    return launch_product(tape, s, rows_of(s, p)->longest,
                          p->form == SCORES ? b->k_rows->longest : width, &launch);
}

/* Queues the same for a map of gates, from lists of the open ones. */
static cla_status launch_sparse(cla_tape *tape, const saved *s, const product *p,
                                const cla_memory *norm)
{
    const cla_hard_batch *b = &s->batch;
    const product_args args = { (int32_t)s->q->shape[1], p->form, p->add, 1 };
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_hard_lists lists;
    CLA_TRY(cla_hard_list(tape, b, &lists, p->map, p->form == GATHER));
    const cla_ragged *rows = rows_of(s, p);
    const bool tiled = cla_tiled(rt);
    cla_launch launch = {
        .file = tiled ? "hard_attention_tile" : OP,
        .kernel = "hard_sum",
        .groups = { (size_t)(tiled ? (rows->longest + RUN - 1) / RUN : rows->longest),
                    (size_t)rows->sequences },
        .args = { cla_buf(p->y), cla_mem(&lists.places), cla_mem(&lists.count),
                  cla_buf(p->map), cla_buf(p->x), cla_mem(norm),
                  cla_mem(&b->q_rows->device_offsets),
                  cla_mem(&b->k_rows->device_offsets), cla_mem(&b->maps),
                  cla_bytes(&args, sizeof args) },
        .flops = 2.0 * (double)b->pairs * args.width,
    };
    if (tiled) {
        launch.define[0] = (cla_define){ "VEC", cla_vector_width(rt) };
    } else {
        cla_tile_launch(rt, &launch, 0, false);
    }
    return rows->longest ? cla_enqueue(rt, &launch) : CLA_OK;
}

/* Queues the sum of selected rows, or its gradient. */
static cla_status launch_sum(cla_tape *tape, const saved *s, const product *p)
{
    const cla_memory *norm = s->norm.mem ? &s->norm : NULL;
    return s->form == CLA_HARD_SPARSE ? launch_sparse(tape, s, p, norm)
                                      : launch_dense(tape, s, p, norm, 1);
}

/* ---- backward -------------------------------------------------------------------- */

/* Queues the gradient of q or, by_key, of k from that of the scores. */
static cla_status backward_scores(cla_tape *tape, const saved *s, const cla_tensor *ds,
                                  bool by_key)
{
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, by_key ? s->k : s->q, &dx, &add));
    const product p = { dx, ds, by_key ? s->q : s->k, by_key ? GATHER : MIX, add };
    return dx ? launch_dense(tape, s, &p, NULL, s->scale) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *output = cla_grad_in(s->o), *scores = cla_grad_in(s->scores);
    cla_tensor *dv = NULL;
    int add = 0;
    if (output) {
        CLA_TRY(cla_grad_out(tape, s->v, &dv, &add));
    }
    if (dv) {
        const product p = { dv, s->gates, output, GATHER, add };
        CLA_TRY(launch_sum(tape, s, &p));
    }
    if (!scores) {
        return CLA_OK;
    }
    CLA_TRY(backward_scores(tape, s, scores, false));
    return backward_scores(tape, s, scores, true);
}

/* ---- forward --------------------------------------------------------------------- */

static cla_status check_rows(const char *name, const cla_tensor *t, int64_t tokens,
                             int64_t width)
{
    return cla_check_shape(OP, name, t, CLA_F32, 2, (int64_t[]){ tokens, width });
}

static cla_status check_gates(const cla_hard_options *options, int64_t pairs)
{
    const bool given = options->gate == CLA_GATE_GIVEN;
    if (given != (options->given != NULL)) {
        return cla_fail(CLA_E_USAGE, "%s: gate is %d, and gates are %s", OP,
                        (int)options->gate, options->given ? "given" : "not given");
    }
    if (options->gate == CLA_GATE_TOP && options->top < 1) {
        return cla_fail(CLA_E_USAGE, "%s: top is %d, must be 1 or more", OP,
                        options->top);
    }
    return given ? cla_check_shape(OP, "given", options->given, CLA_F32, 1, &pairs)
                 : CLA_OK;
}

static cla_status check(const saved *s, const cla_hard_options *options)
{
    const int64_t queries = s->batch.q_rows->tokens, keys = s->batch.k_rows->tokens;
    CLA_TRY(check_rows("q", s->q, queries, -1));
    CLA_TRY(check_rows("k", s->k, keys, s->q->shape[1]));
    CLA_TRY(check_rows("v", s->v, keys, s->q->shape[1]));
    return check_gates(options, s->batch.pairs);
}

/* Queues scores, gates and, for a mean, their norm, then the sum. */
static cla_status forward(cla_tape *tape, saved *s, const cla_hard_options *options)
{
    const int64_t pairs = s->batch.pairs;
    CLA_TRY(cla_hard_batch_begin(tape, &s->batch));
    CLA_TRY(cla_tape_tensor(tape, &s->o, CLA_F32, 2, s->q->shape));
    CLA_TRY(cla_tape_tensor(tape, &s->scores, CLA_F32, 1, &pairs));
    const product scores = { s->scores, s->q, s->k, SCORES, 0 };
    CLA_TRY(launch_dense(tape, s, &scores, NULL, s->scale));
    s->gates = options->given;
    if (!s->gates) {
        cla_tensor *gates = NULL;
        CLA_TRY(cla_tape_tensor(tape, &gates, CLA_F32, 1, &pairs));
        CLA_TRY(cla_hard_gates(tape, &s->batch, gates, s->scores, options));
        s->gates = gates;
    }
    if (options->mean) {
        CLA_TRY(cla_hard_norm(tape, &s->batch, &s->norm, s->gates));
    }
    const product sum = { s->o, s->gates, s->v, MIX, 0 };
    return launch_sum(tape, s, &sum);
}

cla_status cla_hard_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                              cla_tensor *k, cla_tensor *v, const cla_ragged *q_rows,
                              const cla_ragged *k_rows, const cla_hard_options *options)
{
    CLA_OP(tape, o, q, k, v, q_rows, k_rows);
    static const cla_hard_options none = { 0 };
    options = options ? options : &none;
    CLA_MAY(tape, options->given);
    CLA_KNOWN("options.gate", options->gate, CLA_GATE_GIVEN);
    CLA_KNOWN("options.form", options->form, CLA_HARD_SPARSE);
    saved s = { .q = q, .k = k, .v = v, .form = options->form };
    CLA_TRY(cla_reserved(OP, options->reserved));
    CLA_TRY(cla_hard_batch_check(OP, &s.batch, q_rows, k_rows));
    CLA_TRY(check(&s, options));
    s.scale = options->scale != 0 ? options->scale : 1 / sqrtf((float)q->shape[1]);
    CLA_TRY(forward(tape, &s, options));
    s.o->wants_grad = cla_tape_needs_grad(tape, 1, &v);
    s.scores->wants_grad = cla_tape_needs_grad(tape, 2, (cla_tensor *[]){ q, k });
    if (s.o->wants_grad || s.scores->wants_grad) {
        CLA_TRY(cla_tape_record(tape, backward, &s, sizeof s,
                                (cla_tensor *[CLA_RESULTS]){ s.o, s.scores }));
    }
    if (options->scores) {
        *options->scores = s.scores;
    }
    if (options->gates) {
        *options->gates = (cla_tensor *)s.gates;
    }
    *o = s.o;
    return CLA_OK;
}

cla_status cla_hard_project(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                            const cla_hard_projector *projector, bool stop)
{
    CLA_OP(tape, y, x, projector);
    CLA_MAY(tape, projector->w1, projector->b1, projector->w2, projector->b2);
    const cla_hard_projector *p = projector;
    cla_tensor *h = NULL;
    CLA_TRY(cla_check_shape("hard_project", "x", x, CLA_F32, 2, (int64_t[]){ -1, -1 }));
    if (stop) {
        CLA_TRY(cla_tensor_reshape(tape, &x, x, x->rank, x->shape));
        cla_tensor_want_grad(x, false);
    }
    CLA_TRY(cla_linear(tape, &h, x, p->w1, p->b1, CLA_NONE, NULL));
    return cla_linear(tape, y, h, p->w2, p->b2, CLA_TANH, NULL);
}
