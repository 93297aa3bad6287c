/* breaker.cl - kernels that break the budgets of GPUs on purpose, and one that holds
 * them: a test of tests/gpu/analysis/report.py.
 *
 * Defines: LIVE, numbers that an item holds at the same time. */
#ifndef LIVE
#define LIVE 8
#endif

/* y = the sum of LIVE numbers times themselves in the reverse order: all are needed at
 * the end. */
__attribute__((reqd_work_group_size(64, 1, 1))) kernel void hold(
    global float *restrict y, global const float *restrict x)
{
    float a[LIVE];
    const size_t i = get_global_id(0);
#pragma unroll
    for (int n = 0; n < LIVE; n++) {
        a[n] = x[i * LIVE + n];
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    float sum = 0.0f;
    for (int round = 0; round < (int)y[i]; round++) {
#pragma unroll
        for (int n = 0; n < LIVE; n++) {
            sum = mad(a[n], a[LIVE - 1 - n], sum);
            a[n] = sum;
        }
    }
    y[i] = sum;
}

#if LIVE == 9 // a program of its own: a call counts for all of its kernels
__attribute__((noinline)) static float apart(float x)
{
    return x * x + 1.0f;
}

/* A call that stays one. */
__attribute__((reqd_work_group_size(64, 1, 1))) kernel void call(
    global float *restrict y)
{
    y[get_global_id(0)] = apart(y[get_global_id(0)]);
}
#endif

/* A place in a private array that is known at run time only, and 40 KiB of local
 * memory. */
__attribute__((reqd_work_group_size(64, 1, 1))) kernel void place(
    global float *restrict y, global const int *restrict at)
{
    local float big[10240];
    float a[64];
    for (int n = 0; n < 64; n++) {
        a[n] = y[n + at[n]];
    }
    a[at[64] & 63] = 1.0f;
    for (int n = (int)get_local_id(0); n < 10240; n += 64) {
        big[n] = a[(at[n] + n) & 63];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = big[at[get_global_id(0)]];
}
