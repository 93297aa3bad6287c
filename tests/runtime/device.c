/* device.c - the list of devices and the choice from it, on made-up machines. */
#include "runtime/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <criterion/criterion.h>

/* A driver's description of a device, as on real machines. */
typedef struct machine_row {
    cl_device_type type;
    bool unified;
    int platform, member;
    const char *platform_name, *name, *vendor, *uuid;
} machine_row;

#define CPU         CL_DEVICE_TYPE_CPU
#define GPU         CL_DEVICE_TYPE_GPU
#define ACCELERATOR CL_DEVICE_TYPE_ACCELERATOR

/* One device of each kind, in no order. */
static const machine_row zoo[] = {
    { CL_DEVICE_TYPE_DEFAULT | CPU | GPU | ACCELERATOR, false, 0, 0, "Oclgrind",
      "Oclgrind Simulator", "Oclgrind", "" },
    { CPU, true, 1, 0, "rusticl", "llvmpipe (LLVM 15.0.6, 256 bits)", "Mesa/X.org",
      "" },
    { CPU, true, 2, 0, "Intel(R) OpenCL", "AMD EPYC 7763 64-Core Processor",
      "Intel(R) Corporation", "" },
    { CPU, true, 3, 0, "AMD Accelerated Parallel Processing", "AMD EPYC 7763",
      "AuthenticAMD", "" },
    { CPU, true, 4, 0, "Portable Computing Language", "pthread-haswell-AMD EPYC 7763",
      "AuthenticAMD", "" },
    { ACCELERATOR, true, 5, 0, "Intel(R) FPGA Emulation Platform for OpenCL(TM)",
      "Intel(R) FPGA Emulation Device", "Intel(R) Corporation", "" },
    { GPU, true, 6, 0, "Intel(R) OpenCL HD Graphics",
      "Intel(R) UHD Graphics 770 [0x4680]", "Intel(R) Corporation",
      "00112233445566778899aabbccddeeff" },
    { GPU, false, 7, 0, "NVIDIA CUDA", "NVIDIA GeForce RTX 3060", "NVIDIA Corporation",
      "3a6c000000000000000000000000beef" },
    { CL_DEVICE_TYPE_DEFAULT | GPU, false, 7, 1, "NVIDIA CUDA",
      "NVIDIA GeForce RTX 4090", "NVIDIA Corporation",
      "3a6c00000000000000000000000090de" },
    { ACCELERATOR, false, 8, 0, "Xilinx", "xilinx_u250", "Xilinx", "" },
    { GPU, false, 9, 0, "rusticl", "AMD Radeon RX 6800 (navi21)", "AMD", "" },
};
enum { ZOO = sizeof zoo / sizeof *zoo };

static int compare(const void *a, const void *b)
{
    return cla_device_compare(a, b);
}

static cla_device *make_list(const machine_row *rows, int count)
{
    cla_device *list = calloc((size_t)count + 1, sizeof *list);
    cr_assert_not_null(list);
    for (int i = 0; i < count; i++) {
        cla_device *d = &list[i];
        d->platform = rows[i].platform;
        d->member = rows[i].member;
        d->kind = cla_device_classify(rows[i].type, rows[i].unified,
                                      rows[i].platform_name, rows[i].name);
        snprintf(d->platform_name, sizeof d->platform_name, "%s",
                 rows[i].platform_name);
        snprintf(d->name, sizeof d->name, "%s", rows[i].name);
        snprintf(d->vendor, sizeof d->vendor, "%s", rows[i].vendor);
        snprintf(d->uuid, sizeof d->uuid, "%s", rows[i].uuid);
        snprintf(d->driver, sizeof d->driver, "1.0");
    }
    qsort(list, (size_t)count, sizeof *list, compare);
    for (int i = 0; i < count; i++) {
        list[i].index = i;
    }
    return list;
}

Test(device, best_first)
{
    static const char *const order[ZOO] = {
        "RTX 3060",  "RTX 4090", "Radeon",   "UHD Graphics",   "pthread",  "EPYC",
        "EPYC 7763", "xilinx",   "Oclgrind", "FPGA Emulation", "llvmpipe",
    };
    cla_device *list = make_list(zoo, ZOO);
    for (int i = 0; i < ZOO; i++) {
        cr_expect(strstr(list[i].name, order[i]) != NULL, "%d is '%s', not '%s'", i,
                  list[i].name, order[i]);
    }
    // two vendors' runtimes for one processor: Intel's comes first
    cr_expect_str_eq(list[5].platform_name, "Intel(R) OpenCL");
    free(list);
}

