/* matmul_bytes_group.cl - matrix products of numbers of 8 bits for GPUs: equation and
 * source as in matmul_bytes.cl.
 *
 * Layout: a [M,K], y and residual [M,N] row-major, with strides; q [M,quads] of four
 * numbers each, zeros behind the last; weights as they are stored.
 * Work-group: WG items. matmul_bytes_rows: a row. matmul_bytes_group: HIGH x WIDE
 * results. matmul_bytes_few, for at most FEW rows: COLUMNS columns, SLICES items to
 * each.
 * Defines: DOTS, 1 if the device is NVIDIA's from sm_80 on, whose instruction for four
 * products has no function.
 * Local: 6 KiB.
 * Numerics: as matmul_bytes.cl; the sums are whole numbers, so their order is free.
 * Writes: q, row_scale and y whole. */
#include "bytes_dot.clh"
#include "bytes_row.clh"
#include "matmul.clh"

#define WG   128
#define HIGH 32
#define WIDE 64
#define DEEP 16 // quads of a step
#define LINE (DEEP + 1)

#define FEW     8
#define COLUMNS 16
#define SLICES  (WG / COLUMNS)

/* ---- rows ------------------------------------------------------------------------ */

// q = round(a / r), r [M] = max |a| / 127 of each row, NaN if it is not finite
WORK_GROUP(WG, 1, 1)
kernel void matmul_bytes_rows(global int *restrict q, global float *restrict row_scale,
                              global const float *restrict a, matmul_shape s)
{
    local float high[WG], odd[WG];
    const int row = GROUP(0), quads = (s.K + 3) / 4, lane = LANE(0);
    float top = 0.0f, rest = 0.0f;
    a += s.a_offset + (size_t)row * s.a_ld;
    for (int k = lane; k < s.K; k += WG) {
        top = fmax(top, fabs(a[k]));
        rest += a[k] * 0.0f;
    }
    high[lane] = top;
    odd[lane] = rest;
    for (int n = WG / 2; n > 0; n /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < n) {
            high[lane] = fmax(high[lane], high[lane + n]);
            odd[lane] += odd[lane + n];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float largest = high[0];
    const bool finite = odd[0] == 0.0f;
    const float factor = row_factor(largest);
    for (int k = 4 * lane; k < s.K; k += 4 * WG) {
        char four[4];
        for (int i = 0; i < 4; i++) {
            const bool inside = finite && k + i < s.K;
            four[i] = inside ? row_byte(a[k + i], factor) : 0;
        }
        q[(size_t)row * quads + k / 4] =
            as_int((char4)(four[0], four[1], four[2], four[3]));
    }
    if (lane == 0) {
        row_scale[row] = finite ? largest / 127.0f : NAN;
    }
}

/* ---- products -------------------------------------------------------------------- */

/* Returns four inner indices of column j of op(b), zeros outside. */
INLINE int right_quad(global const char *b, const matmul_shape s, int j, int quad)
{
    const int k = 4 * quad;
    const size_t along = s.transpose_b ? 1 : s.b_ld;
    char4 x = (char4)(0);
    if (j < s.N && k + 4 <= s.K) {
        b += (size_t)k * along + (size_t)j * (s.transpose_b ? s.b_ld : 1);
        x = (char4)(b[0], b[along], b[2 * along], b[3 * along]);
    } else if (j < s.N && k < s.K) {
        b += (size_t)k * along + (size_t)j * (s.transpose_b ? s.b_ld : 1);
        x.s0 = b[0];
        x.s1 = k + 1 < s.K ? b[along] : 0;
        x.s2 = k + 2 < s.K ? b[2 * along] : 0;
    }
    return as_int(x);
}

INLINE void store_sum(global float *y, global const float *bias,
                      global const float *residual, const matmul_shape s, int i, int j,
                      float sum)
{
    y[s.y_offset + (size_t)i * s.y_ld + j] = matmul_tail(
        sum, bias ? bias + j : 0,
        residual ? residual + s.residual_offset + (size_t)i * s.residual_ld + j : 0,
        s.activation);
}

// y = act(q(a) op(b) + bias) + residual
WORK_GROUP(WG, 1, 1)
kernel void matmul_bytes_group(global float *y, global const int *q,
                               global const float *row_scale, global const char *b,
                               global const float *bias, global const float *residual,
                               global const float *scale, matmul_shape s)
{
    local int left[HIGH * LINE], right[WIDE * LINE];
    const int across = (s.N + WIDE - 1) / WIDE, quads = (s.K + 3) / 4;
    const int i0 = GROUP(0) / across * HIGH, j0 = GROUP(0) % across * WIDE;
    const int tx = LANE(0) % 16, ty = LANE(0) / 16;
    int sum[4][4] = { { 0 } };
    b += s.b_offset;
    for (int k = 0; k < quads; k += DEEP) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int n = LANE(0); n < HIGH * DEEP; n += WG) {
            const int r = n / DEEP, c = n % DEEP;
            const bool inside = i0 + r < s.M && k + c < quads;
            left[r * LINE + c] = inside ? q[(size_t)(i0 + r) * quads + k + c] : 0;
        }
        for (int n = LANE(0); n < WIDE * DEEP; n += WG) {
            const int r = s.transpose_b ? n / DEEP : n % WIDE;
            const int c = s.transpose_b ? n % DEEP : n / WIDE;
            right[r * LINE + c] = right_quad(b, s, j0 + r, k + c);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int c = 0; c < DEEP; c++) {
            int x[4], z[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                x[u] = left[(ty + 8 * u) * LINE + c];
                z[u] = right[(tx + 16 * u) * LINE + c];
            }
#pragma unroll
            for (int u = 0; u < 16; u++) {
                sum[u / 4][u % 4] = dot_four(x[u / 4], z[u % 4], sum[u / 4][u % 4]);
            }
        }
    }
