/* matmul_unit_group.cl - matrix products of numbers that are rounded to bf16, by
 * work-groups whose device has a matrix unit.
 *
 * Layout: row-major matrices, each with an offset, a row stride and a batch stride.
 * Work-group: ITEMS items to a tile of TM x TN of the result, see unit_group.clh. One
 * dimension counts tiles and matrices.
 * Defines: those of unit_group.clh; WIDE: 1 if every offset and stride, N, and the
 * contiguous sizes of a and b are multiples of 4 floats.
 * Local: 2 A_SIZE + 2 B_SIZE bytes. While a group multiplies two tiles, its items load
 * their parts of the next two.
 * Numerics: f32 sums; each unit has its own order inside a step of 8 or 16 inner
 * indices, steps follow each other. A tile changes no order.
 * Writes: y whole (added to when add). */
#include "matmul.clh"
#include "unit_group.clh"

#ifndef WIDE
#define WIDE 1
#endif

#define A_ALONG (!TA) // the inner index is contiguous
#define B_ALONG TB

#define A_FILL (TM * DEPTH / 4 / ITEMS) // quads of a tile that an item loads, 4 at most
#define B_FILL (TN * DEPTH / 4 / ITEMS)

/* Quads of sums that pass through an item's own local memory to its tail, so that this
 * is compiled for one quad; and numbers of local memory. */
#define PASSED (QUADS < 4 ? QUADS : 4)
#define LOCAL_SIZE \
    (A_SIZE + B_SIZE > 8 * PASSED * ITEMS ? A_SIZE + B_SIZE : 8 * PASSED * ITEMS)

/* Inner and outer index of quad n of a tile with `width` outer indices; a quad lies
 * along the inner index or across it. */
#define INNER_OF(n, width, along) \
    ((along) ? (n) % (DEPTH / 4) * 4 : (n) / ((width) / 4))
#define OUTER_OF(n, width, along) \
    ((along) ? (n) / (DEPTH / 4) : (n) % ((width) / 4) * 4)

/* Returns a quad of a whole step. Outer indices past the edge read the last ones
 * inside; their results are not stored. */
INLINE float4 whole_quad(global const float *x, int outer, int inner, bool along,
                         int ld, int outers)
{
    const uint at = (uint)(along ? min(outer, outers - 1) * ld + inner
                                 : inner * ld + min(outer, outers - 4));
    return *(global const float4 *)(x + at);
}

/* The quads of the next tiles that an item has loaded. They have names, since compilers
 * that unroll late would leave an array in memory. */
typedef struct fetched {
    float4 a0, a1, a2, a3, b0, b1, b2, b3;
} fetched;
#define EACH(DO) DO(0) DO(1) DO(2) DO(3)

#define A_PLACE(DO, i)                                                                \
    if (i < A_FILL) {                                                                 \
        const int n = LANE(0) + i * ITEMS;                                            \
        const int outer = OUTER_OF(n, TM, A_ALONG), inner = INNER_OF(n, TM, A_ALONG); \
        DO                                                                            \
    }
#define B_PLACE(DO, i)                                                                \
    if (i < B_FILL) {                                                                 \
        const int n = LANE(0) + i * ITEMS;                                            \
        const int outer = OUTER_OF(n, TN, B_ALONG), inner = INNER_OF(n, TN, B_ALONG); \
        DO                                                                            \
    }
