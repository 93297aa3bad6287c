/* tape.c - tensors that live for one step, and notes that run in reverse for backward.
 *
 * The tape knows no operators. A note is a function and the bytes that an operator
 * saved. */
#include "tensor/tape.h"

#include <stdatomic.h>
#include <string.h>

static uint64_t next_run(void)
{
    static _Atomic uint64_t runs;
    return atomic_fetch_add(&runs, 1) + 1;
}

cla_status cla_tape_new(cla_tape **out, cla_runtime *rt, bool training)
{
    CLA_NEED(out, rt);
    CLA_HOLD(rt);
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->rt = rt;
    (*out)->training = training;
    (*out)->seed = 42;
    (*out)->run = next_run();
    const cla_status status = cla_arena_new(&(*out)->arena, rt);
    if (status) {
        cla_tape_free(out);
    }
    return status;
}

void cla_tape_reset(cla_tape *tape)
{
    if (!tape) return;

    CLA_HOLD_WAIT(tape->rt);
    for (size_t i = 0; i < tape->note_count; i++) {
        free(tape->notes[i].saved);
    }
    tape->note_count = 0;
    while (tape->tensors) {
        owned *o = tape->tensors;
        tape->tensors = o->next;
        free(o);
    }
    while (tape->rows) {
        cla_ragged *rows = tape->rows;
        tape->rows = rows->next;
        rows->kept = false;
        cla_ragged_free(&rows);
    }
    cla_tape_close_block(tape);
    if (tape->arena) {
        cla_arena_rewind(tape->arena, 0);
    }
    tape->next_stream = 0;
    tape->run = next_run();
    tape->seeded = tape->passed = false;
}

void cla_tape_free(cla_tape **tape)
{
    if (!tape || !*tape) {
        return;
    }
    CLA_HOLD_WAIT((*tape)->rt);
    cla_tape_reset(*tape);
    cla_arena_free(&(*tape)->arena);
    cla_arena_free(&(*tape)->work);
    free((*tape)->notes);
    free(*tape);
    *tape = NULL;
}

void cla_tape_random(cla_tape *tape, uint32_t seed, uint32_t step)
{
    if (!tape) return;

    tape->seed = seed;
    tape->step = step;
    tape->next_stream = 0;
}

void cla_tape_rows(cla_tape *tape, uint32_t first)
{
    if (tape) tape->first_row = first;
}

cla_stream cla_tape_stream(cla_tape *tape)
{
    return (cla_stream){ tape->seed, tape->step, tape->next_stream++, tape->first_row };
}

bool cla_tape_training(const cla_tape *tape)
{
    return tape->training;
}

cla_runtime *cla_tape_runtime(const cla_tape *tape)
{
    return tape->rt;
}

static cla_status own(cla_tape *tape, cla_tensor **out)
{
    owned *o = NULL;
    CLA_TRY(cla_alloc(&o, 1, sizeof *o));
    o->next = tape->tensors;
    tape->tensors = o;
    *out = &o->tensor;
    return CLA_OK;
}

static cla_status make_tensor(cla_tape *tape, cla_tensor **out, cla_dtype dtype,
                              int rank, const int64_t *shape, bool inner)
{
    cla_tensor *t = NULL;
    CLA_TRY(own(tape, &t));
    CLA_TRY(cla_tensor_describe(t, tape->rt, dtype, rank, shape));
    t->tape = tape;
    t->inner = inner;
    CLA_TRY(cla_arena_take(inner ? tape->work : tape->arena, &t->memory,
                           (size_t)cla_size(t) * 4));
    *out = t;
    return CLA_OK;
}

cla_status cla_tape_tensor(cla_tape *tape, cla_tensor **out, cla_dtype dtype, int rank,
                           const int64_t *shape)
{
    CLA_OP(tape, out);
    CLA_KNOWN("dtype", dtype, CLA_I32);
    const bool inner = (tape->open && dtype == CLA_F32) || tape->unpacked;
    return make_tensor(tape, out, dtype, rank, shape, inner);
}

cla_status cla_tape_gradient(cla_tape *tape, cla_tensor *x)
{
    return make_tensor(tape, &x->grad, CLA_F32, x->rank, x->shape, x->inner);
}

