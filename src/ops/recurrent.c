/* recurrent.c - shared by the recurrent cells: memory, products and launches. */
#include "ops/recurrent.h"

#include <assert.h>

#include "ops/column_sum.h"
#include "ops/product_group.h"
#include "ops/spread.h"

/* Items of a group, as in cl/recurrent_group.clh, and cl/recurrent_walk.clh. */
enum { WG = 64, WALK_WG = 256, WALK_WIDTH = 192 };

/* Of a token and a column without products: two sigmoids and tanh among them. */
enum { FLOPS = 30 };

static int64_t round_up(int64_t n, int64_t to)
{
    return cla_pieces(n, to) * to;
}

/* ---- beginning ------------------------------------------------------------------ */

/* Makes a final state [B,n] if wanted is not NULL. */
static cla_status make_state(cla_tape *tape, const cla_recurrence *r, int64_t n,
                             cla_tensor **wanted, cla_tensor **out)
{
    const int64_t states[2] = { r->rows->sequences, n };
    if (!wanted) {
        return CLA_OK;
    }
    CLA_TRY(cla_tape_tensor(tape, out, CLA_F32, 2, states));
    *wanted = *out;
    return CLA_OK;
}

cla_status cla_recurrence_begin(cla_tape *tape, cla_recurrence *r,
                                const cla_signature *signature, const cla_given *given)
{
    cla_sizes z = { 0 };
    CLA_TRY(cla_reserved(signature->op, r->options.reserved));
    CLA_TRY(cla_signature_check(signature, given, &z));
    const int64_t n = cla_sizes_get(&z, "n"), shape[2] = { r->rows->tokens, n };
    if (!n) {
        return cla_fail(CLA_E_SHAPE, "%s: w is %s, n must be 1 or more", signature->op,
                        cla_shape_text(given[1].tensor));
    }
    r->shape = (recurrent_shape){ .sequences = (int32_t)r->rows->sequences,
                                  .width = (int32_t)n,
                                  .inputs = (int32_t)r->x->shape[1],
                                  .reverse = r->options.reverse };
    CLA_TRY(cla_tape_tensor(tape, &r->y, CLA_F32, 2, shape));
    CLA_TRY(make_state(tape, r, n, r->options.h, &r->h));
    return make_state(tape, r, n, r->options.c, &r->c);
}

cla_status cla_recurrence_give(cla_tape *tape, cla_tensor **y, const cla_recurrence *r,
                               const cla_note *end)
{
    const int n = (int)(sizeof end->inputs / sizeof *end->inputs);
    r->y->wants_grad = cla_tape_needs_grad(tape, n, end->inputs);
    cla_tensor *const results[CLA_RESULTS] = { r->y, r->h, r->c };
    CLA_TRY(r->y->wants_grad
                ? cla_tape_record(tape, end->back, end->saved, end->size, results)
                : CLA_OK);
    *y = r->y;
    cla_tensor *const states[] = { r->h, r->c };
    for (int i = 0; i < 2; i++) {
        if (states[i]) states[i]->wants_grad = r->y->wants_grad;
    }
    return CLA_OK;
}

/* ---- memory --------------------------------------------------------------------- */

/* Decides how the group schedule goes through time. A walk reads all weights in each
 * group, a launch for each token reads them once for 32 sequences: walks are for states
 * whose weights pass through a core in less time than a launch takes, and for as many
 * sequences as keep it from reading them often. More sequences than cores share groups;
 * the bits of a sequence do not depend on it. */
static void plan_group(cla_runtime *rt, cla_recurrence *r)
{
    enum { MOST = 8 }; // sequences of a core
    const int64_t cores = cla_runtime_device(rt)->compute_units;
    const int64_t sequences = r->shape.sequences;
    r->walks = r->may_walk && !cla_tiled(rt) &&
               r->shape.width <= cla_tuned(rt, "recurrent", "WALK", WALK_WIDTH) &&
               sequences <= MOST * cores;
    r->steps = !r->apart && !r->walks && !cla_tiled(rt);
    r->group_rows = r->apart || (r->walks && sequences <= cores) ? 1 : 2;
}

/* Returns the number of groups of sequences. Under the tile schedule a group is one
 * work-item. Groups are as few as keep all cores busy, since each reads the weights,
 * large enough for a register tile, and small enough for their data to stay in a
 * cache. */
