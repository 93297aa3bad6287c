/* device_read.c - reads a device's properties and checks that they are plausible. */
#define CL_TARGET_OPENCL_VERSION 120
#include <stdio.h>
#include <string.h>

#include <CL/cl_ext.h>

#include "base/text.h"
#include "runtime/device.h"

void cla_device_trim(char *out, size_t size, const char *text)
{
    text += strspn(text, " \t\n");
    snprintf(out, size, "%s", text);
    for (size_t end = strlen(out); end > 0 && strchr(" \t\n", out[end - 1]);) {
        out[--end] = '\0';
    }
}

/* Reads a text. Returns false if the driver reports none or an empty one. */
static bool device_text(cl_device_id id, cl_device_info what, char *out, size_t size)
{
    char text[4096] = "";
    if (clGetDeviceInfo(id, what, sizeof text - 1, text, NULL)) text[0] = '\0';
    cla_device_trim(out, size, text);
    return *out != '\0';
}

/* Reads a number of 4 or 8 bytes. Returns false on failure. */
static bool device_number(cl_device_id id, cl_device_info what, cl_ulong *value)
{
    cl_uint half;
    unsigned char bytes[sizeof *value];
    size_t size = 0;
    if (clGetDeviceInfo(id, what, sizeof bytes, bytes, &size)) return false;
    if (size == sizeof *value) memcpy(value, bytes, size);
    if (size != sizeof half) return size == sizeof *value;
    memcpy(&half, bytes, sizeof half);
    *value = half;
    return true;
}

/* Returns the driver's value of an optional property if in 1 to most, else standard. */
static cl_ulong number_or(cl_device_id id, cl_device_info what, cl_ulong most,
                          cl_ulong standard)
{
    cl_ulong value;
    const bool read = device_number(id, what, &value);
    return read && value >= 1 && value <= most ? value : standard;
}

/* Reads the extensions, of which there can be many; "" if that fails. */
static cla_status device_extensions(cl_device_id id, char **out)
{
    enum { MOST = 1 << 20 };
    size_t size = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) || size > MOST) {
        size = 0;
    }
    CLA_TRY(cla_alloc(out, size + 1, 1));
    if (size && clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, *out, NULL))
        **out = '\0';
    return CLA_OK;
}

