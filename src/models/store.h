/* store.h - where a search keeps the keys and values of its hypotheses' tokens.
 *
 * A token's are written once and stay where they are; a hypothesis is a list of places.
 * Hypotheses that share a beginning share its places. */
#pragma once

#include "models/transformer.h"

typedef struct token_store {
    transformer *m;
    cla_tape *turn[2]; // of the stores; turns are taken by their growth
    int now;
    int64_t rows, reach;   // places of a position, positions that there is room for
    int32_t *place, *next; // [rows,reach] of each row's tokens; scratch
} token_store;

/* For up to so many hypotheses. Free it in any case. Errors: CLA_E_NOMEM. */
cla_status token_store_init(token_store *s, transformer *m, cla_runtime *rt,
                            int64_t rows);
void token_store_free(token_store *s);

/* Makes room for the t'th token, from 1, of so many rows, of which row i goes on from
 * parent[i] (not read for the first), and sets store and place of a step.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status token_store_next(token_store *s, cla_tape *tape, int64_t rows, int64_t t,
                            const int32_t *parent, transformer_step *step);
