/* matmul.cl - matrix products by work-groups with local memory.
 *
 * Layout: row-major matrices, each with an offset, a row stride and a batch stride.
 * Work-group: DOWN x ACROSS items to a tile of TM x TN of the result; an item has
 * QM x QN blocks of 4 x 4 of it. One dimension counts tiles and matrices: some devices
 * allow few groups in others.
 * Defines: DOWN, ACROSS; QM, QN: 1 or 2; TA, TB: 1 if a (or b) is stored transposed;
 * WIDE: 1 if every offset and stride, N, and the contiguous sizes of a and b are
 * multiples of 4 floats; UNROLL, a divisor of TK; WEIGHTS, the number format of b;
 * BF16, 1 if a and b are rounded to bf16.
 * Local: (TM + TN + 8) * 16 floats. While an item multiplies two tiles, it loads its
 * part of the next two.
 * Numerics: f32 sums in the order of the inner index, whatever the tile; if the host
 * cuts that index, the sums of its parts.
 * Writes: y whole (added to when add). */
#include "bf16.clh"
#include "matmul.clh"
#include "weights.clh"

#ifndef DOWN
#define DOWN   8
#define ACROSS 16
#define QM     2
#define QN     1
#define TA     0
#define TB     0
#define WIDE   1
#endif

#include "block_sums.clh"

#define TK     16                    // inner indices in local memory at a time
#define A_FILL (TM * TK / 4 / ITEMS) // quads of a tile that an item loads
#define B_FILL (TN * TK / 4 / ITEMS)

#ifndef UNROLL
#define UNROLL 4
#endif

/* Inner and outer index of quad n of a tile with width outer indices. If the inner
 * index is contiguous (turned), neighbouring items take two quads of a row, then the
 * next row: this fills whole sectors and meets every bank once. Else they follow the
 * outer index. */
#define INNER_OF(n, width, turned) \
    ((turned) ? (n) / (2 * (width)) * 8 + (n) % 2 * 4 : (n) / ((width) / 4))
#define OUTER_OF(n, width, turned) \
    ((turned) ? (n) / 2 % (width) : (n) % ((width) / 4) * 4)

/* Returns the offset of a quad. Outer indices past the edge read the last one inside;
 * their results are not stored. */
INLINE uint quad_at(int n, int width, bool turned, int ld, int left)
{
    const int inner = INNER_OF(n, width, turned), outer = OUTER_OF(n, width, turned);
    return turned ? (uint)(min(outer, left - 1) * ld + inner)
                  : (uint)(inner * ld + min(outer, WIDE ? left - 4 : left - 1));
}

/* Loads the four numbers of a quad; without WIDE those past the edge are copies of the
 * last one inside. */
#define QUAD(name, number, READ, READ_QUAD)                                            \
    INLINE float4 name(global const number *x, uint at, int n, int width, bool turned, \
                       int left)                                                       \
    {                                                                                  \
        const int most = turned ? 3 : max(left - 1 - OUTER_OF(n, width, turned), 0);   \
        x += at;                                                                       \
        if (WIDE) {                                                                    \
            return READ_QUAD(x);                                                       \
        }                                                                              \
        return (float4)(READ(x, 0), READ(x, min(1, most)), READ(x, min(2, most)),      \
                        READ(x, min(3, most)));                                        \
    }
#define FLOAT_AT(x, i) ((x)[i])
#define FLOAT_QUAD(x)  (*(global const float4 *)(x))
QUAD(quad, float, FLOAT_AT, FLOAT_QUAD)
#if WEIGHTS
QUAD(quad_of_b, weight, WEIGHT_AT, WEIGHT_QUAD)
#else
#define quad_of_b quad
#endif

/* Stores a quad to a tile in local memory, transposed if turned. */
INLINE void put_quad(local float *to, int n, int width, bool turned, float4 x)
{
    to += INNER_OF(n, width, turned) * (width + 4) + OUTER_OF(n, width, turned);
    if (turned) {
        put_turned(to, width + 4, x);
    } else {
        *(local float4 *)to = x;
    }
}

/* Loads the last inner indices of a tile, rest < TK of them, with zeros past the
 * edges. */
