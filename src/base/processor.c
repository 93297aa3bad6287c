/* processor.c - asks the processor for its instruction sets. */
#include "base/processor.h"

#include <stdio.h>

#include "base/platform.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* What CPUID tells of instruction sets, and the bits of state that the system saves for
 * a thread (XGETBV): without it the wide registers cannot be used, whatever the
 * processor has. All 0 where there is no way to ask. */
typedef struct features {
    uint32_t c1, d1;     // leaf 1
    uint32_t b7, c7, d7; // leaf 7
    uint32_t more;       // its second part
    uint32_t state;
} features;

static bool read_features(features *f)
{
    uint32_t a = 0, b = 0, c = 0, d = 0;
    *f = (features){ 0 };
    if (!__get_cpuid(1, &a, &b, &f->c1, &f->d1)) {
        return false;
    }
    if (f->c1 & bit_OSXSAVE) {
        __asm__("xgetbv" : "=a"(f->state), "=d"(d) : "c"(0));
    }
    if (__get_cpuid_count(7, 0, &a, &f->b7, &f->c7, &f->d7)) {
        f->more = __get_cpuid_count(7, 1, &a, &b, &c, &d) ? a : 0;
    }
    return true;
}

void cla_processor_features(char text[CLA_PROCESSOR_TEXT])
{
    features f;
    *text = 0;
    if (read_features(&f)) {
        snprintf(text, CLA_PROCESSOR_TEXT, "%08x%08x%08x%08x%08x%08x%08x", f.c1, f.d1,
                 f.b7, f.c7, f.d7, f.more, f.state);
    }
}

bool cla_processor_amx(void)
{
    enum { STATE = 0x60000, BF16 = 1 << 22, TILE = 1 << 24 };
    features f;
    return read_features(&f) && (f.state & STATE) == STATE && f.d7 & BF16 &&
           f.d7 & TILE && cla_os_allow_tiles();
}

bool cla_processor_bf16(void)
{
    enum { STATE = 0xe6, AVX512F = 1 << 16, BF16 = 1 << 5 };
    features f;
    return read_features(&f) && (f.state & STATE) == STATE && f.b7 & AVX512F &&
           f.more & BF16;
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
