/* hypotheses.h - the hypotheses of one sentence under a beam search: those that live,
 * those that ended, and when the search may stop. */
#pragma once

#include "models/search.h"

/* A candidate continuation of a hypothesis. */
typedef struct candidate {
    double logp;
    int parent;
    int32_t piece;
} candidate;

typedef struct hypotheses {
    int64_t size, limit;  // pieces of the source; most of a translation, end included
    double *logp;         // [beam] of the hypotheses that live; -INFINITY: none
    int32_t *id, *scrap;  // [beam*limit] their pieces; room for the next
    int *parent;          // [beam] which hypothesis each one came from
    search_result *ended; // [beam] best first
    int ended_count;
} hypotheses;

/* fini frees a half-built one too. Errors: CLA_E_NOMEM. */
cla_status hypotheses_init(hypotheses *x, const search_options *o, int64_t size);
void hypotheses_fini(hypotheses *x);

/* Inserts c into a list of candidates, best first, behind equal ones; a full list drops
 * its last. Returns the new count. */
int candidate_keep(candidate *best, int count, int room, candidate c);

/* Extends the hypotheses by their t'th piece, t from 1.
 *
 * found  in   [count] best continuations, best first; changed at the last piece where
 *             the end is forced
 * done   out  whether the sentence needs no more pieces
 *
 * Errors: CLA_E_NOMEM. */
cla_status hypotheses_advance(hypotheses *x, const search_options *o, candidate *found,
                              int count, int64_t t, bool *done);
