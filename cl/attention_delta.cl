/* attention_delta.cl - the first step of an attention's backward pass where no kernel
 * for the gradients of queries computes delta itself: in bands under the tile schedule,
 * and where queries need no gradient.
 *
 * Layout: dy, o [Nq,H,d] contiguous; delta [H,Nq].
 * Work-group: WG items, a row of one head each; both schedules.
 * Defines: WIDTH = d; VEC; WG; BF16.
 * Writes: delta whole. */
#include "attention.clh"
#include "vector.clh"

#ifndef WIDTH
#define WIDTH 64
#endif
#ifndef WG
#define WG 32
#endif
// needs the width
#include "attention_delta.clh"

// delta_i = <dO_i, O_i>
WORK_GROUP(WG, 1, 1)
kernel void attention_delta(global float *restrict delta,
                            global const float *restrict dy,
                            global const float *restrict o, attention_args a)
{
    const int row = GROUP(0) * WG + LANE(0);
    const int n = row / a.heads, h = row % a.heads;
    if (n < a.queries) {
        const size_t at = o_row(a, n, h, WIDTH);
        delta[statistic(a, n, h)] = delta_of(dy + at, o + at);
    }
}
