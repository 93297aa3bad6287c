/* rotary_tile.cl - rotary.cl for CPU devices; each work-item has a run of tokens.
 *
 * Layout: x, y [N,H,d]; table [P,2r], cosines then sines; positions [N].
 * Work-group: 1 item, RUN tokens each.
 * Defines: VEC, the native width; RUN.
 * Numerics: as rotary.cl.
 * Writes: y whole (added to when add). */
#include "rotary_args.h"
#include "vector.clh"

#ifndef RUN
#define RUN 8
#endif

// to (+)= from over `size` floats
INLINE void pass_on(global float *to, global const float *from, int size, int add)
{
    int k = 0;
    for (; k + VEC <= size; k += VEC) {
        const floatv x = loadv(0, from + k);
        storev(add ? loadv(0, to + k) + x : x, 0, to + k);
    }
    for (; k < size; k++) {
        to[k] = add ? to[k] + from[k] : from[k];
    }
}

// to (+)= the r pairs of a head, turned by the angles of row; sign: of the sines
INLINE void turn(global float *to, global const float *from, global const float *row,
                 int r, float sign, int add)
{
    int k = 0;
    for (; k + VEC <= r; k += VEC) {
        const floatv a = loadv(0, from + k), b = loadv(0, from + r + k);
        const floatv c = loadv(0, row + k), s = loadv(0, row + r + k) * sign;
        const floatv u = a * c - b * s, v = b * c + a * s;
        storev(add ? loadv(0, to + k) + u : u, 0, to + k);
        storev(add ? loadv(0, to + r + k) + v : v, 0, to + r + k);
    }
    for (; k < r; k++) {
        const float a = from[k], b = from[r + k], c = row[k], s = row[r + k] * sign;
        const float u = a * c - b * s, v = b * c + a * s;
        to[k] = add ? to[k] + u : u;
        to[r + k] = add ? to[r + k] + v : v;
    }
}

// y (+)= x, of which the first heads of each token are turned
WORK_GROUP(1, 1, 1)
kernel void rotary(global float *restrict y, global const float *restrict x,
                   global const float *restrict table,
                   global const int *restrict positions, int n, rotary_shape s, int add)
{
    const int first = GROUP(0) * RUN, last = min(first + RUN, n);
    const int size = s.heads * s.width, r = s.pairs;
    for (int token = first; token < last; token++) {
        const int p = positions[token];
        const int turned = p >= 0 && p < s.places ? s.turned : 0;
        global const float *row = table + (turned ? (size_t)p * 2 * r : 0);
        global const float *from = x + (size_t)token * size;
        global float *to = y + (size_t)token * size;
        for (int h = 0; h < turned; h++, from += s.width, to += s.width) {
            turn(to, from, row, r, s.back ? -1.0f : 1.0f, add);
            pass_on(to + 2 * r, from + 2 * r, s.width - 2 * r, add);
        }
        pass_on(to, from, (s.heads - turned) * s.width, add);
    }
}