#pragma unroll
    for (int u = 0; u < 16; u++) {
        const int i = i0 + ty + 8 * (u / 4), j = j0 + tx + 16 * (u % 4);
        if (i < s.M && j < s.N) {
            store_sum(y, bias, residual, s, i, j,
                      (float)sum[u / 4][u % 4] * (scale[j] * row_scale[i]));
        }
    }
}

// the same for at most FEW rows
WORK_GROUP(WG, 1, 1)
kernel void matmul_bytes_few(global float *y, global const int *q,
                             global const float *row_scale, global const char *b,
                             global const float *bias, global const float *residual,
                             global const float *scale, matmul_shape s)
{
    local int parts[FEW * WG];
    const int lane = LANE(0), quads = (s.K + 3) / 4;
    // neighbouring items read neighbouring numbers
    const int column = s.transpose_b ? lane / SLICES : lane % COLUMNS;
    const int slice = s.transpose_b ? lane % SLICES : lane / COLUMNS;
    const int j = GROUP(0) * COLUMNS + column;
    int sum[FEW] = { 0 };
    b += s.b_offset;
    for (int k = slice; k < quads; k += SLICES) {
        const int z = right_quad(b, s, j, k);
#pragma unroll
        for (int i = 0; i < FEW; i++) {
            sum[i] = i < s.M ? dot_four(q[(size_t)i * quads + k], z, sum[i]) : 0;
        }
    }
#pragma unroll
    for (int i = 0; i < FEW; i++) {
        parts[(i * SLICES + slice) * COLUMNS + column] = sum[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int row = lane / COLUMNS, to = GROUP(0) * COLUMNS + lane % COLUMNS;
    int all = 0;
    for (int n = 0; n < SLICES; n++) {
        all += parts[(row * SLICES + n) * COLUMNS + lane % COLUMNS];
    }
    if (row < s.M && to < s.N) {
        store_sum(y, bias, residual, s, row, to,
                  (float)all * (scale[to] * row_scale[row]));
    }
}
