/* gru.c - a gated recurrent unit along packed sequences. */
#include "ops/recurrent.h"
#include "ops/spread.h"

typedef struct saved {
    cla_recurrence r;
    cla_recurrent_weights g, c; // of the gates r and u, of the candidate
} saved;

/* The state's rows of both weights, as the kernels read them. */
typedef struct state_weights {
    const cla_memory *g, *c;
    cla_memory scratch_g, scratch_c;
} state_weights;

static cla_status get_weights(cla_tape *tape, const saved *s, bool transposed,
                              state_weights *w)
{
    CLA_TRY(
        cla_recurrence_weights(tape, &s->r, s->g.w, transposed, &w->g, &w->scratch_g));
    return cla_recurrence_weights(tape, &s->r, s->c.w, transposed, &w->c,
                                  &w->scratch_c);
}

/* Queues a kernel that runs along the sequences, of file under the group schedule. */
static cla_status walk(cla_tape *tape, const cla_recurrence *r, const char *file,
                       cla_launch *launch)
{
    if (r->walks) {
        const int n = r->shape.width;
        launch->define[2] = (cla_define){ "BY", n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1 };
    }
    return cla_recurrence_walk(tape, r, file, "gru_tile", launch, 6);
}

/* Queues the backward pass of the group schedule: two launches for each token, the last
 * one first, then the gradient of the first states if it is wanted. */
static cla_status steps_back(cla_tape *tape, const cla_recurrence *r,
                             const state_weights *w, const cla_tensor *dh0)
{
    const cla_tensor *dy = cla_grad_in(r->y);
    const cla_arg dh = cla_buf(r->h ? cla_grad_in(r->h) : NULL);
    const cla_arg work = cla_step_rows(r, &r->work);
    const int64_t n = r->shape.width;
    const cla_step_part gates = {
        .launch = { .file = "gru",
                    .kernel = "gru_backward",
                    .args = { work, cla_step_rows(r, dy ? &dy->memory : NULL), dh,
                              cla_step_weights(r, w->g, 2) } },
        .args = 4,
        .columns = n,
        .inner = 2 * n,
    };
    const cla_step_part reset = {
        .launch = { .file = "gru",
                    .kernel = "gru_back_reset",
                    .args = { work, cla_step_weights(r, w->c, 1) } },
        .args = 2,
        .columns = n,
        .inner = n,
    };
    cla_step_part start = gates;
    for (int64_t t = r->rows->longest - 1; t >= 0; t--) {
        CLA_TRY(cla_recurrence_step(tape, r, &gates, t));
        CLA_TRY(cla_recurrence_step(tape, r, &reset, t));
    }
    start.launch.kernel = "gru_back_start";
    start.launch.args[0] = cla_buf(dh0);
    start.launch.args[1] = work;
    return dh0 ? cla_recurrence_step(tape, r, &start, -1) : CLA_OK;
}

static cla_status walk_back(cla_tape *tape, saved *s)
{
    cla_recurrence *r = &s->r;
    cla_tensor *dh0 = NULL;
    state_weights w;
    CLA_TRY(get_weights(tape, s, true, &w));
    CLA_TRY(cla_grad_out(tape, r->options.h0, &dh0, &r->shape.add_h));
    if (r->steps) {
        return steps_back(tape, r, &w, dh0);
    }
    cla_launch launch = {
        .kernel = r->walks ? "gru_walk_back" : "gru_backward",
        .args = { cla_buf(dh0), cla_mem(&r->work), cla_buf(cla_grad_in(r->y)),
                  cla_buf(r->h ? cla_grad_in(r->h) : NULL), cla_mem(w.g),
                  cla_mem(w.c) },
    };
    return walk(tape, r, "gru_walk_back", &launch);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    saved *s = bytes;
    const cla_recurrence *r = &s->r;
    if (!cla_grad_in(r->y) && !(r->h && cla_grad_in(r->h))) {
        return CLA_OK;
    }
    CLA_TRY(walk_back(tape, s));
    CLA_TRY(cla_recurrence_gradients(tape, r, &s->g, r->shape.before));
    return cla_recurrence_gradients(tape, r, &s->c, r->shape.inner);
}

