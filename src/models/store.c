/* store.c - the cache of keys and values of a beam search. */
#include "models/store.h"

#include <string.h>

#include "ops/step_attention.h"

enum { FIRST_REACH = 16 };

cla_status cla_token_store_init(token_store *s, transformer *m, cla_runtime *rt,
                                int64_t rows)
{
    *s = (token_store){ .m = m, .rows = rows };
    CLA_TRY(cla_tape_new(&s->turn[0], rt, false));
    return cla_tape_new(&s->turn[1], rt, false);
}

void cla_token_store_free(token_store *s)
{
    cla_tape_free(&s->turn[0]);
    cla_tape_free(&s->turn[1]);
    free(s->place);
    free(s->next);
}

/* Copies lists of places [rows,from] into a wider array [rows,to]. */
static cla_status widen(int32_t **list, int64_t rows, int64_t from, int64_t to)
{
    int32_t *wide = NULL;
    CLA_TRY(cla_alloc(&wide, (size_t)(rows * to), sizeof *wide));
    for (int64_t i = 0; i < rows && from; i++) {
        memcpy(wide + i * to, *list + i * from, (size_t)from * sizeof *wide);
    }
    free(*list);
    *list = wide;
    return CLA_OK;
}

/* Doubles the number of positions. The tokens in the store keep their places. */
static cla_status grow(token_store *s, transformer_step *step)
{
    const int64_t reach = s->reach ? 2 * s->reach : FIRST_REACH;
    const coder_config *c = &s->m->config.coder;
    const int64_t D = (int64_t)c->heads * cla_coder_head_width(c);
    cla_tape *tape = s->turn[!s->now];
    CLA_TRY(widen(&s->place, s->rows, s->reach, reach));
    CLA_TRY(widen(&s->next, s->rows, s->reach, reach));
    for (int i = 0; i < s->m->config.decoder_layers; i++) {
        CLA_TRY(cla_step_store(tape, &step->store[i], s->reach ? step->store[i] : NULL,
                               s->rows * reach, D));
    }
    cla_tape_reset(s->turn[s->now]);
    s->now = !s->now;
    s->reach = reach;
    return CLA_OK;
}

/* Copies to each row i the places of the t-1 earlier tokens of row parent[i]. */
static void follow(token_store *s, int64_t rows, int64_t t, const int32_t *parent)
{
    for (int64_t i = 0; i < rows; i++) {
        memcpy(s->next + i * s->reach, s->place + parent[i] * s->reach,
               (size_t)(t - 1) * sizeof *s->place);
    }
    int32_t *before = s->place;
    s->place = s->next;
    s->next = before;
}

cla_status cla_token_store_next(token_store *s, cla_tape *tape, int64_t rows, int64_t t,
                                const int32_t *parent, transformer_step *step)
{
    cla_tensor *place = NULL;
    CLA_TRY(t > s->reach ? grow(s, step) : CLA_OK);
    if (t > 1) {
        follow(s, rows, t, parent);
    }
    for (int64_t i = 0; i < rows; i++) {
        s->place[i * s->reach + t - 1] = (int32_t)((t - 1) * s->rows + i);
    }
    CLA_TRY(cla_tape_ids(tape, &place, rows * s->reach, s->place));
    CLA_TRY(cla_tensor_reshape(tape, &place, place, 2, (int64_t[]){ rows, s->reach }));
    step->place = place;
    return CLA_OK;
}
