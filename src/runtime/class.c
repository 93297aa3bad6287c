/* class.c - built-in tuning constants for classes of devices.
 *
 * A class is a vendor's GPUs, any other GPU, or a CPU device. The GPUs' constants come
 * from the machine code that the vendors' compilers generate. CLATTN_CLASS=amd, intel,
 * nvidia, gpu or cpu overrides the class, so that any device can run the kernels of
 * another class. The imitated GPU of CLATTN_RECORD has no vendor, whatever the host. */
#include <string.h>

#include "base/platform.h"
#include "runtime/internal.h"

typedef struct constant {
    const char *name, *key;
    cla_device_class class;
    int value;
} constant;

/* Constants that differ from the fallback that the operator passes to cla_tuned. CPU
 * devices run work-group kernels in tests only: small tiles compile faster there. */
static const constant CONSTANTS[] = {
    { "attention", "QUADS", CLA_CLASS_CPU, 1 },
    { "attention", "ROWS", CLA_CLASS_CPU, 32 },
    { "attention", "UNROLL", CLA_CLASS_CPU, 1 },
    { "attention", "QUADS", CLA_CLASS_AMD, 1 }, // 2 spills, and leaves one wave a SIMD
    { "attention", "BOTH", CLA_CLASS_AMD, 0 },
    { "attention", "UNROLL", CLA_CLASS_AMD, 16 },
    { "attention", "QUADS", CLA_CLASS_INTEL, 1 },
    { "attention", "BOTH", CLA_CLASS_INTEL, 0 },
    { "attention", "AHEAD", CLA_CLASS_NVIDIA, 1 }, // others lose waves or spill
    { "attention", "BOTH", CLA_CLASS_NVIDIA, 64 },
    { "attention", "UNROLL", CLA_CLASS_NVIDIA, 2 },
    { "custom_attention", "BOTH", CLA_CLASS_AMD, 64 }, // one pass of the expression
    { "custom_attention", "BOTH", CLA_CLASS_INTEL, 0 },
    { "custom_attention", "BOTH", CLA_CLASS_NVIDIA, 64 },
    { "band_attention", "ROWS", CLA_CLASS_CPU, 32 },
    { "band_attention", "UNROLL", CLA_CLASS_CPU, 1 },
    { "band_attention_2d", "ROWS", CLA_CLASS_CPU, 32 },
    { "band_attention_2d", "UNROLL", CLA_CLASS_CPU, 1 },
    { "matmul_group", "SIDE", CLA_CLASS_CPU, 32 },
    { "matmul_group", "UNROLL", CLA_CLASS_CPU, 1 },
    { "matmul_group", "UNROLL", CLA_CLASS_AMD, 16 },
    { "matmul_group", "ITEMS", CLA_CLASS_INTEL, 32 }, // its units are vector engines
    { "matmul_group", "UNROLL", CLA_CLASS_NVIDIA, 2 },
};

enum { COUNT = sizeof CONSTANTS / sizeof *CONSTANTS };

static cla_device_class class_of(const cla_runtime *rt)
{
    enum { AMD = 0x1002, INTEL = 0x8086, NVIDIA = 0x10de }; // PCI vendors
    cl_uint vendor = 0;
    if (rt->record) {
        return CLA_CLASS_GPU;
    }
    clGetDeviceInfo(rt->id, CL_DEVICE_VENDOR_ID, sizeof vendor, &vendor, NULL);
    const cla_device_kind kind = rt->device.kind;
    if (kind != CLA_DEVICE_GPU && kind != CLA_DEVICE_INTEGRATED) {
        return CLA_CLASS_CPU;
    }
    return vendor == AMD      ? CLA_CLASS_AMD
           : vendor == INTEL  ? CLA_CLASS_INTEL
           : vendor == NVIDIA ? CLA_CLASS_NVIDIA
                              : CLA_CLASS_GPU;
}

cla_status cla_class_init(cla_runtime *rt)
{
    static const char *const names[] = { "cpu", "gpu", "amd", "intel", "nvidia" };
    const char *text = cla_os_getenv("CLATTN_CLASS");
    rt->class = class_of(rt);
    if (!text || !*text) {
        return CLA_OK;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (cla_equals_nocase(text, names[i])) {
            rt->class = (cla_device_class)i;
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_USAGE,
                    "CLATTN_CLASS is '%s', must be cpu, gpu, amd, intel or nvidia",
                    text);
}

int cla_class_constant(const cla_runtime *rt, const char *name, const char *key,
                       int fallback)
{
    for (int i = 0; i < COUNT; i++) {
        const constant *c = &CONSTANTS[i];
        if (c->class == rt->class && !strcmp(c->name, name) && !strcmp(c->key, key)) {
            return c->value;
        }
    }
    return fallback;
}