static int64_t count_groups(cla_runtime *rt, const cla_recurrence *r)
{
    enum { LEAST = 4, MOST = 48 };
    const int64_t sequences = r->shape.sequences;
    const int64_t cores = cla_runtime_device(rt)->compute_units;
    assert(cores > 0); // no groups would compute nothing and report no error
    if (!cla_tiled(rt)) {
        return cla_pieces(sequences, r->group_rows);
    }
    const int64_t groups =
        sequences < cores * LEAST ? cla_pieces(sequences, LEAST) : cores;
    return sequences > groups * MOST ? round_up(cla_pieces(sequences, MOST), cores)
                                     : groups;
}

/* Returns the floats that a group needs: a row for each sequence where tokens are
 * steps; under the tile schedule gates, sums, packed rows and two parts for its states
 * or their gradients. */
static int64_t scratch_of(cla_runtime *rt, const cla_recurrence *r, int64_t groups)
{
    const int64_t n = r->shape.width;
    if (!cla_tiled(rt)) {
        return r->steps ? n * r->group_rows : 0;
    }
    const cla_panels panels = cla_panels_of(rt);
    const int64_t rows = cla_pieces(r->shape.sequences, groups ? groups : 1);
    return (r->gates + 2) * rows * n +
           cla_panels_rows(&panels, rows) * round_up(r->gates * n, 16);
}

cla_status cla_recurrence_plan(cla_tape *tape, cla_recurrence *r, bool keep)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    recurrent_shape *s = &r->shape;
    const int64_t states = r->rows->tokens * s->width, gates = r->gates;
    plan_group(rt, r);
    const int64_t groups = count_groups(rt, r);
    const int64_t inner = gates * states, before = inner + states;
    const int64_t sums = before + (keep ? states : 0);
    const int64_t scratch = sums + (keep && !r->steps ? groups * gates * s->width : 0);
    const int64_t stride = scratch_of(rt, r, groups), all = scratch + groups * stride;
    if (all > INT32_MAX) {
        return cla_fail(CLA_E_SHAPE,
                        "recurrence: %lld tokens of width %d need %lld numbers, must "
                        "stay below 2^31",
                        (long long)r->rows->tokens, s->width, (long long)all);
    }
    s->keep = keep;
    s->groups = (int32_t)groups;
    s->inner = (int32_t)inner;
    s->before = (int32_t)before;
    s->sums = (int32_t)sums;
    s->scratch = (int32_t)scratch;
    s->stride = (int32_t)stride;
    return cla_tape_scratch(tape, &r->work, (size_t)(all + 1) * sizeof(float));
}

/* ---- products ------------------------------------------------------------------- */

/* The weights may keep their panels, since no other product uses these rows of w. In
 * inference they are turned at once, as both kinds of rows are read in panels. */
cla_status cla_recurrence_inputs(cla_tape *tape, const cla_recurrence *r,
                                 const cla_recurrent_weights *w)
{
    if (!cla_tape_training(tape) && !w->inputs_only) {
        CLA_TRY(cla_turn(cla_tape_runtime(tape), w->w, false, r->x->shape[1]));
    }
    const cla_product p = {
        .M = r->x->shape[0],
        .N = w->columns,
        .K = r->x->shape[1],
        .a = { .memory = &r->x->memory },
        .b = { .memory = &w->w->memory },
        .y = { .memory = &r->work,
               .offset = w->column,
               .ld = (int64_t)r->gates * r->shape.width },
        .bias = w->b ? &w->b->memory : NULL,
        .weights = w->w,
        .infers = !cla_tape_training(tape),
    };
    return cla_product_run(cla_tape_runtime(tape), &p);
}

cla_status cla_recurrence_weights(cla_tape *tape, const cla_recurrence *r,
                                  cla_tensor *w, bool transposed,
                                  const cla_memory **out, cla_memory *scratch)
{
    enum { FIRST_FORM = 2 };
    cla_runtime *rt = cla_tape_runtime(tape);
    const int64_t columns = w->shape[1], n = r->shape.width;
    const cla_product p = {
        .N = transposed ? n : columns,
        .K = transposed ? columns : n,
        .transpose_b = transposed,
        .b = { .memory = &w->memory,
               .offset = w->shape[0] * columns - n * columns,
               .ld = columns },
    };
    *out = &w->memory;
    if (!cla_tiled(rt)) {
        return CLA_OK;
    }
    *out = transposed ? NULL : cla_turned_rest(w, w->shape[0] - n);
    if (*out) {
        return CLA_OK;
    }
    const cla_panels panels = cla_panels_of(rt);
    const size_t bytes = cla_panels_bytes(&panels, p.K, p.N);
    cla_form *form = &w->form[FIRST_FORM + transposed];
    if (!w->version) {
        *out = scratch;
        CLA_TRY(cla_tape_scratch(tape, scratch, bytes));
        return cla_panels_pack(rt, &p, scratch);
    }
    *out = &form->memory;
    if (form->version == w->version) {
        return CLA_OK;
    }
    if (!form->memory.mem) {
        CLA_TRY(cla_memory_new(&form->memory, rt, bytes));
    }
    CLA_TRY(cla_panels_pack(rt, &p, &form->memory));
    form->version = w->version;
    return CLA_OK;
}

