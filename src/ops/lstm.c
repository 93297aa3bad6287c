/* lstm.c - a long short-term memory along packed sequences. */
#include "ops/lstm.h"

#include "ops/recurrent.h"
#include "ops/spread.h"

typedef struct saved {
    cla_recurrence r;
    cla_recurrent_weights w;
} saved;

/* Returns the gradient of a result, or NULL if there is none or y is NULL. */
static const cla_tensor *gradient_in(const cla_tensor *y)
{
    return y ? cla_grad_in(y) : NULL;
}

/* Returns a tensor [N,...] as an argument of a step; it may be NULL. */
static cla_arg rows_of(const cla_recurrence *r, const cla_tensor *x)
{
    return cla_step_rows(r, x ? &x->memory : NULL);
}

/* Queues the backward pass of the group schedule: a launch for each token, the last one
 * first, then the gradients of the first states if they are wanted. */
static cla_status steps_back(cla_tape *tape, const cla_recurrence *r,
                             const cla_memory *w_h, const cla_tensor *dh0,
                             const cla_tensor *dc0)
{
    const cla_arg dh = cla_buf(gradient_in(r->h)), dc = cla_buf(gradient_in(r->c));
    const cla_arg work = cla_step_rows(r, &r->work), w = cla_step_weights(r, w_h, 4);
    const int64_t n = r->shape.width;
    const cla_step_part part = {
        .launch = { .file = "lstm",
                    .kernel = "lstm_backward",
                    .args = { work, rows_of(r, cla_grad_in(r->y)), dh, dc,
                              cla_buf(r->options.c0), w } },
        .args = 6,
        .columns = n,
        .inner = 4 * n,
    };
    cla_step_part start = part;
    for (int64_t t = r->rows->longest - 1; t >= 0; t--) {
        CLA_TRY(cla_recurrence_step(tape, r, &part, t));
    }
    start.launch = (cla_launch){
        .file = "lstm",
        .kernel = "lstm_back_start",
        .args = { cla_buf(dh0), cla_buf(dc0), work, dh, dc, w },
    };
    return dh0 || dc0 ? cla_recurrence_step(tape, r, &start, -1) : CLA_OK;
}

static cla_status walk_back(cla_tape *tape, saved *s)
{
    cla_recurrence *r = &s->r;
    cla_tensor *dh0 = NULL, *dc0 = NULL;
    const cla_memory *w_h = NULL;
    cla_memory scratch;
    CLA_TRY(cla_recurrence_weights(tape, r, s->w.w, true, &w_h, &scratch));
    CLA_TRY(cla_grad_out(tape, r->options.h0, &dh0, &r->shape.add_h));
    CLA_TRY(cla_grad_out(tape, r->options.c0, &dc0, &r->shape.add_c));
    if (r->steps) {
        return steps_back(tape, r, w_h, dh0, dc0);
    }
    cla_launch launch = {
        .kernel = r->walks ? "lstm_walk_back" : "lstm_backward",
        .args = { cla_buf(dh0), cla_buf(dc0), cla_mem(&r->work),
                  cla_buf(cla_grad_in(r->y)), cla_buf(gradient_in(r->h)),
                  cla_buf(gradient_in(r->c)), cla_buf(r->options.c0), cla_mem(w_h) },
    };
    return cla_recurrence_walk(tape, r, "lstm_walk_back", "lstm_tile", &launch, 8);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    saved *s = bytes;
    const cla_recurrence *r = &s->r;
    if (!cla_grad_in(r->y) && !gradient_in(r->h) && !gradient_in(r->c)) {
        return CLA_OK;
    }
    CLA_TRY(walk_back(tape, s));
    return cla_recurrence_gradients(tape, r, &s->w, r->shape.before);
}

/* Queues the final states if they are wanted. */
static cla_status last_states(cla_tape *tape, const cla_recurrence *r)
{
    cla_launch last = {
        .kernel = "lstm_last",
        .args = { cla_buf(r->h), cla_buf(r->c), cla_buf(r->y), cla_mem(&r->work),
                  cla_buf(r->options.h0), cla_buf(r->options.c0) },
    };
    return r->h || r->c ? cla_recurrence_walk(tape, r, "lstm", "lstm_tile", &last, 6)
                        : CLA_OK;
}

/* Queues the forward pass as one launch: of the tile schedule, or of the group schedule
 * where it walks. */
static cla_status walk(cla_tape *tape, const cla_recurrence *r, const cla_memory *w_h)
{
    cla_launch launch = {
        .kernel = r->walks ? "lstm_walk" : "lstm_forward",
        .args = { cla_buf(r->y), cla_buf(r->h), cla_buf(r->c), cla_mem(&r->work),
                  cla_buf(r->options.h0), cla_buf(r->options.c0), cla_mem(w_h) },
    };
    return cla_recurrence_walk(tape, r, "lstm_walk", "lstm_tile", &launch, 7);
}

/* Does the same for both directions at once. */
static cla_status walk_both(cla_tape *tape, const saved s[2], const cla_memory *w_h[2])
{
    const cla_recurrence *r = &s[0].r, *back = &s[1].r;
    cla_launch launch = {
        .kernel = "lstm_walk_both",
        .groups = { 0, 2 },
        .args = { cla_buf(r->y), cla_mem(&r->work), cla_mem(w_h[0]), cla_buf(back->y),
                  cla_mem(&back->work), cla_mem(w_h[1]) },
    };
    CLA_TRY(cla_recurrence_walk(tape, r, "lstm_walk", NULL, &launch, 6));
    CLA_TRY(last_states(tape, r));
    return last_states(tape, back);
}

/* Queues the forward pass of the group schedule: a launch for each token, then the
 * final states. */
