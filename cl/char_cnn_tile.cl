/* char_cnn_tile.cl - char_cnn.cl for CPU devices: a word or a filter to each item.
 *
 * Layout: as char_cnn.cl, and sums [out,taps,in].
 * Work-group: 1 item.
 * Defines: VEC, the native width.
 * Numerics: as char_cnn.cl.
 * Writes: as char_cnn.cl. */
#include "char_cnn.clh"
#include "vector.clh"

// y = relu(largest z of the word's counted rows), at = its row, -1 where y is 0
WORK_GROUP(1, 1, 1)
kernel void char_cnn_max(global float *restrict y, global int *restrict at,
                         global const float *restrict z,
                         global const int *restrict offsets, global const int *len,
                         char_shape s)
{
    const int word = GROUP(0), first = offsets[word];
    const int last = first + counted_rows(offsets, len, word);
    y += (size_t)word * s.out;
    at += (size_t)word * s.out;
    int o = 0;
    for (; o + VEC <= s.out; o += VEC) {
        floatv best = (floatv)(0.0f);
        intv where = (intv)(-1);
        for (int row = first; row < last; row++) {
            const floatv x = loadv(0, z + (size_t)row * s.out + o);
            const intv stays = (x <= best) | (best != best);
            where = stays ? where : (intv)(row);
            best = stays ? best : x;
        }
        storev(best, 0, y + o);
        storev(as_floatv(where), 0, (global float *)(at + o));
    }
    for (; o < s.out; o++) {
        y[o] = 0.0f;
        at[o] = -1;
        for (int row = first; row < last; row++) {
            const float x = z[(size_t)row * s.out + o];
            const bool stays = x <= y[o] || y[o] != y[o];
            at[o] = stays ? at[o] : row;
            y[o] = stays ? y[o] : x;
        }
    }
}

/* to[i] += g from[i] */
INLINE void add_scaled(global float *to, global const float *from, float g, int count)
{
    int i = 0;
    for (; i + VEC <= count; i += VEC) {
        storev(loadv(0, to + i) + g * loadv(0, from + i), 0, to + i);
    }
    for (; i < count; i++) {
        to[i] += g * from[i];
    }
}

// dx[at + u - before] (+)= dy w[u,:,o] over the filters o of the word
WORK_GROUP(1, 1, 1)
kernel void char_cnn_rows(global float *restrict dx, global const float *restrict dy,
                          global const int *restrict at,
                          global const float *restrict turned,
                          global const int *restrict offsets, char_shape s, int add)
{
    const int word = GROUP(0);
    const size_t first = (size_t)offsets[word] * s.in;
    const size_t last = (size_t)offsets[word + 1] * s.in;
    for (size_t i = first; i < last && !add; i++) {
        dx[i] = 0.0f;
    }
    dy += (size_t)word * s.out;
    at += (size_t)word * s.out;
    for (int o = 0; o < s.out; o++, turned += s.taps * s.in) {
        if (at[o] >= 0) {
            const char_reach r = reach_of(s, offsets, word, at[o]);
            add_scaled(dx + (size_t)(at[o] + r.first - s.before) * s.in,
                       turned + r.first * s.in, dy[o], (r.last - r.first) * s.in);
        }
    }
}

// dw[u,:,o] (+)= sum over words of dy x[at + u - before]; db[o] (+)= sum of dy
WORK_GROUP(1, 1, 1)
kernel void char_cnn_weights(global float *restrict dw, global float *restrict db,
                             global float *restrict sums,
                             global const float *restrict x,
                             global const float *restrict dy,
                             global const int *restrict at,
                             global const int *restrict offsets, char_shape s,
                             int add_w, int add_b)
{
    const int o = GROUP(0), each = s.taps * s.in;
    float bias = 0.0f;
    sums += (size_t)o * each;
    for (int i = 0; i < each; i++) {
        sums[i] = 0.0f;
    }
    for (int word = 0; word < s.words; word++) {
        const int where = at[(size_t)word * s.out + o];
        if (where >= 0) {
            const float g = dy[(size_t)word * s.out + o];
            const char_reach r = reach_of(s, offsets, word, where);
            add_scaled(sums + r.first * s.in,
                       x + (size_t)(where + r.first - s.before) * s.in, g,
                       (r.last - r.first) * s.in);
            bias += g;
        }
    }
    for (int i = 0; i < each && dw; i++) {
        const size_t to = (size_t)i * s.out + o;
        dw[to] = add_w ? dw[to] + sums[i] : sums[i];
    }
    if (db) {
        db[o] = add_b ? db[o] + bias : bias;
    }
}