static void read_uuid(cl_device_id id, char out[33])
{
    unsigned char bytes[CL_UUID_SIZE_KHR];
    if (clGetDeviceInfo(id, CL_DEVICE_UUID_KHR, sizeof bytes, bytes, NULL)) return;
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* Names the matrix unit of a GPU, by what its vendor's extensions tell: NVIDIA's
 * compute capability, and the generation of AMD's instructions. The tenth generation
 * has none; of the ninth a kernel finds out when it is compiled. */
static void read_matrix_unit(cl_device_id id, const char *extensions, cla_device *d)
{
    enum { CAPABILITY = 0x4000, GENERATION = 0x404a, CDNA = 9, RDNA3 = 11 };
    const bool card = d->kind == CLA_DEVICE_GPU || d->kind == CLA_DEVICE_INTEGRATED;
    const char *name = "";
    if (cla_contains_nocase(extensions, "cl_nv_device_attribute_query")) {
        name = number_or(id, CAPABILITY, 99, 1) >= 8 ? "mma" : "";
    } else if (cla_contains_nocase(extensions, "cl_amd_device_attribute_query")) {
        const cl_ulong generation = number_or(id, GENERATION, 99, 1);
        name = generation == CDNA ? "mfma" : generation == RDNA3 ? "wmma" : "";
    } else if (cla_contains_nocase(extensions,
                                   "cl_intel_subgroup_matrix_multiply_accumulate")) {
        name = "dpas";
    }
    snprintf(d->matrix_unit, sizeof d->matrix_unit, "%s", card ? name : "");
}

static cla_status read_extensions(cl_device_id id, cla_device *d)
{
    char *extensions;
    CLA_TRY(device_extensions(id, &extensions));
    d->fp16 = cla_contains_nocase(extensions, "cl_khr_fp16");
    d->subgroups = cla_contains_nocase(extensions, "cl_khr_subgroups") ||
                   cla_contains_nocase(extensions, "cl_intel_subgroups");
    if (cla_contains_nocase(extensions, "cl_khr_device_uuid")) read_uuid(id, d->uuid);
    read_matrix_unit(id, extensions, d);
    free(extensions);
    return CLA_OK;
}

static void need_text(cl_device_id id, cl_device_info what, const char *name, char *out,
                      size_t size, char *fault)
{
    if (!device_text(id, what, out, size)) {
        snprintf(fault, CLA_DEVICE_FAULT, "cannot read its %s", name);
    }
}

/* Reads a number from 1 to most; another one is absurd, and named in fault. */
static cl_ulong need_number(cl_device_id id, cl_device_info what, const char *name,
                            cl_ulong most, char *fault)
{
    cl_ulong value = 0;
    if (!device_number(id, what, &value)) {
        snprintf(fault, CLA_DEVICE_FAULT, "cannot read its %s", name);
    } else if (value == 0 || value > most) {
        snprintf(fault, CLA_DEVICE_FAULT, "its %s is %llu", name,
                 (unsigned long long)value);
    }
    return value;
}

/* Reads the properties without a default, and returns the type. Plans, limits, kernels
 * and names of binaries follow from them: a wrong one gives wrong results. */
static cl_device_type read_needed(cl_device_id id, cla_device *d, char *fault)
{
    enum { UNITS = 1 << 20, LANES = 1024 };
    need_text(id, CL_DEVICE_NAME, "name", d->name, sizeof d->name, fault);
    need_text(id, CL_DRIVER_VERSION, "driver version", d->driver, sizeof d->driver,
              fault);
    need_text(id, CL_DEVICE_VERSION, "version", d->version, sizeof d->version, fault);
    d->memory_bytes =
        need_number(id, CL_DEVICE_GLOBAL_MEM_SIZE, "memory size", INT64_MAX, fault);
    d->max_buffer_bytes = need_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
                                      "largest buffer", INT64_MAX, fault);
    d->local_bytes = need_number(id, CL_DEVICE_LOCAL_MEM_SIZE, "local memory size",
                                 INT64_MAX, fault);
    d->compute_units = (int)need_number(id, CL_DEVICE_MAX_COMPUTE_UNITS,
                                        "number of compute units", UNITS, fault);
    d->vector_width = (int)need_number(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
                                       "vector width", LANES, fault);
    return need_number(id, CL_DEVICE_TYPE, "type", UINT32_MAX, fault);
}

/* The other properties have defaults: vendor "unknown", clock 0 (unknown), no memory
 * shared with the host, and no extensions. */
cla_status cla_device_read(cl_device_id id, cla_device *d, char *fault)
{
    *fault = '\0';
    enum { MOST_MHZ = 1000000 };
    const cl_device_type type = read_needed(id, d, fault);
    const bool unified = number_or(id, CL_DEVICE_HOST_UNIFIED_MEMORY, 1, 0) != 0;
    if (!device_text(id, CL_DEVICE_VENDOR, d->vendor, sizeof d->vendor)) {
        snprintf(d->vendor, sizeof d->vendor, "unknown");
    }
    d->clock_mhz = (int)number_or(id, CL_DEVICE_MAX_CLOCK_FREQUENCY, MOST_MHZ, 0);
    d->kind = cla_device_classify(type, unified, d->platform_name, d->name);
    return read_extensions(id, d);
}

size_t cla_device_align(cl_device_id id)
{
    enum { LEAST = 128 * 8, STANDARD = 512 * 8, MOST = 1 << 23 };
    const cl_ulong bits = number_or(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, MOST, STANDARD);
    return (size_t)(bits < LEAST ? LEAST : bits) / 8;
}
