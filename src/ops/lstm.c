/* lstm.c - a long short-term memory along packed sequences. */
#include "ops/recurrent.h"
#include "ops/spread.h"

typedef struct saved {
    cla_recurrence r;
    cla_recurrent_weights w;
} saved;

/* What has flowed into a result that somebody may not have asked for. */
static const cla_tensor *gradient_in(const cla_tensor *y)
{
    return y ? cla_grad_in(y) : NULL;
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
    cla_launch launch = {
        .kernel = "lstm_backward",
        .args = { cla_buf(dh0), cla_buf(dc0), cla_mem(&r->work),
                  cla_buf(cla_grad_in(r->y)), cla_buf(gradient_in(r->h)),
                  cla_buf(gradient_in(r->c)), cla_buf(r->options.c0), cla_mem(w_h) },
    };
    return cla_recurrence_walk(tape, r, "lstm", "lstm_tile", &launch, 8);
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

/* The group schedule: a launch a token, then the states behind the last ones. */
static cla_status steps(cla_tape *tape, const cla_recurrence *r, const cla_memory *w_h)
{
    const cla_step_part part = {
        .launch = { .file = "lstm",
                    .kernel = "lstm_forward",
                    .args = { cla_buf(r->y), cla_mem(&r->work), cla_buf(r->options.h0),
                              cla_buf(r->options.c0), cla_mem(w_h) } },
        .args = 5,
        .columns = 4 * (int64_t)r->shape.width,
    };
    for (int64_t t = 0; t < r->rows->longest; t++) {
        CLA_TRY(cla_recurrence_step(tape, r, &part, t));
    }
    cla_launch last = {
        .kernel = "lstm_last",
        .args = { cla_buf(r->h), cla_buf(r->c), cla_buf(r->y), cla_mem(&r->work),
                  cla_buf(r->options.h0), cla_buf(r->options.c0) },
    };
    return r->h || r->c ? cla_recurrence_walk(tape, r, "lstm", "lstm_tile", &last, 6)
                        : CLA_OK;
}

static cla_status forward(cla_tape *tape, const saved *s)
{
    const cla_recurrence *r = &s->r;
    const cla_memory *w_h = NULL;
    cla_memory scratch;
    CLA_TRY(cla_recurrence_inputs(tape, r, &s->w));
    CLA_TRY(cla_recurrence_weights(tape, r, s->w.w, false, &w_h, &scratch));
    if (!cla_tiled(cla_tape_runtime(tape))) {
        return steps(tape, r, w_h);
    }
    cla_launch launch = {
        .kernel = "lstm_forward",
        .args = { cla_buf(r->y), cla_buf(r->h), cla_buf(r->c), cla_mem(&r->work),
                  cla_buf(r->options.h0), cla_buf(r->options.c0), cla_mem(w_h) },
    };
    return cla_recurrence_walk(tape, r, "lstm", "lstm_tile", &launch, 7);
}

const cla_signature cla_lstm_signature = {
    "lstm", "x:N,in w:in+n,4n b?:4n rows(N,B) h0?:B,n c0?:B,n -> y:N,n h?:B,n c?:B,n"
};

cla_status cla_lstm(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w,
                    cla_tensor *b, const cla_ragged *rows,
                    const cla_recurrent_options *options)
{
    CLA_OP(tape, y, x, w, rows);
    saved s = { .r = { .x = x, .rows = rows, .gates = 4 }, .w = { .w = w, .b = b } };
    cla_recurrence *r = &s.r;
    r->options = options ? *options : (cla_recurrent_options){ .reverse = false };
    cla_tensor *const h0 = r->options.h0, *const c0 = r->options.c0;
    CLA_TRY(cla_recurrence_begin(
        tape, r, &cla_lstm_signature,
        (cla_given[]){ { x }, { w }, { b }, { .rows = rows }, { h0 }, { c0 } }));
    s.w.columns = w->shape[1];
    const cla_note end = { backward, &s, sizeof s, { x, w, b, h0, c0 } };
    CLA_TRY(cla_recurrence_plan(tape, r, cla_tape_needs_grad(tape, 5, end.inputs)));
    CLA_TRY(forward(tape, &s));
    return cla_recurrence_give(tape, y, r, &end);
}