#define FILL_REST(name, number, READ)                                                 \
    INLINE void name(local float *to, global const number *x, int width, bool turned, \
                     int ld, int left, int rest)                                      \
    {                                                                                 \
        for (int n = LANE(0); n < width * TK; n += ITEMS) {                           \
            const int inner = turned ? n % TK : n / width;                            \
            const int outer = turned ? n / TK : n % width;                            \
            const bool inside = inner < rest && outer < left;                         \
            const size_t at =                                                         \
                turned ? (size_t)outer * ld + inner : (size_t)inner * ld + outer;     \
            to[inner * (width + 4) + outer] = inside ? rounded(READ(x, at)) : 0.0f;   \
        }                                                                             \
    }
FILL_REST(fill_rest, float, FLOAT_AT)
#if WEIGHTS
FILL_REST(fill_rest_of_b, weight, WEIGHT_AT)
#else
#define fill_rest_of_b fill_rest
#endif

/* Stores a block of each item to y, as far as its rows x columns are inside, with bias,
 * activation and residual. Blocks pass through local memory, so that neighbouring items
 * store neighbouring columns. Ends with a barrier. */
INLINE void store_blocks(global float *y, global const float *bias,
                         global const float *residual, global const float *scale,
                         local float *blocks, const block *sum, int rows, int columns,
                         const matmul_shape s)
{
    local float4 *mine =
        (local float4 *)blocks + LANE(0) / ACROSS * 4 * ACROSS + LANE(0) % ACROSS;
    mine[0] = sum->r0;
    mine[ACROSS] = sum->r1;
    mine[2 * ACROSS] = sum->r2;
    mine[3 * ACROSS] = sum->r3;
    barrier(CLK_LOCAL_MEM_FENCE);
#if WIDE
    for (int n = LANE(0); n < 4 * ITEMS; n += ITEMS) {
        const int i = n / ACROSS, j = n % ACROSS * 4;
        if (i < rows && j < columns) {
            global float4 *to = (global float4 *)(y + (size_t)i * s.y_ld + j);
            const float4 x = WEIGHT_SCALED4(((local float4 *)blocks)[n], scale, j);
            *to = matmul_tail4(s.add ? *to + x : x, bias ? bias + j : 0,
                               residual ? residual + (size_t)i * s.residual_ld + j : 0,
                               s.activation);
        }
    }
#else
    for (int n = LANE(0); n < 16 * ITEMS; n += ITEMS) {
        const int i = n / (4 * ACROSS), j = n % (4 * ACROSS);
        if (i < rows && j < columns) {
            global float *to = y + (size_t)i * s.y_ld + j;
            const float x = WEIGHT_SCALED(blocks[n], scale, j);
            *to = matmul_tail(s.add ? *to + x : x, bias ? bias + j : 0,
                              residual ? residual + (size_t)i * s.residual_ld + j : 0,
                              s.activation);
        }
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The quads of the next tiles that an item has loaded. They have names, since compilers
 * that unroll late would leave an array in memory; those past A_FILL and B_FILL are not
 * used. */
typedef struct fetched {
    float4 a0, a1, b0, b1, b2, b3;
} fetched;
#define EACH_A(DO) DO(0) DO(1)
#define EACH_B(DO) DO(0) DO(1) DO(2) DO(3)

/* Intel's compiler has too few registers for 8 x 8 results and both tiles where b is
 * turned: its quads are then loaded when they are stored. */
#define LATE_B (TB && QM * QN == 4)

/* Load quads to, and store them from, the kernel's `next`. */
#define FETCH_A(i)                                                                \
    if (i < A_FILL) {                                                             \
        const int n = lid + i * ITEMS;                                            \
        next.a##i = quad(a, quad_at(n, TM, !TA, s.a_ld, rows), n, TM, !TA, rows); \
    }
#define FETCH_B(i)                                                                 \
    if (i < B_FILL) {                                                              \
        const int n = lid + i * ITEMS;                                             \
        next.b##i =                                                                \
            quad_of_b(b, quad_at(n, TN, TB, s.b_ld, columns), n, TN, TB, columns); \
    }
#define PUT_A(i)                                                         \
    if (i < A_FILL) {                                                    \
        put_quad(a_tile, lid + i * ITEMS, TM, !TA, rounded4(next.a##i)); \
    }
#define PUT_B(i)                                                        \
    if (i < B_FILL) {                                                   \
        put_quad(b_tile, lid + i * ITEMS, TN, TB, rounded4(next.b##i)); \
    }

/* Adds the products of the last `rest` < TK columns of op(a). Ends with a barrier. */
INLINE void add_rest(sums *sum, local float *tiles, global const float *a,
                     global const weight *b, int rows, int columns, int rest,
                     const matmul_shape s)
{
    local float *a_tile = tiles, *b_tile = tiles + TK * A_STEP;
    fill_rest(a_tile, a, TM, !TA, s.a_ld, rows, rest);
    fill_rest_of_b(b_tile, b, TN, TB, s.b_ld, columns, rest);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < rest; i++) {
        sums_add(sum, a_tile, b_tile, i);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// y = act(op(a) op(b) + bias) + residual; column j of op(b) is multiplied with scale[j]
// if b has 8 bits. The members of a batch may be parts of one sum (s.part)
WORK_GROUP(ITEMS, 1, 1)
kernel void matmul_group(global float *y, global const float *a, global const weight *b,
                         global const float *bias, global const float *residual,
                         global const float *scale, matmul_shape s)
{
    local float tiles[TK * (A_STEP + B_STEP)] __attribute__((aligned(16)));
    local float *a_tile = tiles, *b_tile = tiles + TK * A_STEP;
    const int across = (s.N + TN - 1) / TN, down = (s.M + TM - 1) / TM;
    const int tile = GROUP(0) % (across * down), lid = LANE(0);
    const size_t batch = GROUP(0) / (across * down);
    const int i0 = tile / across * TM, j0 = tile % across * TN;
    const int rows = s.M - i0, columns = s.N - j0;
    const size_t a_next = TA ? (size_t)TK * s.a_ld : TK;
    const int K = s.part ? min(s.part, s.K - (int)batch * s.part) : s.K;
    const size_t b_next = TB ? TK : (size_t)TK * s.b_ld;
    a += s.a_offset + batch * s.a_stride + (TA ? i0 : (size_t)i0 * s.a_ld);
    b += s.b_offset + batch * s.b_stride + (TB ? (size_t)j0 * s.b_ld : j0);
    sums sum;
    sums_clear(&sum);
    fetched next;
    if (K >= TK) {
        EACH_A(FETCH_A)
        if (!LATE_B) {
            EACH_B(FETCH_B)
        }
    }
    for (int k = TK; TOGETHER(k <= K); k += TK) {
        if (LATE_B) {
            EACH_B(FETCH_B)
        }
        EACH_A(PUT_A)
        EACH_B(PUT_B)
        barrier(CLK_LOCAL_MEM_FENCE);
        a += a_next;
        b += b_next;
        if (k + TK <= K) {
            EACH_A(FETCH_A)
            if (!LATE_B) {
                EACH_B(FETCH_B)
            }
        }
#pragma unroll UNROLL
        for (int i = 0; i < TK; i++) {
            sums_add(&sum, a_tile, b_tile, i);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (K % TK) {
        add_rest(&sum, tiles, a, b, rows, columns, K % TK, s);
    }
    y += s.y_offset + batch * s.y_stride + (size_t)i0 * s.y_ld + j0;
    residual += residual ? s.residual_offset + batch * s.residual_stride +
                               (size_t)i0 * s.residual_ld + j0
                         : 0;
#define STORE(name, i, j)                                                       \
    store_blocks(y + (size_t)(i * 4 * DOWN) * s.y_ld + j * 4 * ACROSS,          \
                 bias ? bias + j0 + j * 4 * ACROSS : 0,                         \
                 residual ? residual + (size_t)(i * 4 * DOWN) * s.residual_ld + \
                                j * 4 * ACROSS                                  \
                          : 0,                                                  \
                 scale ? scale + j0 + j * 4 * ACROSS : 0, tiles, &sum.name,     \
                 rows - i * 4 * DOWN, columns - j * 4 * ACROSS, s);
    EACH_BLOCK(STORE)
}

// y = act(y + bias) + residual, for a product that is in y already
WORK_GROUP(64, 1, 1)
kernel void matmul_finish(global float *y, global const float *bias,
                          global const float *residual, matmul_shape s)
{
    const int blocks = (s.N + 63) / 64;
    const int j = GROUP(0) % blocks * 64 + LANE(0);
    const int i = GROUP(0) / blocks % s.M;
    const size_t batch = GROUP(0) / blocks / s.M;
    const size_t at = s.y_offset + batch * s.y_stride + (size_t)i * s.y_ld + j;
    const size_t added =
        s.residual_offset + batch * s.residual_stride + (size_t)i * s.residual_ld + j;
    if (j < s.N) {
        y[at] = matmul_tail(y[at], bias ? bias + j : 0, residual ? residual + added : 0,
                            s.activation);
    }
}
