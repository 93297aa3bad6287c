/* walk.c - a recurrence over packed sequences, a token of each at a time. */
#include "models/walk.h"

#include <stdlib.h>

#include "clattn/ops.h"
#include "clattn/rows.h"
#include "models/reader.h"
#include "tensor/tensor.h"

/* ---- order of tokens ------------------------------------------------------------- */

/* The order of the tokens. Step t takes the packed tokens order[at[t]] ..
 * order[at[t+1]-1], one of each sequence that is long enough; these are the first
 * sequences. place[i] is the index of token i in order. */
typedef struct route {
    int64_t steps;
    int32_t *at, *order, *place; // [steps+1], [N], [N]; one block
} route;

static cla_status plan(route *r, const cla_ragged *rows, bool reverse)
{
    const int64_t tokens = rows->tokens;
    *r = (route){ .steps = rows->longest };
    CLA_TRY(cla_alloc(&r->at, (size_t)(r->steps + 1 + 2 * tokens), sizeof *r->at));
    r->order = r->at + r->steps + 1;
    r->place = r->order + tokens;
    int32_t n = 0;
    for (int64_t t = 0; t < r->steps; t++) {
        r->at[t] = n;
        for (int64_t b = 0; b < rows->sequences; b++) {
            const int32_t *range = rows->offsets + b;
            if (t >= range[1] - range[0]) {
                break;
            }
            const int32_t token = (int32_t)(reverse ? range[1] - 1 - t : range[0] + t);
            r->place[token] = n;
            r->order[n++] = token;
        }
    }
    r->at[r->steps] = n;
    return CLA_OK;
}

/* ---- steps ----------------------------------------------------------------------- */

cla_status cla_walk_zeros(cla_tape *tape, cla_tensor **x, int64_t rows, int64_t columns)
{
    CLA_TRY(cla_tape_tensor(tape, x, CLA_F32, 2, (int64_t[]){ rows, columns }));
    return cla_tensor_fill(*x, 0);
}

/* Reduces a step to the first n sequences, unless it has n already. */
static cla_status narrow(walk_step *s, cla_tape *tape, int64_t sequences, int64_t n)
{
    if (s->ones && s->ones->sequences == n) {
        return CLA_OK;
    }
    CLA_TRY(cla_reader_single_rows(tape, &s->among, sequences, n));
    CLA_TRY(cla_reader_single_rows(tape, &s->ones, n, n));
    CLA_TRY(cla_slice(tape, &s->state.h, s->state.h, 0, n));
    return s->state.c ? cla_slice(tape, &s->state.c, s->state.c, 0, n) : CLA_OK;
}

/* Runs all steps. x is in the order of the route; out[t] is the output of step t. */
static cla_status go(const walk *w, cla_tape *tape, cla_tensor *const x[2],
                     const route *r, cla_tensor **out)
{
    walk_step s = { .state = w->state };
    for (int64_t t = 0; t < r->steps; t++) {
        const int64_t n = r->at[t + 1] - r->at[t];
        CLA_TRY(narrow(&s, tape, w->rows->sequences, n));
        CLA_TRY(cla_slice(tape, &s.x[0], x[0], r->at[t], n));
        CLA_TRY(cla_slice(tape, &s.x[1], x[1], r->at[t], n));
        CLA_TRY(w->move(w->with, tape, &s));
        out[t] = s.state.h;
    }
    return CLA_OK;
}

static cla_status follow(const walk *w, cla_tape *tape, cla_tensor **y, const route *r)
{
    cla_tensor *x[2] = { NULL }, **out = NULL, *all = NULL, *ids = NULL;
    CLA_TRY(cla_tape_ids(tape, &ids, w->rows->tokens, r->order));
    CLA_TRY(cla_embedding(tape, &x[0], w->x[0], ids, 1));
    CLA_TRY(cla_embedding(tape, &x[1], w->x[1], ids, 1));
    CLA_TRY(cla_alloc(&out, (size_t)r->steps + 1, sizeof *out));
    cla_status status = go(w, tape, x, r, out);
    status = status ? status : cla_stack(tape, &all, out, r->steps);
    free(out);
    CLA_TRY(status);
    CLA_TRY(cla_tape_ids(tape, &ids, w->rows->tokens, r->place));
    return cla_embedding(tape, y, all, ids, 1);
}

cla_status cla_walk_along(const walk *w, cla_tape *tape, cla_tensor **y)
{
    route r;
    *y = NULL;
    CLA_TRY(plan(&r, w->rows, w->reverse));
    const cla_status status = follow(w, tape, y, &r);
    free(r.at);
    return status;
}