Test(device, classifies)
{
    const cl_device_type all = CL_DEVICE_TYPE_DEFAULT | CPU | GPU | ACCELERATOR;
    cr_expect_eq(cla_device_classify(GPU, false, "NVIDIA CUDA", "H100"),
                 CLA_DEVICE_GPU);
    cr_expect_eq(cla_device_classify(GPU, true, "Intel", "UHD"), CLA_DEVICE_INTEGRATED);
    cr_expect_eq(
        cla_device_classify(CPU, true, "Portable Computing Language", "pthread"),
        CLA_DEVICE_CPU);
    cr_expect_eq(cla_device_classify(CPU | CL_DEVICE_TYPE_DEFAULT, true, "x", "y"),
                 CLA_DEVICE_CPU);
    cr_expect_eq(cla_device_classify(ACCELERATOR, false, "Xilinx", "u250"),
                 CLA_DEVICE_ACCELERATOR);
    // hardware has one type only, whatever its name
    cr_expect_eq(cla_device_classify(all, false, "x", "y"), CLA_DEVICE_SOFTWARE);
    cr_expect_eq(cla_device_classify(CPU, true, "rusticl", "y"), CLA_DEVICE_SOFTWARE);
    cr_expect_eq(cla_device_classify(GPU, false, "Clover", "AMD RADV"), CLA_DEVICE_GPU);
    cr_expect_eq(cla_device_classify(GPU, true, "Clover", "llvmpipe"),
                 CLA_DEVICE_SOFTWARE);
}

/* Choices, each with part of the name of the device. */
static const struct {
    const char *text, *name;
} choices[] = {
    { NULL, "RTX 3060" },
    { "", "RTX 3060" },
    { "0", "RTX 3060" },
    { " 1 ", "RTX 4090" },
    { "10", "llvmpipe" },
    { "7:1", "RTX 4090" },
    { "4:0", "pthread" },
    { "gpu", "RTX 3060" },
    { "GPU", "RTX 3060" },
    { "cpu", "pthread" },
    { "accelerator", "xilinx" },
    { "pocl", "pthread" },
    { "uuid:3a6c000000000000000000000000beef", "RTX 3060" },
    { "uuid:3A6C0000-0000-0000-0000-0000000090DE", "RTX 4090" },
    { "uuid:0011", "UHD" },
    { "4090", "RTX 4090" }, // four digits are part of a name, not a position
    { "rtx 3060", "RTX 3060" },
    { "CUDA/NVIDIA GeForce RTX 4", "RTX 4090" },
    { "xilinx/", "xilinx" },
    { "llvmpipe", "llvmpipe" },
    { "!nvidia", "Radeon" },
    { "gpu,!nvidia", "Radeon" },
    { "!nvidia,gpu", "Radeon" },
    { "!gpu", "pthread" },
    { "!gpu,!pocl", "EPYC" },
    { "cpu,!pocl,!2:0", "EPYC 7763" },
    { "nvidia,!0", "RTX 4090" }, // one of two is left
    { "!nothing such", "RTX 3060" },
    { "nothing such, pocl", "pthread" },
    { "99,accelerator,cpu", "xilinx" },
    { ",,cpu,", "pthread" },
    { "cpu,gpu", "pthread" },
    // a whole name wins over a part of another one
    { "AMD EPYC 7763", "EPYC 7763" },
    { "nvidia cuda/nvidia geforce rtx 3060", "RTX 3060" },
    { "RTX 3060 (NVIDIA Corporation, ), cpu", "pthread" }, // not the whole name
    { "NVIDIA GeForce RTX 3060 (NVIDIA Corporation, 1.0), cpu", "RTX 3060" },
    { "Intel(R) OpenCL AMD EPYC 7763 64-Core Processor", "64-Core" },
    { "pocl pthread-haswell-AMD EPYC 7763", "pthread" },
    // commas inside of names, brackets and quotes part nothing
    { "llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe" },
    { "nothing such,llvmpipe (LLVM 15.0.6, 256 bits) , gpu", "llvmpipe" },
    { "llvmpipe (LLVM 15.0.6, 999 bits), gpu", "RTX 3060" },
    { "!gpu,!llvmpipe (LLVM 15.0.6, 256 bits)", "pthread" },
    { "'llvmpipe (LLVM 15.0.6, 256 bits)'", "llvmpipe" },
    { " \"5.0.6, 2\" ,cpu", "llvmpipe" },
    { "!'gpu',gpu", "RTX 3060" },    // quotes make it a name, and no device has it
    { "(nothing, gpu", "RTX 3060" }, // an open bracket holds no comma
    // blanks after "!"
    { "! nvidia", "Radeon" },
    { "! 'NVIDIA' , gpu", "Radeon" },
};

