/* hypotheses.h - the hypotheses of one sentence in a beam search: live ones, finished
 * ones, and the stopping rule. */
#pragma once

#include "models/search.h"

/* A candidate continuation of a hypothesis. */
typedef struct candidate {
    double logp;
    int parent;
    int32_t piece;
} candidate;

typedef struct hypotheses {
    int64_t size, limit;  // pieces of the source; limit of a translation, end included
    double *logp;         // [beam] of the live hypotheses; -INFINITY: unused
    int32_t *id, *scrap;  // [beam*limit] their pieces; a buffer for the next step
    int *parent;          // [beam] hypothesis of the previous step that each extends
    bool *forced;         // [beam] the limit of pieces ends it, not its own end
    search_result *ended; // [beam] finished hypotheses, best first
    int ended_count;
} hypotheses;

/* Initialises zeroed hypotheses. cla_hypotheses_fini frees them also when init failed.
 * Errors: CLA_E_NOMEM. */
cla_status cla_hypotheses_init(hypotheses *x, const search_options *o, int64_t size);
void cla_hypotheses_fini(hypotheses *x);

/* Inserts c into a list of candidates, best first, after equal ones. A list of `room`
 * candidates drops its last. Returns the new count. */
int cla_candidate_keep(candidate *best, int count, int room, candidate c);

/* Extends the hypotheses by their t'th piece; t counts from 1.
 *
 * found  in   [count] best continuations, best first; overwritten at the last piece if
 *             the end is forced
 * done   out  whether the sentence needs no more pieces
 *
 * Errors: CLA_E_NOMEM. */
cla_status cla_hypotheses_advance(hypotheses *x, const search_options *o,
                                  candidate *found, int count, int64_t t, bool *done);
