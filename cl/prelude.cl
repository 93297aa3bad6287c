/* prelude.cl - compiled in front of every kernel file.
 *
 * OpenCL C 1.2 without extensions. Kernels find their group with GROUP(dim): the host
 * may split a long launch, and get_group_id would start from 0 again. GROUP uses no
 * item's number, so that compilers see one value for the whole group. */
#include "builtins.clh"

#define WORK_GROUP(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#define GROUP(dim) \
    ((int)(get_group_id(dim) + get_global_offset(dim) / get_local_size(dim)))
#define LANE(dim) ((int)get_local_id(dim))

/* Goes in front of every function that is no kernel. A plain `inline` function gives no
 * definition for the calls that a compiler leaves (C99), and drivers then stop at an
 * undefined function. PoCL 3.1 crashes on a plain `static` one in some nests of
 * unrolled loops, and compiles vector functions that stay out of line for registers
 * half as wide. */
#ifndef INLINE
#define INLINE static inline __attribute__((always_inline))
#endif

#include "not_finite.clh"

/* The condition of a loop with barriers that may end before its first round. LLVM puts
 * an `if` in front of such a loop, and PoCL copies the code that follows for every path
 * through the `if`s: with four of them a kernel takes five times as long to compile. A
 * barrier in the loop's head keeps LLVM from it; other drivers get none. */
#ifdef OWN_BUILTINS
#define TOGETHER(condition) (barrier(CLK_LOCAL_MEM_FENCE), condition)
#else
#define TOGETHER(condition) (condition)
#endif

#include "activation.clh"

/* No finite score is lower: maxima of scores begin here. */
#define SCORE_MIN (-3.402823466e+38f)

/* a b + c in one instruction. PoCL compiles mad to two; fma would be a call on devices
 * without the instruction. */
#if defined(FP_FAST_FMAF) || defined(__FMA__)
#define multiply_add fma
#else
#define multiply_add mad
#endif

/* Returns the sum (or maximum) of one value an item over a group of wg items, wg a
 * power of two. Every item calls it; scratch holds wg floats. Ends with a barrier, so
 * the scratch may be used again at once. */
#define GROUP_REDUCE(name, combine)                                     \
    INLINE float name(float x, local float *scratch, int lid, int wg)   \
    {                                                                   \
        scratch[lid] = x;                                               \
        barrier(CLK_LOCAL_MEM_FENCE);                                   \
        for (int s = wg / 2; s > 0; s /= 2) {                           \
            if (lid < s) {                                              \
                scratch[lid] = combine(scratch[lid], scratch[lid + s]); \
            }                                                           \
            barrier(CLK_LOCAL_MEM_FENCE);                               \
        }                                                               \
        const float result = scratch[0];                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                   \
        return result;                                                  \
    }
INLINE float combine_sum(float a, float b)
{
    return a + b;
}
GROUP_REDUCE(group_sum, combine_sum)
GROUP_REDUCE(group_max, larger)

/* Returns four random words for a counter under a key, by Philox4x32-10 (Salmon et al.
 * 2011): the same words as Random123 gives on the host (tests/runtime/prelude.c). */
INLINE uint4 philox(uint4 c, uint2 k)
{
    for (int round = 0; round < 10; round++) {
        const uint hi0 = mul_hi(0xD2511F53u, c.x), lo0 = 0xD2511F53u * c.x;
        const uint hi1 = mul_hi(0xCD9E8D57u, c.z), lo1 = 0xCD9E8D57u * c.z;
        c = (uint4)(hi1 ^ c.y ^ k.x, lo1, hi0 ^ c.w ^ k.y, lo0);
        k += (uint2)(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

/* Returns a word as a float in [0,1), on a grid of 2^-24. */
INLINE float uniform(uint word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Returns the dropout factors of the attention weights of keys 4*j4 .. 4*j4+3: 1/(1-p)
 * if kept, else 0. token is the query's row in the batch, head its head (2-D: also the
 * area's), so the draw depends on nothing else. */
INLINE float4 dropout_keep(float p, uint seed, uint step, uint stream, uint token,
                           uint head, uint j4)
{
    const uint4 r = philox((uint4)(j4, token, head, stream), (uint2)(seed, step));
    const float4 u = (float4)(uniform(r.x), uniform(r.y), uniform(r.z), uniform(r.w));
    return select((float4)(0.0f), (float4)(1.0f / (1.0f - p)), u >= p);
}
