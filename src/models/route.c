/* route.c - a walk along packed sequences, a token of each at a time. */
#include "models/route.h"

#include <stdlib.h>

cla_status route_plan(route *r, const cla_ragged *rows, bool reverse)
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

void route_free(route *r)
{
    free(r->at);
    *r = (route){ 0 };
}