cla_status cla_tape_ids(cla_tape *tape, cla_tensor **out, int64_t n,
                        const int32_t *host)
{
    CLA_TRY(cla_tape_tensor(tape, out, CLA_I32, 1, &n));
    return cla_tensor_upload(*out, host);
}

void cla_tape_keep(cla_tape *tape, cla_ragged *rows)
{
    if (!tape || !rows || rows->kept) return;

    if (cla_same_runtime(__func__, "rows", tape->rt, &(const cla_runtime *){ rows->rt },
                         1)) {
        return; // the caller's still
    }
    CLA_HOLD_WAIT(tape->rt);
    rows->kept = true;
    rows->next = tape->rows;
    tape->rows = rows;
}

cla_status cla_tape_scratch(cla_tape *tape, cla_memory *out, size_t bytes)
{
    return cla_arena_take(tape->unpacked ? tape->work : tape->arena, out, bytes);
}

static cla_status check_columns(const cla_tensor *x, int64_t first, int64_t heads,
                                int64_t width)
{
    if (x->rank != 2 || x->dtype != CLA_F32 || cla_is_columns(x)) {
        return cla_fail(CLA_E_SHAPE, "columns: x is %s, must be an f32 tensor [N,C]",
                        cla_shape_text(x));
    }
    if (first < 0 || heads < 1 || width < 1 || heads > x->shape[1] / width ||
        first > x->shape[1] - heads * width) {
        return cla_fail(
            CLA_E_SHAPE, "columns: %lld heads of %lld from column %lld of %s",
            (long long)heads, (long long)width, (long long)first, cla_shape_text(x));
    }
    return CLA_OK;
}

cla_status cla_tensor_columns(cla_tape *tape, cla_tensor **out, cla_tensor *x,
                              int64_t first, int64_t heads, int64_t width)
{
    CLA_OP(tape, out, x);
    CLA_TRY(check_columns(x, first, heads, width));
    cla_tensor *t = NULL;
    CLA_TRY(own(tape, &t));
    const int64_t shape[] = { x->shape[0], heads, width };
    CLA_TRY(cla_tensor_describe(t, tape->rt, CLA_F32, 3, shape));
    t->tape = tape;
    t->memory = x->memory;
    t->base = x;
    t->offset = first;
    t->stride = x->shape[1];
    t->wants_grad = x->wants_grad;
    *out = t;
    return CLA_OK;
}

cla_status cla_tensor_reshape(cla_tape *tape, cla_tensor **out, cla_tensor *x, int rank,
                              const int64_t *shape)
{
    CLA_OP(tape, out, x);
    cla_tensor *t = NULL;
    CLA_TRY(own(tape, &t));
    CLA_TRY(cla_tensor_describe(t, tape->rt, x->dtype, rank, shape));
    if (cla_size(t) != cla_size(x) || cla_is_columns(x)) {
        return cla_fail(CLA_E_SHAPE, "reshape: %s%s cannot become %s",
                        cla_is_columns(x) ? "column view " : "", cla_shape_text(x),
                        cla_shape_text(t));
    }
    t->tape = tape;
    t->memory = x->memory;
    t->base = x;
    t->wants_grad = x->wants_grad;
    *out = t;
    return CLA_OK;
}

/* Notes that the next step may write the gradient of x. */
static void note_use(const cla_tape *tape, cla_tensor *x)
{
    while (x->base) {
        x = x->base;
    }
    if (x->used_in != tape->run || x->first_use > tape->note_count) {
        x->used_in = tape->run;
        x->first_use = tape->note_count;
    }
}

bool cla_tape_needs_grad(const cla_tape *tape, int n, cla_tensor *const *inputs)
{
    bool wanted = false;
    for (int i = 0; tape->training && i < n; i++) {
        if (inputs[i] && inputs[i]->wants_grad) {
            note_use(tape, inputs[i]);
            wanted = true;
        }
    }
    return wanted;
}

size_t cla_tape_first_use(const cla_tape *tape, const cla_tensor *t)
{
    return t->used_in == tape->run ? t->first_use : SIZE_MAX;
}