#define FETCH(i)                                                                 \
    A_PLACE(next->a##i = whole_quad(a, outer, inner, A_ALONG, s.a_ld, rows);, i) \
    B_PLACE(next->b##i = whole_quad(b, outer, inner, B_ALONG, s.b_ld, columns);, i)
/* Stores a quad of bf16 numbers. */
#define PUT_QUAD(to, AT, PUT_ACROSS, outer, inner, along, h) \
    if (along) {                                             \
        PUT_ALONG((to) + AT(outer, inner), h);               \
    } else {                                                 \
        PUT_ACROSS(to, outer, inner, h);                     \
    }
#define PUT_A(h) PUT_QUAD(a, A_AT, PUT_ACROSS_A, outer, inner, A_ALONG, h)
#define PUT_B(h) PUT_QUAD(b, B_AT, PUT_ACROSS_B, outer, inner, B_ALONG, h)
#define PUT(i)                                                  \
    A_PLACE(const ushort4 h = bf16_of(next->a##i); PUT_A(h), i) \
    B_PLACE(const ushort4 h = bf16_of(next->b##i); PUT_B(h), i)

/* Loads an item's quads of a whole step. */
INLINE void fetch(fetched *next, global const float *a, global const float *b, int rows,
                  int columns, const matmul_shape s)
{
    EACH(FETCH);
}

/* Stores an item's quads. */
INLINE void put(const fetched *next, local ushort *a, local ushort *b)
{
    EACH(PUT);
}

#if QUIET
#define ADD(i)                             \
    all += i < A_FILL ? next->a##i : 0.0f; \
    all += i < B_FILL ? next->b##i : 0.0f;
/* Returns whether an item's quads may hold a NaN: infinite ones may, too. */
INLINE bool is_odd(const fetched *next)
{
    float4 all = (float4)(0.0f);
    EACH(ADD);
    const float sum = all.x + all.y + all.z + all.w;
    return sum != sum;
}

/* Store an item's quads of a whole step again, now with quiet NaNs, if they are odd. */
#define STORE_AGAIN(AT, PUT_ACROSS, width, along)                     \
    const int end = odd ? width * DEPTH / 4 : 0;                      \
    _Pragma("unroll 1") for (int n = LANE(0); n < end; n += ITEMS)    \
    {                                                                 \
        const int k = INNER_OF(n, width, along);                      \
        const int outer = OUTER_OF(n, width, along);                  \
        const float4 x4 = whole_quad(x, outer, k, along, ld, outers); \
        const ushort4 h = bf16_of(quiet(x4));                         \
        PUT_QUAD(to, AT, PUT_ACROSS, outer, k, along, h)              \
    }
INLINE void store_a_again(local ushort *to, global const float *x, int ld, int outers,
                          bool odd)
{
    STORE_AGAIN(A_AT, PUT_ACROSS_A, TM, A_ALONG);
}
INLINE void store_b_again(local ushort *to, global const float *x, int ld, int outers,
                          bool odd)
{
    STORE_AGAIN(B_AT, PUT_ACROSS_B, TN, B_ALONG);
}
#endif

/* Fill tiles number by number, where quads would not be aligned, or with the last
 * inner indices: zeros follow those that are left. */
#define FILL(AT, width, along)                                              \
    for (int n = LANE(0); n < width * DEPTH; n += ITEMS) {                  \
        const int k = (along) ? n % DEPTH : n / width;                      \
        const int outer = (along) ? n / DEPTH : n % width;                  \
        const int i = min(outer, outers - 1);                               \
        const float one =                                                   \
            k < left ? x[(uint)((along) ? i * ld + k : k * ld + i)] : 0.0f; \
        to[AT(outer, k)] = bf16_of(quiet((float4)(one))).x;                 \
    }
INLINE void fill_a(local ushort *to, global const float *x, int ld, int outers,
                   int left)
{
    FILL(A_AT, TM, A_ALONG);
}
INLINE void fill_b(local ushort *to, global const float *x, int ld, int outers,
                   int left)
{
    FILL(B_AT, TN, B_ALONG);
}

/* Stores a quad as far as it is inside, with bias, activation and residual. */
INLINE void store_quad(global float *y, global const float *bias,
                       global const float *residual, float4 x, int row, int column,
                       int rows, int columns, const matmul_shape s)
{
    if (row >= rows) {
        return;
    }
    y += (size_t)row * s.y_ld + column;
    residual += residual ? (size_t)row * s.residual_ld + column : 0;
    bias += bias ? column : 0;
#if WIDE
    if (column < columns) {
        global float4 *to = (global float4 *)y;
        *to = matmul_tail4(s.add ? *to + x : x, bias, residual, s.activation);
    }
#else
    const float part[4] = { x.x, x.y, x.z, x.w };
#pragma unroll
    for (int n = 0; n < 4; n++) {
        if (column + n < columns) {
            y[n] = matmul_tail(s.add ? y[n] + part[n] : part[n], bias ? bias + n : 0,
                               residual ? residual + n : 0, s.activation);
        }
    }
#endif
}

// y = act(op(a) op(b) + bias) + residual; the members of a batch may be parts of one
// sum (s.part)
WORK_GROUP(ITEMS, 1, 1)
UNIT_ATTRIBUTE
kernel void matmul_unit_group(global float *y, global const float *a,
                              global const float *b, global const float *bias,
                              global const float *residual, matmul_shape s)
{
    local ushort tiles[LOCAL_SIZE] __attribute__((aligned(16)));
    local uint scratch[SCRATCH];
    local ushort *a_tile = tiles, *b_tile = tiles + A_SIZE;
    local float4 *mine = (local float4 *)tiles + LANE(0) * PASSED;
    const int across = (s.N + TN - 1) / TN, down = (s.M + TM - 1) / TM;
    const int tile = GROUP(0) % (across * down);
    const size_t batch = GROUP(0) / (across * down);
    const int i0 = tile / across * TM, j0 = tile % across * TN;
    const int rows = s.M - i0, columns = s.N - j0;
    const int K = s.part ? min(s.part, s.K - (int)batch * s.part) : s.K;
    a += s.a_offset + batch * s.a_stride + (TA ? i0 : (size_t)i0 * s.a_ld);
    b += s.b_offset + batch * s.b_stride + (TB ? (size_t)j0 * s.b_ld : j0);
    unit_sums sums;
    unit_clear(&sums);
    fetched next;
    const int whole = WIDE ? K / DEPTH * DEPTH : 0;
    if (whole) {
        fetch(&next, a, b, rows, columns, s);
    }
    for (int k = 0; TOGETHER(k < K); k += DEPTH) {
        if (k < whole) {
            put(&next, a_tile, b_tile);
#if QUIET
            const bool odd = is_odd(&next);
            store_a_again(a_tile, a, s.a_ld, rows, odd);
            store_b_again(b_tile, b, s.b_ld, columns, odd);
#endif
        } else {
            fill_a(a_tile, a, s.a_ld, rows, K - k);
            fill_b(b_tile, b, s.b_ld, columns, K - k);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        a += TA ? (size_t)DEPTH * s.a_ld : DEPTH;
        b += TB ? DEPTH : (size_t)DEPTH * s.b_ld;
        if (k + DEPTH < whole) {
            fetch(&next, a, b, rows, columns, s);
        }
        unit_multiply(&sums, a_tile, b_tile, TB, scratch);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    y += s.y_offset + batch * s.y_stride + (size_t)i0 * s.y_ld + j0;
    bias += bias ? j0 : 0;
    residual += residual ? s.residual_offset + batch * s.residual_stride +
                               (size_t)i0 * s.residual_ld + j0
                         : 0;
    UNROLLED
    for (int m = 0; m < DOWN_TILES; m++) {
        UNROLLED
        for (int n = 0; n < QUADS; n += PASSED) {
            UNROLLED
            for (int i = 0; i < PASSED; i++) {
                mine[i] = unit_quad(&sums, m, n + i);
            }
#pragma unroll 1 // the tail is long
            for (int i = 0; i < PASSED; i++) {
                store_quad(y, bias, residual, mine[i], QUAD_ROW(m, n + i),
                           QUAD_COLUMN(n + i), rows, columns, s);
            }
        }
    }
}