Test(device, chooses)
{
    cla_device *list = make_list(zoo, ZOO);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        int index = -1;
        const cla_status status = cla_device_choose(list, ZOO, choices[i].text, &index);
        cr_assert(status == CLA_OK, "'%s': %s", choices[i].text, cla_error());
        cr_expect(strstr(list[index].name, choices[i].name) != NULL,
                  "'%s' gives '%s', not '%s'", choices[i].text, list[index].name,
                  choices[i].name);
    }
    free(list);
}

/* Choices that match no device or several, with parts of the message. */
static const struct {
    const char *text, *says[3];
} refusals[] = {
    { "nonesuch",
      { "no device matches 'nonesuch' (0 NVIDIA CUDA ", "; 4 pocl pthread" } },
    { "99", { "no device matches '99'" } },
    { "5000", { "no device matches '5000'" } },
    { "11", { "no device matches '11'" } },
    { "-1", { "no device matches '-1'" } },
    { "3:7", { "no device matches '3:7'" } },
    { "7:", { "no device matches '7:'" } },
    { "uuid:", { "no device matches" } },
    { "uuid:ffff", { "no device matches" } },
    { "uuid:3a6c000000000000000000000000beef00", { "no device matches" } },
    { "uuid:3a6c", { "matches 2 devices", "RTX 3060", "RTX 4090" } },
    { "nvidia",
      { "'nvidia' matches 2 devices (0 NVIDIA CUDA NVIDIA GeForce RTX 3060; 1" } },
    { "rtx", { "matches 2 devices", "RTX 3060", "RTX 4090" } },
    { "epyc", { "matches 3 devices" } },
    { "nonesuch,rtx", { "'rtx' matches 2" } },
    { "!pocl,pocl", { "no device matches '!pocl,pocl'" } },
    { "nonesuch,neither", { "no device matches 'nonesuch,neither'" } },
    { ",", { "no device matches ','" } },
    { "!gpu,!cpu,!accelerator", { "no device matches '!gpu,!cpu,!accelerator'" } },
    { "llvmpipe (LLVM 15.0.6, 999 bits)", { "no device matches 'llvmpipe (LLVM" } },
    { "!", { "device '!': '!' must be followed by a device" } },
    { "gpu, ! ", { "'!' must be followed by a device" } },
    { "!,gpu", { "'!' must be followed by a device" } },
    { "!!0", { "'!' must be followed by a device" } },
    { "! !0", { "'!' must be followed by a device" } },
    { "'gpu", { "device ''gpu': ' is not closed" } },
    { "\"", { "is not closed" } },
    { "'a' b", { "a comma must follow the quoted name" } },
    { "''", { "no device matches" } },
    { "'0'", { "'0' matches" } }, // a name, not a position
};

Test(device, refuses)
{
    cla_device *list = make_list(zoo, ZOO);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        int index;
        const cla_status status =
            cla_device_choose(list, ZOO, refusals[i].text, &index);
        cr_expect_eq(status, CLA_E_USAGE, "'%s' gives %d", refusals[i].text, status);
        for (int j = 0; j < 3 && refusals[i].says[j]; j++) {
            cr_expect(strstr(cla_error(), refusals[i].says[j]) != NULL,
                      "'%s' says '%s', not '%s'", refusals[i].text, cla_error(),
                      refusals[i].says[j]);
        }
        cr_expect_null(strchr(cla_error(), '\n'));
    }
    free(list);
}

/* The vendor is that of the driver: here of PoCL and of Intel's runtime on AMD
 * processors. */
Test(device, vendor_is_the_drivers)
{
    static const machine_row rows[] = {
        { CPU, true, 0, 0, "Portable Computing Language", "pthread-haswell-AMD EPYC",
          "AuthenticAMD", "" },
        { CPU, true, 1, 0, "Intel(R) OpenCL", "AMD EPYC 7763", "Intel(R) Corporation",
          "" },
    };
    cla_device *list = make_list(rows, 2);
    int index = -1;
    cr_expect_eq(cla_device_choose(list, 2, "amd", &index), CLA_E_USAGE);
    cr_expect_eq(cla_device_choose(list, 2, "intel", &index), CLA_OK);
    cr_expect_eq(index, 1);
    cr_expect_eq(cla_device_choose(list, 2, "pocl", &index), CLA_OK);
    cr_expect_eq(index, 0);
    free(list);
}

/* "5" is a position that does not exist, not part of "avx512". */
Test(device, position_is_no_part_of_a_name)
{
    static const machine_row rows[] = {
        { CPU, true, 0, 0, "Portable Computing Language",
          "pthread-skylake-avx512-Intel(R) Xeon(R)", "GenuineIntel", "" },
    };
    cla_device *list = make_list(rows, 1);
    int index = -1;
    cr_expect_eq(cla_device_choose(list, 1, "5", &index), CLA_E_USAGE);
    cr_expect_eq(cla_device_choose(list, 1, "intel", &index), CLA_E_USAGE);
    cr_expect_eq(cla_device_choose(list, 1, "0", &index), CLA_OK);
    free(list);
}

