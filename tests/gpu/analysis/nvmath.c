/* nvmath.c - what NVIDIA's driver gives OpenCL C and libclc does not: functions out of
 * libdevice under OpenCL's names, for float, float2 and float4, and the offset of a
 * launch. Linked in front of libclc, whose own functions are longer. */
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));

float __nv_cosf(float), __nv_cospif(float), __nv_exp2f(float), __nv_expf(float),
    __nv_expm1f(float), __nv_fast_expf(float), __nv_fast_logf(float),
    __nv_log1pf(float), __nv_log2f(float), __nv_logf(float), __nv_sinf(float),
    __nv_sinpif(float), __nv_tanhf(float);

#define MATH(length, name, nv)                                     \
    float cl_##name(float) __asm__("_Z" #length #name "f");        \
    float cl_##name(float x)                                       \
    {                                                              \
        return nv(x);                                              \
    }                                                              \
    float2 cl2_##name(float2) __asm__("_Z" #length #name "Dv2_f"); \
    float2 cl2_##name(float2 x)                                    \
    {                                                              \
        return (float2){ nv(x.x), nv(x.y) };                       \
    }                                                              \
    float4 cl4_##name(float4) __asm__("_Z" #length #name "Dv4_f"); \
    float4 cl4_##name(float4 x)                                    \
    {                                                              \
        return (float4){ nv(x.x), nv(x.y), nv(x.z), nv(x.w) };     \
    }

static float fast_exp2(float x)
{
    return __nvvm_ex2_approx_f(x);
}
static float fast_log2(float x)
{
    return __nvvm_lg2_approx_f(x);
}
MATH(3, exp, __nv_expf)
MATH(4, exp2, __nv_exp2f)
MATH(3, log, __nv_logf)
MATH(4, log2, __nv_log2f)
MATH(5, log1p, __nv_log1pf)
MATH(5, expm1, __nv_expm1f)
MATH(4, tanh, __nv_tanhf)
MATH(3, sin, __nv_sinf)
MATH(3, cos, __nv_cosf)
MATH(5, cospi, __nv_cospif)
MATH(5, sinpi, __nv_sinpif)
MATH(10, native_exp, __nv_fast_expf)
MATH(11, native_exp2, fast_exp2)
MATH(10, native_log, __nv_fast_logf)
MATH(11, native_log2, fast_log2)

/* The driver keeps the launch's offset in registers of its own. */
unsigned long cl_offset(unsigned int dim) __asm__("_Z17get_global_offsetj");
unsigned long cl_offset(unsigned int dim)
{
    unsigned int x, y, z;
    __asm__("mov.u32 %0, %%envreg3;" : "=r"(x));
    __asm__("mov.u32 %0, %%envreg4;" : "=r"(y));
    __asm__("mov.u32 %0, %%envreg5;" : "=r"(z));
    return dim == 0 ? x : dim == 1 ? y : z;
}
