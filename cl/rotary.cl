/* rotary.cl - pairs of numbers turned by an angle of the token's position.
 *
 * Layout: x, y [N,H,d]; table [P,2r], cosines then sines; positions [N].
 * Work-group: as elements.clh.
 * Defines: WG.
 * Numerics: two products and a sum.
 * Writes: y whole (added to when add). */
#include "elements.clh"
#include "rotary_args.h"

/* y[k] (+)= x[k] cos[p,k] - x[k+r] sin[p,k], y[k+r] (+)= x[k+r] cos[p,k] + x[k]
 * sin[p,k]; with back the sines change their sign. */
WORK_GROUP(WG, 1, 1)
kernel void rotary(global float *restrict y, global const float *restrict x,
                   global const float *restrict table,
                   global const int *restrict positions, int n, rotary_shape s, int add)
{
    EACH_ELEMENT(i, n)
    {
        const size_t head = i / s.width;
        const int k = i % s.width, pairs = s.pairs, first = k % max(pairs, 1);
        const int p = positions[head / s.heads];
        float to = x[i];
        if (k < 2 * pairs && head % s.heads < (size_t)s.turned && p >= 0 &&
            p < s.places) {
            global const float *row = table + (size_t)p * 2 * pairs;
            const float sine = s.back ? -row[pairs + first] : row[pairs + first];
            const float other = k < pairs ? -x[i + pairs] : x[i - pairs];
            to = to * row[first] + other * sine;
        }
        y[i] = add ? y[i] + to : to;
    }
}
