/* matmul.cl - products by work-groups with local memory.
 *
 * Layout: row-major matrices, each with an offset, a row stride and a batch stride.
 * Work-group: 16 x 16 items to a tile of TM x 64 of the result; an item has TM/16 x 4
 * of it. One dimension counts tiles and matrices: some devices allow few groups in
 * others.
 * Defines: TM, 16 or 64.
 * Local: (TM + 68) * 16 floats.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: y whole (added to when add). */
#include "matmul.clh"

#ifndef TM
#define TM 64
#endif

#define TN     64
#define TK     16        // inner indices in local memory at a time
#define ROWS   (TM / 16) // of an item
#define ITEMS  256
#define A_STEP (TM + 4) // odd multiples of 4: columns fall into different banks
#define B_STEP (TN + 4)

/* A tile of width outer and TK inner indices as [TK][step], zeros beyond the edges. The
 * items read neighbours in memory: along the inner index where that is contiguous. */
inline void load_tile(local float *to, int step, int width, global const float *from,
                      int ld, bool inner_contiguous, int outer_left, int inner_left,
                      int lid)
{
    for (int i = lid; i < width * TK; i += ITEMS) {
        const int outer = inner_contiguous ? i / TK : i % width;
        const int inner = inner_contiguous ? i % TK : i / width;
        const size_t at =
            inner_contiguous ? (size_t)outer * ld + inner : (size_t)inner * ld + outer;
        to[inner * step + outer] =
            outer < outer_left && inner < inner_left ? from[at] : 0.0f;
    }
}

// y = act(op(a) op(b) + bias) + residual
WORK_GROUP(16, 16, 1)
kernel void matmul_group(global float *y, global const float *a, global const float *b,
                         global const float *bias, global const float *residual,
                         matmul_shape s)
{
    local float a_tile[TK * A_STEP], b_tile[TK * B_STEP];
    const int across = (s.N + TN - 1) / TN, down = (s.M + TM - 1) / TM;
    const int tile = GROUP(0) % (across * down);
    const size_t batch = GROUP(0) / (across * down);
    const int i0 = tile / across * TM, j0 = tile % across * TN;
    const int x = LANE(0), row = LANE(1) * ROWS, lid = LANE(1) * 16 + x;
    a += s.a_offset + batch * s.a_stride + (s.transpose_a ? i0 : (size_t)i0 * s.a_ld);
    b += s.b_offset + batch * s.b_stride + (s.transpose_b ? (size_t)j0 * s.b_ld : j0);
    float4 sum[ROWS];
    for (int r = 0; r < ROWS; r++) {
        sum[r] = (float4)(0.0f);
    }
    for (int k0 = 0; k0 < s.K; k0 += TK) {
        load_tile(a_tile, A_STEP, TM, a + (s.transpose_a ? (size_t)k0 * s.a_ld : k0),
                  s.a_ld, !s.transpose_a, s.M - i0, s.K - k0, lid);
        load_tile(b_tile, B_STEP, TN, b + (s.transpose_b ? k0 : (size_t)k0 * s.b_ld),
                  s.b_ld, s.transpose_b, s.N - j0, s.K - k0, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TK; k++) {
            const float4 bk = vload4(x, b_tile + k * B_STEP);
            for (int r = 0; r < ROWS; r++) {
                sum[r] += a_tile[k * A_STEP + row + r] * bk;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = 0; r < ROWS; r++) {
        const float part[4] = { sum[r].x, sum[r].y, sum[r].z, sum[r].w };
        const int i = i0 + row + r;
        for (int c = 0; c < 4; c++) {
            const int j = j0 + 4 * x + c;
            if (i < s.M && j < s.N) {
                const size_t at =
                    s.y_offset + batch * s.y_stride + (size_t)i * s.y_ld + j;
                const size_t added = s.residual_offset + batch * s.residual_stride +
                                     (size_t)i * s.residual_ld + j;
                y[at] =
                    matmul_tail(s.add ? y[at] + part[c] : part[c], bias ? bias + j : 0,
                                residual ? residual + added : 0, s.activation);
            }
        }
    }
}

// the tail alone, over a product that stands in y
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
