/* processor.c - asks the processor for its instruction sets. */
#include "base/processor.h"

#include <stdio.h>

#include "base/platform.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* The bits of state that the system saves for a thread (XGETBV): without it the wide
 * registers cannot be used, whatever the processor has. */
static uint32_t saved_state(uint32_t leaf1_ecx)
{
    uint32_t low = 0, high = 0;
    if (leaf1_ecx & bit_OSXSAVE) {
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    }
    return low;
}

void cla_processor_features(char text[CLA_PROCESSOR_TEXT])
{
    uint32_t a = 0, b = 0, c = 0, d = 0, wide[3] = { 0 }, more = 0;
    *text = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) {
        return;
    }
    const uint32_t base[] = { c, d };
    const uint32_t state = saved_state(c);
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        wide[0] = b, wide[1] = c, wide[2] = d;
        more = __get_cpuid_count(7, 1, &a, &b, &c, &d) ? a : 0;
    }
    snprintf(text, CLA_PROCESSOR_TEXT, "%08x%08x%08x%08x%08x%08x%08x", base[0], base[1],
             wide[0], wide[1], wide[2], more, state);
}

/* What leaf 7 says, where the system keeps the registers that `needed` stands for. */
typedef struct leaf7 {
    uint32_t b, c, d, more; // more: EAX of its second part
} leaf7;

static bool read_leaf7(uint32_t needed, leaf7 *out)
{
    uint32_t a = 0, b = 0, c = 0, d = 0;
    *out = (leaf7){ 0 };
    if (!__get_cpuid(1, &a, &b, &c, &d) || (saved_state(c) & needed) != needed ||
        !__get_cpuid_count(7, 0, &a, &out->b, &out->c, &out->d)) {
        return false;
    }
    out->more = __get_cpuid_count(7, 1, &a, &b, &c, &d) ? a : 0;
    return true;
}

bool cla_processor_amx(void)
{
    enum { STATE = 0x60000, BF16 = 1 << 22, TILE = 1 << 24 };
    leaf7 has;
    return read_leaf7(STATE, &has) && has.d & BF16 && has.d & TILE &&
           cla_os_allow_tiles();
}

bool cla_processor_bf16(void)
{
    enum { STATE = 0xe6, AVX512F = 1 << 16, BF16 = 1 << 5 };
    leaf7 has;
    return read_leaf7(STATE, &has) && has.b & AVX512F && has.more & BF16;
}

#else

bool cla_processor_amx(void)
{
    return false;
}

bool cla_processor_bf16(void)
{
    return false;
}

void cla_processor_features(char text[CLA_PROCESSOR_TEXT])
{
    *text = 0;
}

#endif
