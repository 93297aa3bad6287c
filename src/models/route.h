/* route.h - a walk along packed sequences that are in falling order of length, a token
 * of each at a time. */
#pragma once

#include "tensor/tensor.h"

/* Step t has rows at[t] .. at[t+1]-1 of order: packed tokens of the first sequences,
 * those that have so many. place says where each packed token went. */
typedef struct route {
    int64_t steps;
    int32_t *at, *order, *place; // [steps+1], [N], [N]; one block
} route;

/* reverse: from the last token of each sequence to its first. Free it in any case.
 * Errors: CLA_E_NOMEM. */
cla_status route_plan(route *r, const cla_ragged *rows, bool reverse);
void route_free(route *r);
