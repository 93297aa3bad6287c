/* char_cnn.cl - a convolution, ReLU, and the maximum along each word.
 *
 * Layout: z [N,out]; y, dy, at [words,out]; x, dx [N,in]; w, dw [taps,in,out], turned
 * [out,taps,in]; offsets [words+1]; len [words] or null.
 * Work-group: WG items; max and rows have a group for each word, weights for each
 * filter and WG elements of it, turn an item for each element.
 * Defines: WG.
 * Numerics: the first of equal maxima gets the gradient, if the maximum is above 0, and
 * the first NaN where there is one; f32 sums, filters and words in order.
 * Writes: y, at, turned, dx, dw, db whole (gradients are added to when add). */
#include "char_cnn.clh"

#ifndef WG
#define WG 64
#endif

// y = relu(largest z of the word's counted rows), at = its row, -1 where y is 0
WORK_GROUP(WG, 1, 1)
kernel void char_cnn_max(global float *restrict y, global int *restrict at,
                         global const float *restrict z,
                         global const int *restrict offsets, global const int *len,
                         char_shape s)
{
    const int word = GROUP(0), first = offsets[word];
    const int last = first + counted_rows(offsets, len, word);
    for (int o = LANE(0); o < s.out; o += WG) {
        float best = 0.0f;
        int where = -1;
        for (int row = first; row < last; row++) {
            const float x = z[(size_t)row * s.out + o];
            const bool stays = x <= best || best != best;
            where = stays ? where : row;
            best = stays ? best : x;
        }
        y[(size_t)word * s.out + o] = best;
        at[(size_t)word * s.out + o] = where;
    }
}

// turned[o,u,c] = w[u,c,o]; for both schedules
WORK_GROUP(WG, 1, 1)
kernel void char_cnn_turn(global float *restrict turned, global const float *restrict w,
                          char_shape s)
{
    const int i = GROUP(0) * WG + LANE(0), each = s.taps * s.in;
    if (i < each * s.out) {
        turned[i] = w[(size_t)(i % each) * s.out + i / each];
    }
}

// dx[at + u - before] (+)= dy w[u,:,o] over the filters o of the word
WORK_GROUP(WG, 1, 1)
kernel void char_cnn_rows(global float *restrict dx, global const float *restrict dy,
                          global const int *restrict at,
                          global const float *restrict turned,
                          global const int *restrict offsets, char_shape s, int add)
{
    const int word = GROUP(0);
    for (int c = LANE(0); c < s.in; c += WG) {
        for (int row = offsets[word]; row < offsets[word + 1] && !add; row++) {
            dx[(size_t)row * s.in + c] = 0.0f;
        }
        for (int o = 0; o < s.out; o++) {
            const int where = at[(size_t)word * s.out + o];
            const float g = dy[(size_t)word * s.out + o];
            const char_reach r = reach_of(s, offsets, word, where);
            for (int u = r.first; u < r.last && where >= 0; u++) {
                dx[(size_t)(where + u - s.before) * s.in + c] +=
                    g * turned[((size_t)o * s.taps + u) * s.in + c];
            }
        }
    }
}

// dw[u,:,o] (+)= sum over words of dy x[at + u - before]; db[o] (+)= sum of dy
WORK_GROUP(WG, 1, 1)
kernel void char_cnn_weights(global float *restrict dw, global float *restrict db,
                             global const float *no_sums,
                             global const float *restrict x,
                             global const float *restrict dy,
                             global const int *restrict at,
                             global const int *restrict offsets, char_shape s,
                             int add_w, int add_b)
{
    (void)no_sums; // of the tile schedule
    const int o = GROUP(0), i = GROUP(1) * WG + LANE(0), u = i / s.in, c = i % s.in;
    float sum = 0.0f, bias = 0.0f;
    for (int word = 0; word < s.words; word++) {
        const int where = at[(size_t)word * s.out + o], from = where + u - s.before;
        const float g = where >= 0 ? dy[(size_t)word * s.out + o] : 0.0f;
        const int inside = where >= 0 && u < s.taps && from >= offsets[word] &&
                           from < offsets[word + 1];
        sum += inside ? g * x[(size_t)from * s.in + c] : 0.0f;
        bias += g;
    }
    if (dw && u < s.taps) {
        const size_t to = (size_t)i * s.out + o;
        dw[to] = add_w ? dw[to] + sum : sum;
    }
    if (db && i == 0) {
        db[o] = add_b ? db[o] + bias : bias;
    }
}
