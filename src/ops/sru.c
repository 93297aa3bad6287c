/* sru.c - a simple recurrent unit along packed sequences. */
#include "ops/recurrent.h"

typedef struct saved {
    cla_recurrence r;
    cla_recurrent_weights z, g; // of the transformed inputs, of the gates f and r
} saved;

static cla_status walk_back(cla_tape *tape, saved *s)
{
    cla_recurrence *r = &s->r;
    cla_tensor *dc0 = NULL;
    CLA_TRY(cla_grad_out(tape, r->options.c0, &dc0, &r->shape.add_c));
    cla_launch launch = {
        .kernel = "sru_backward",
        .args = { cla_buf(dc0), cla_mem(&r->work), cla_buf(cla_grad_in(r->y)),
                  cla_buf(r->c ? cla_grad_in(r->c) : NULL), cla_buf(r->options.c0) },
    };
    return cla_recurrence_walk(tape, r, "sru", "sru_tile", &launch, 5);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    saved *s = bytes;
    const cla_recurrence *r = &s->r;
    if (!cla_grad_in(r->y) && !(r->c && cla_grad_in(r->c))) {
        return CLA_OK;
    }
    CLA_TRY(walk_back(tape, s));
    CLA_TRY(cla_recurrence_gradients(tape, r, &s->z, 0));
    return cla_recurrence_gradients(tape, r, &s->g, 0);
}

static cla_status forward(cla_tape *tape, const saved *s)
{
    const cla_recurrence *r = &s->r;
    CLA_TRY(cla_recurrence_inputs(tape, r, &s->z));
    CLA_TRY(cla_recurrence_inputs(tape, r, &s->g));
    cla_launch launch = {
        .kernel = "sru_forward",
        .args = { cla_buf(r->y), cla_buf(r->c), cla_mem(&r->work),
                  cla_buf(r->options.c0) },
    };
    return cla_recurrence_walk(tape, r, "sru", "sru_tile", &launch, 4);
}

const cla_signature cla_sru_signature = {
    "sru", "x:N,in w:in,n w_g:in,2n b_g?:2n rows(N,B) c0?:B,n -> y:N,n c?:B,n"
};

cla_status cla_sru(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                   const cla_sru_weights *weights, const cla_ragged *rows,
                   const cla_recurrent_options *options)
{
    CLA_OP(tape, y, x, weights, rows);
    static const cla_recurrent_options none = { 0 };
    options = options ? options : &none;
    CLA_MAY(tape, weights->w, weights->w_g, weights->b_g, options->h0, options->c0);
    saved s = { .r = { .x = x, .rows = rows, .gates = 3, .apart = true },
                .z = { .w = weights->w, .inputs_only = true },
                .g = { .w = weights->w_g, .b = weights->b_g, .inputs_only = true } };
    cla_recurrence *r = &s.r;
    r->options = *options;
    if (r->options.h0 || r->options.h) {
        return cla_fail(CLA_E_USAGE, "sru: no state but the cell goes on: c0 and c");
    }
    const cla_given given[] = { { x },     { s.z.w },        { s.g.w },
                                { s.g.b }, { .rows = rows }, { r->options.c0 } };
    CLA_TRY(cla_recurrence_begin(tape, r, &cla_sru_signature, given));
    s.z.columns = s.g.column = r->shape.width;
    s.g.columns = 2 * (int64_t)r->shape.width;
    const cla_note end = {
        backward, &s, sizeof s, { x, s.z.w, s.g.w, s.g.b, r->options.c0 }
    };
    CLA_TRY(cla_recurrence_plan(tape, r, cla_tape_needs_grad(tape, 5, end.inputs)));
    CLA_TRY(forward(tape, &s));
    return cla_recurrence_give(tape, y, r, &end);
}
