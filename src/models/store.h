/* store.h - the cache of keys and values of a beam search.
 *
 * The keys and values of a token are written once and keep their place. A hypothesis is
 * a list of places; hypotheses with a common prefix share the places of the prefix. */
#pragma once

#include "models/transformer.h"

typedef struct token_store {
    transformer *m;
    cla_tape *turn[2]; // own the store; alternate when it grows
    int now;
    int64_t rows, reach;   // places of a position; positions that fit
    int32_t *place, *next; // [rows,reach] places of the tokens of each row; scratch
} token_store;

/* Makes a store for at most `rows` hypotheses. Call cla_token_store_free also on
 * failure. Errors: CLA_E_NOMEM. */
cla_status cla_token_store_init(token_store *s, transformer *m, cla_runtime *rt,
                                int64_t rows);
void cla_token_store_free(token_store *s);

/* Makes room for the t'th token (t from 1) of `rows` hypotheses and sets store and
 * place of step. Row i continues row parent[i], which is not read for t = 1.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_token_store_next(token_store *s, cla_tape *tape, int64_t rows, int64_t t,
                                const int32_t *parent, transformer_step *step);
