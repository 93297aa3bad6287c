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

/* Returns whether this process may use tiles, with an instruction of leaf 7. */
static bool has_tiles(uint32_t instruction)
{
    enum { STATE = 0x60000, TILE = 1 << 24 };
    features f;
    return read_features(&f) && (f.state & STATE) == STATE && f.d7 & instruction &&
           f.d7 & TILE && cla_os_allow_tiles();
}

bool cla_processor_amx(void)
{
    return has_tiles(1 << 22);
}

bool cla_processor_amx_bytes(void)
{
    return has_tiles(1 << 25);
}

bool cla_processor_vnni(int width)
{
    enum { STATE = 6, STATE512 = 0xe6, VNNI = 1 << 4, VNNI512 = 1 << 11 };
    features f;
    if (!read_features(&f)) {
        return false;
    }
    return width == 16 ? (f.state & STATE512) == STATE512 && f.c7 & VNNI512
                       : width == 8 && (f.state & STATE) == STATE && f.more & VNNI;
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

bool cla_processor_amx_bytes(void)
{
    return false;
}

bool cla_processor_vnni(int width)
{
    (void)width;
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