static cla_status steps(cla_tape *tape, const cla_recurrence *r, const cla_memory *w_h)
{
    const cla_step_part part = {
        .launch = { .file = "lstm",
                    .kernel = "lstm_forward",
                    .args = { rows_of(r, r->y), cla_step_rows(r, &r->work),
                              cla_buf(r->options.h0), cla_buf(r->options.c0),
                              cla_step_weights(r, w_h, 4) } },
        .args = 5,
        .columns = 4 * (int64_t)r->shape.width,
        .inner = r->shape.width,
    };
    for (int64_t t = 0; t < r->rows->longest; t++) {
        CLA_TRY(cla_recurrence_step(tape, r, &part, t));
    }
    return last_states(tape, r);
}

/* Does the same for both directions at once. */
static cla_status steps_both(cla_tape *tape, const saved s[2], const cla_memory *w_h[2])
{
    const cla_recurrence *r = &s[0].r, *back = &s[1].r;
    const cla_step_part part = {
        .launch = { .file = "lstm",
                    .kernel = "lstm_both_forward",
                    .args = { rows_of(r, r->y), cla_step_rows(r, &r->work),
                              cla_step_weights(r, w_h[0], 4), rows_of(r, back->y),
                              cla_step_rows(r, &back->work),
                              cla_step_weights(r, w_h[1], 4) } },
        .args = 6,
        .columns = 4 * (int64_t)r->shape.width,
        .inner = r->shape.width,
        .directions = 2,
    };
    for (int64_t t = 0; t < r->rows->longest; t++) {
        CLA_TRY(cla_recurrence_step(tape, r, &part, t));
    }
    CLA_TRY(last_states(tape, r));
    return last_states(tape, back);
}

static cla_status forward(cla_tape *tape, const saved *s, int directions)
{
    const cla_memory *w_h[2] = { NULL };
    cla_memory scratch[2];
    for (int i = 0; i < directions; i++) {
        CLA_TRY(cla_recurrence_inputs(tape, &s[i].r, &s[i].w));
        CLA_TRY(cla_recurrence_weights(tape, &s[i].r, s[i].w.w, false, &w_h[i],
                                       &scratch[i]));
    }
    if (s->r.walks && directions > 1) {
        return walk_both(tape, s, w_h);
    }
    if (s->r.steps) {
        return directions > 1 ? steps_both(tape, s, w_h) : steps(tape, &s->r, w_h[0]);
    }
    for (int i = 0; i < directions; i++) {
        CLA_TRY(walk(tape, &s[i].r, w_h[i]));
    }
    return CLA_OK;
}

const cla_signature cla_lstm_signature = {
    "lstm", "x:N,in w:in+n,4n b?:4n rows(N,B) h0?:B,n c0?:B,n -> y:N,n h?:B,n c?:B,n"
};

/* Checks the arguments of one direction, and lays out its memory. */
static cla_status begin(cla_tape *tape, saved *s, cla_tensor *x,
                        const cla_lstm_weights *w, const cla_ragged *rows)
{
    cla_recurrence *r = &s->r;
    r->x = x;
    r->rows = rows;
    r->gates = 4;
    r->may_walk = true;
    s->w = (cla_recurrent_weights){ .w = w->w, .b = w->b };
    cla_tensor *const h0 = r->options.h0, *const c0 = r->options.c0;
    CLA_TRY(cla_recurrence_begin(
        tape, r, &cla_lstm_signature,
        (cla_given[]){ { x }, { w->w }, { w->b }, { .rows = rows }, { h0 }, { c0 } }));
    s->w.columns = w->w->shape[1];
    return cla_recurrence_plan(
        tape, r,
        cla_tape_needs_grad(tape, 5, (cla_tensor *[]){ x, w->w, w->b, h0, c0 }));
}

static cla_status give(cla_tape *tape, cla_tensor **y, const saved *s)
{
    const cla_recurrent_options *o = &s->r.options;
    const cla_note end = {
        backward, s, sizeof *s, { s->r.x, s->w.w, s->w.b, o->h0, o->c0 }
    };
    return cla_recurrence_give(tape, y, &s->r, &end);
}

cla_status cla_lstm(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w,
                    cla_tensor *b, const cla_ragged *rows,
                    const cla_recurrent_options *options)
{
    CLA_OP(tape, y, x, w, rows);
    static const cla_recurrent_options none = { 0 };
    options = options ? options : &none;
    CLA_MAY(tape, b, options->h0, options->c0);
    saved s = { .r = { .options = *options } };
    CLA_TRY(begin(tape, &s, x, &(cla_lstm_weights){ w, b }, rows));
    CLA_TRY(forward(tape, &s, 1));
    return give(tape, y, &s);
}

cla_status cla_lstm_both(cla_tape *tape, cla_tensor *y[2], cla_tensor *x,
                         const cla_lstm_weights w[2], const cla_ragged *rows,
                         const cla_recurrent_options options[2])
{
    saved s[2] = { { .r = { .options = options[0] } },
                   { .r = { .options = options[1] } } };
    assert(options[0].reverse != options[1].reverse);
    for (int i = 0; i < 2; i++) {
        assert(!options[i].h0 && !options[i].c0);
        CLA_TRY(begin(tape, &s[i], x, &w[i], rows));
    }
    if (s[0].r.shape.width != s[1].r.shape.width) {
        return cla_fail(CLA_E_SHAPE, "lstm: directions of width %d and %d",
                        s[0].r.shape.width, s[1].r.shape.width);
    }
    CLA_TRY(forward(tape, s, 2));
    CLA_TRY(give(tape, &y[0], &s[0]));
    return give(tape, &y[1], &s[1]);
}