static cla_status gradient_of_bias(cla_tape *tape, const cla_recurrence *r,
                                   const cla_recurrent_weights *w)
{
    cla_tensor *db = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, w->b, &db, &add));
    cla_partials partials = { .memory = &r->work,
                              .rows = r->shape.groups,
                              .at = r->shape.sums + w->column,
                              .stride = (int64_t)r->gates * r->shape.width };
    if (db && r->steps) { // which keep no sums of groups
        partials.rows = r->rows->tokens;
        partials.at = w->column;
        return cla_column_sum_runs(tape, db, &partials, add);
    }
    return db ? cla_column_sum(cla_tape_runtime(tape), db, &partials, add) : CLA_OK;
}

/* Queues dx (+)= dg w_x'. */
static cla_status gradient_of_inputs(cla_tape *tape, const cla_recurrence *r,
                                     const cla_recurrent_weights *w)
{
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, r->x, &dx, &add));
    const cla_product p = {
        .M = r->x->shape[0],
        .N = r->x->shape[1],
        .K = w->columns,
        .transpose_b = true,
        .a = { .memory = &r->work,
               .offset = w->column,
               .ld = (int64_t)r->gates * r->shape.width },
        .b = { .memory = &w->w->memory, .ld = w->columns },
        .y = { .memory = dx ? &dx->memory : NULL },
        .add = add,
        .weights = w->w,
    };
    return dx ? cla_product_run(cla_tape_runtime(tape), &p) : CLA_OK;
}

cla_status cla_recurrence_gradients(cla_tape *tape, const cla_recurrence *r,
                                    const cla_recurrent_weights *w, int64_t states)
{
    cla_tensor *dw = NULL;
    int add = 0;
    CLA_TRY(gradient_of_inputs(tape, r, w));
    CLA_TRY(gradient_of_bias(tape, r, w));
    CLA_TRY(cla_grad_out(tape, w->w, &dw, &add));
    if (!dw) {
        return CLA_OK;
    }
    cla_product p = {
        .M = r->x->shape[1],
        .N = w->columns,
        .K = r->rows->tokens,
        .transpose_a = true,
        .a = { .memory = &r->x->memory },
        .b = { .memory = &r->work,
               .offset = w->column,
               .ld = (int64_t)r->gates * r->shape.width },
        .y = { .memory = &dw->memory },
        .add = add,
    };
    CLA_TRY(cla_product_run(cla_tape_runtime(tape), &p));
    if (w->inputs_only) {
        return CLA_OK;
    }
    p.y.offset = p.M * p.N;
    p.M = r->shape.width;
    p.a = (cla_matrix){ .memory = &r->work, .offset = states };
    return cla_product_run(cla_tape_runtime(tape), &p);
}

/* ---- along the sequences -------------------------------------------------------- */

cla_status cla_recurrence_walk(cla_tape *tape, const cla_recurrence *r,
                               const char *file, const char *tile_file,
                               cla_launch *launch, int args)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const double n = r->shape.width;
    launch->file = cla_tiled(rt) ? tile_file : file;
    launch->groups[0] = (size_t)r->shape.groups;
    if (cla_tiled(rt)) {
        const cla_panels panels = cla_panels_of(rt);
        for (size_t i = 0; i < sizeof panels.define / sizeof *panels.define; i++) {
            launch->define[i] = panels.define[i];
        }
    } else {
        const int items = r->walks ? WALK_WG : WG;
        launch->define[0] = (cla_define){ "WG", items };
        launch->define[1] = (cla_define){ "ROWS", r->group_rows };
        launch->local[0] = (size_t)items;
    }
    launch->args[args] = cla_mem(&r->rows->device_offsets);
    launch->args[args + 1] = cla_bytes(&r->shape, sizeof r->shape);
    if (r->apart && !cla_tiled(rt)) {
        launch->groups[1] = (size_t)cla_pieces(r->shape.width, WG);
    }
    launch->flops = r->apart ? (double)r->rows->tokens * n * FLOPS
                             : 2.0 * (double)r->rows->tokens * n * n * r->gates *
                                   (double)(launch->groups[1] ? launch->groups[1] : 1);
    return cla_enqueue(rt, launch);
}