/* Under a limit of memory, the message for an empty list names the limit: a driver may
 * lack memory instead of being missing. */
Test(device, empty_list_under_a_limit_of_memory)
{
    cla_device *list = make_list(zoo, 0);
    struct rlimit room;
    int index;
    cr_assert_eq(getrlimit(RLIMIT_AS, &room), 0);
    const struct rlimit limit = { (rlim_t)7000 * 1000000, room.rlim_max };
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    const cla_status status = cla_device_choose(list, 0, NULL, &index);
    cr_assert_eq(setrlimit(RLIMIT_AS, &room), 0); // sanitizers and Criterion need more
    cr_expect_eq(status, CLA_E_NOMEM);
    cr_expect_str_eq(cla_error(), "there is no OpenCL device: drivers may need more "
                                  "memory than the 7000 MB that `ulimit -v' allows");
    free(list);
}

/* The cause is another than the choice: one status, whatever was asked for. */
Test(device, empty_list)
{
    cla_device *list = make_list(zoo, 0);
    static const char *const wishes[] = { NULL, "", "gpu", "!pocl", "'" };
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        int index;
        cr_expect_eq(cla_device_choose(list, 0, wishes[i], &index), CLA_E_DEVICE);
        cr_expect(strstr(cla_error(), "there is no OpenCL device: ") == cla_error());
    }
    free(list);
}

static int warnings;
static char warned[256];

static void count_warning(void *context, cla_log_level level, const char *text)
{
    (void)context;
    warnings += level == CLA_LOG_WARN;
    snprintf(warned, sizeof warned, "%s", text);
}

/* A misspelt name excludes nothing: that is said. What other machines have is not. */
Test(device, exclusions_without_effect)
{
    static const struct {
        const char *text;
        int warnings;
    } rows[] = {
        { "!nvida", 1 },         { "!nvida, !rtx 5090", 2 },  { "!'gpu'", 1 },
        { "!nvidia", 0 },        { "!pocl,!accelerator", 0 }, { "!99", 0 },
        { "!uuid:0123", 0 },     { "nvida,gpu", 0 },          { "!llvmpipe,gpu", 0 },
        { "! RTX 3060,gpu", 0 },
    };
    cla_device *list = make_list(zoo, ZOO);
    cla_log_set(count_warning, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        warnings = 0;
        cla_device_warn(list, ZOO, rows[i].text);
        cr_expect_eq(warnings, rows[i].warnings, "'%s': %d warnings", rows[i].text,
                     warnings);
    }
    cla_device_warn(list, ZOO, "!nvida");
    cr_expect_str_eq(warned, "'!nvida' excludes no device");
    cla_device_warn(list, 0, "!nvida"); // without devices the list is the news
    cla_log_set(NULL, NULL);
    free(list);
}

/* The list of this machine's devices is valid and ordered, whatever is in it. */
Test(device, real_list)
{
    unsetenv("CLATTN_DEVICE");
    cla_device *list = NULL;
    int count = 0, defaults = 0;
    cr_assert_eq(cla_devices(&list, &count), CLA_OK, "%s", cla_error());
    for (int i = 0; i < count; i++) {
        cr_expect_eq(list[i].index, i);
        cr_expect(*list[i].name && *list[i].platform_name);
        cr_expect(list[i].memory_bytes > 0 && list[i].max_buffer_bytes > 0);
        cr_expect(list[i].vector_width > 0 && list[i].compute_units > 0);
        cr_expect(i == 0 || cla_device_compare(&list[i - 1], &list[i]) < 0);
        defaults += list[i].is_default;
    }
    cr_expect_eq(defaults, count > 0);
    cla_devices_free(&list);
    cr_expect_null(list);
    cla_devices_free(&list);
    cla_devices_free(NULL);
}

Test(device, error_names)
{
    cr_expect_str_eq(cla_cl_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
    cr_expect_str_eq(cla_cl_name(CL_INVALID_KERNEL), "CL_INVALID_KERNEL");
    cr_expect_str_eq(cla_cl_name(CL_INVALID_WORK_GROUP_SIZE),
                     "CL_INVALID_WORK_GROUP_SIZE");
    cr_expect_str_eq(cla_cl_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    cr_expect_str_eq(cla_cl_name(-4321), "OpenCL error -4321");
    cr_expect_eq(cla_cl_fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "buffer of %d bytes", 7),
                 CLA_E_NOMEM);
    cr_expect_str_eq(cla_error(),
                     "buffer of 7 bytes: CL_MEM_OBJECT_ALLOCATION_FAILURE");
    cr_expect_eq(cla_cl_fail(CL_OUT_OF_RESOURCES, "launch"), CLA_E_DEVICE);
}