/* Queues the forward pass of the group schedule: two launches for each token, then the
 * final states if they are wanted. */
static cla_status steps(cla_tape *tape, const cla_recurrence *r, const state_weights *w)
{
    const int64_t n = r->shape.width;
    const cla_step_part gates = {
        .launch = { .file = "gru",
                    .kernel = "gru_gates",
                    .args = { cla_step_rows(r, &r->y->memory),
                              cla_step_rows(r, &r->work), cla_buf(r->options.h0),
                              cla_step_weights(r, w->g, 2) } },
        .args = 4,
        .columns = 2 * n,
        .inner = n,
    };
    cla_step_part candidate = gates;
    candidate.launch.kernel = "gru_forward";
    candidate.launch.args[3] = cla_step_weights(r, w->c, 1);
    candidate.columns = n;
    for (int64_t t = 0; t < r->rows->longest; t++) {
        CLA_TRY(cla_recurrence_step(tape, r, &gates, t));
        CLA_TRY(cla_recurrence_step(tape, r, &candidate, t));
    }
    cla_launch last = {
        .kernel = "gru_last",
        .args = { cla_buf(r->h), cla_buf(r->y), cla_buf(r->options.h0) },
    };
    return r->h ? cla_recurrence_walk(tape, r, "gru", "gru_tile", &last, 3) : CLA_OK;
}

static cla_status forward(cla_tape *tape, const saved *s)
{
    const cla_recurrence *r = &s->r;
    state_weights w;
    CLA_TRY(cla_recurrence_inputs(tape, r, &s->g));
    CLA_TRY(cla_recurrence_inputs(tape, r, &s->c));
    CLA_TRY(get_weights(tape, s, false, &w));
    if (r->steps) {
        return steps(tape, r, &w);
    }
    cla_launch launch = {
        .kernel = r->walks ? "gru_walk" : "gru_forward",
        .args = { cla_buf(r->y), cla_buf(r->h), cla_mem(&r->work),
                  cla_buf(r->options.h0), cla_mem(w.g), cla_mem(w.c) },
    };
    return walk(tape, r, "gru_walk", &launch);
}

const cla_signature cla_gru_signature = {
    "gru",
    "x:N,in w_g:in+n,2n b_g?:2n w_c:in+n,n b_c?:n rows(N,B) h0?:B,n -> y:N,n h?:B,n"
};

cla_status cla_gru(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                   const cla_gru_weights *weights, const cla_ragged *rows,
                   const cla_recurrent_options *options)
{
    CLA_OP(tape, y, x, weights, rows);
    static const cla_recurrent_options none = { 0 };
    options = options ? options : &none;
    CLA_MAY(tape, weights->w_g, weights->b_g, weights->w_c, weights->b_c, options->h0,
            options->c0);
    saved s = { .r = { .x = x, .rows = rows, .gates = 3, .may_walk = true },
                .g = { .w = weights->w_g, .b = weights->b_g },
                .c = { .w = weights->w_c, .b = weights->b_c } };
    cla_recurrence *r = &s.r;
    r->options = *options;
    if (r->options.c0 || r->options.c) {
        return cla_fail(CLA_E_USAGE, "gru: there is no cell for c0 or c");
    }
    const cla_given given[] = {
        { x },     { s.g.w },        { s.g.b },        { s.c.w },
        { s.c.b }, { .rows = rows }, { r->options.h0 }
    };
    CLA_TRY(cla_recurrence_begin(tape, r, &cla_gru_signature, given));
    s.g.columns = s.c.column = 2 * (int64_t)r->shape.width;
    s.c.columns = r->shape.width;
    const cla_note end = {
        backward, &s, sizeof s, { x, s.g.w, s.g.b, s.c.w, s.c.b, r->options.h0 }
    };
    CLA_TRY(cla_recurrence_plan(tape, r, cla_tape_needs_grad(tape, 6, end.inputs)));
    CLA_TRY(forward(tape, &s));
    return cla_recurrence_give(tape, y, r, &end);
}