cla_status cla_tape_record(cla_tape *tape, cla_backward back, const void *saved,
                           size_t size, cla_tensor *const results[CLA_RESULTS])
{
    CLA_TRY(cla_grow(&tape->notes, &tape->note_cap, tape->note_count + 1,
                     sizeof *tape->notes));
    note *n = &tape->notes[tape->note_count];
    *n = (note){ back, NULL, { NULL } };
    memcpy(n->of, results, sizeof n->of);
    CLA_TRY(cla_alloc(&n->saved, 1, size));
    memcpy(n->saved, saved, size);
    tape->note_count++;
    return CLA_OK;
}

cla_status cla_tape_give(cla_tape *tape, cla_tensor **y, cla_tensor *out,
                         const cla_note *end)
{
    const int n = (int)(sizeof end->inputs / sizeof *end->inputs);
    cla_tensor *const results[CLA_RESULTS] = { out };
    out->wants_grad = cla_tape_needs_grad(tape, n, end->inputs);
    const cla_status status =
        out->wants_grad
            ? cla_tape_record(tape, end->back, end->saved, end->size, results)
            : CLA_OK;
    *y = status ? NULL : out;
    return status;
}

/* ---- backward ------------------------------------------------------------------ */

cla_status cla_tape_seed(cla_tape *tape, cla_tensor *y, const cla_tensor *dy)
{
    CLA_NEED(tape, y);
    CLA_HOLD(tape->rt);
    CLA_SAME(tape->rt, y, dy);
    if (dy) {
        CLA_TRY(cla_check_shape("seed", "dy", dy, CLA_F32, y->rank, y->shape));
    }
    if (y->base || y->grad_filled) {
        return cla_fail(CLA_E_USAGE, "seed: %s is a view, or has a gradient already",
                        cla_shape_text(y));
    }
    if (y->tape && y->tape != tape) {
        return cla_fail(CLA_E_USAGE, "seed: %s is a result of another tape",
                        cla_shape_text(y));
    }
    CLA_TRY(cla_grad_make("seed", tape, y));
    y->grad_filled = true;
    tape->seeded = true;
    return dy ? cla_memory_copy(tape->rt, &y->grad->memory, 0, &dy->memory, 0,
                                dy->memory.bytes)
              : cla_tensor_fill(y->grad, 1);
}

size_t cla_tape_mark(const cla_tape *tape)
{
    return tape->note_count;
}

void cla_tape_watch(cla_tape *tape, cla_tape_seen seen, void *watcher)
{
    tape->seen = seen;
    tape->watcher = watcher;
}

/* Returns where a backward pass stops next, for who watches it. */
static size_t next_stop(const cla_tape *tape)
{
    return tape->seen && tape->note_count ? tape->note_count - 1 : 0;
}

cla_status cla_tape_backward(cla_tape *tape)
{
    CLA_NEED(tape);
    CLA_HOLD(tape->rt);
    if (tape->training && !tape->seeded) {
        return cla_fail(CLA_E_USAGE, "backward: nothing was seeded (cla_tape_seed) %s",
                        tape->passed ? "since the last backward pass" : "on this tape");
    }
    do {
        CLA_TRY(cla_tape_backward_to(tape, next_stop(tape)));
        CLA_TRY(tape->seen ? tape->seen(tape->watcher, tape) : CLA_OK);
    } while (tape->note_count);
    tape->seeded = false;
    tape->passed = true;
    return CLA_OK;
}

/* Runs the last note and forgets it. */
static cla_status run_last(cla_tape *tape)
{
    note *n = &tape->notes[tape->note_count - 1];
    bool reached = false;
    for (int i = 0; i < CLA_RESULTS; i++) {
        reached = reached || (n->of[i] && cla_grad_in(n->of[i]));
    }
    CLA_TRY(reached ? n->back(tape, n->saved) : CLA_OK);
    for (int i = 0; i < CLA_RESULTS; i++) {
        if (n->of[i]) n->of[i]->passed = true;
    }
    free(n->saved);
    tape->note_count--;
    return CLA_OK;
}

cla_status cla_tape_backward_to(cla_tape *tape, size_t mark)
{
    if (!tape->training) {
        return cla_fail(CLA_E_USAGE, "backward: the tape was made without training");
    }
    while (tape->note_count > mark) {
        CLA_TRY(run_last(tape));
    }
    return CLA_OK;
}
