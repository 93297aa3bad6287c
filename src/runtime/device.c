/* device.c - finds the devices of this machine and puts the best first. */
#include "runtime/device.h"

#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "base/platform_thread.h"
#include "base/text.h"

/* An entry of the list while it grows. */
typedef struct found_device {
    cla_device device;
    cla_device_handle handle;
} found_device;

typedef struct found_list {
    found_device *items;
    size_t count, cap;
} found_list;

/* ---- kinds and ranks --------------------------------------------------------- */

static bool contains_any(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (cla_contains_nocase(text, *words)) return true;
    }
    return false;
}

cla_device_kind cla_device_classify(cl_device_type type, bool unified,
                                    const char *platform_name, const char *name)
{
    static const char *const software[] = { "llvmpipe", "softpipe",  "swrast",
                                            "oclgrind", "simulator", "emulation",
                                            "emulator", NULL };
    static const char *const rasterisers[] = { "rusticl", "clover", NULL };
    const bool cpu = type & CL_DEVICE_TYPE_CPU;
    const bool gpu = type & CL_DEVICE_TYPE_GPU;
    const bool accelerator = type & CL_DEVICE_TYPE_ACCELERATOR;

    if (contains_any(name, software) || contains_any(platform_name, software)) {
        return CLA_DEVICE_SOFTWARE;
    }
    // hardware has one type, and CPUs of these drivers are software rasterisers
    if (cpu + gpu + accelerator > 1 ||
        (cpu && contains_any(platform_name, rasterisers))) {
        return CLA_DEVICE_SOFTWARE;
    }
    if (gpu) return unified ? CLA_DEVICE_INTEGRATED : CLA_DEVICE_GPU;
    return cpu ? CLA_DEVICE_CPU : CLA_DEVICE_ACCELERATOR;
}

/* Returns the rank of a driver for devices of one kind: for CPUs PoCL, Intel, others;
 * for the rest the maker's own driver, PoCL, Mesa. */
static int driver_rank(const cla_device *d)
{
    static const char *const pocl[] = { "pocl", "portable computing language", NULL };
    static const char *const mesa[] = { "rusticl", "clover", NULL };
    const bool is_pocl = contains_any(d->platform_name, pocl);
    if (d->kind == CLA_DEVICE_CPU) {
        if (is_pocl) return 0;
        return cla_contains_nocase(d->platform_name, "intel") ? 1 : 2;
    }
    if (contains_any(d->platform_name, mesa)) return 2;
    return is_pocl;
}

int cla_device_compare(const cla_device *a, const cla_device *b)
{
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    const int rank_a = driver_rank(a), rank_b = driver_rank(b);
    if (rank_a != rank_b) return rank_a - rank_b;
    if (a->platform != b->platform) return a->platform - b->platform;
    return a->member - b->member;
}

/* ---- the list ---------------------------------------------------------------- */

/* Adds a device. One that cannot be used is skipped with a warning: another may do. */
static cla_status add_device(found_list *list, const found_device *entry)
{
    char fault[CLA_DEVICE_FAULT];
    CLA_TRY(cla_grow(&list->items, &list->cap, list->count + 1, sizeof *list->items));
    cla_device *d = &list->items[list->count].device;
    list->items[list->count] = *entry;
    CLA_TRY(cla_device_read(entry->handle.device, d, fault));
    if (*fault) {
        cla_log(CLA_LOG_WARN, "device %d:%d '%s' of '%s' is not used: %s", d->platform,
                d->member, d->name, d->platform_name, fault);
        return CLA_OK;
    }
    list->count++;
    return CLA_OK;
}

/* Adds the devices of a platform. A driver that does not report them is skipped with a
 * log message: one broken installation must not hide the others. */
static cla_status add_platform(found_list *list, cl_platform_id platform, int number)
{
    char text[512] = "";
    found_device entry = { .handle = { .platform = platform },
                           .device = { .platform = number } };
    cl_int code =
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text - 1, text, NULL);
    if (code) { // the name decides the kind of devices and which binaries fit
        cla_log(CLA_LOG_WARN, "platform %d is not used: cannot read its name (%s)",
                number, cla_cl_name(code));
        return CLA_OK;
    }
    cla_device_trim(entry.device.platform_name, sizeof entry.device.platform_name,
                    text);

    cl_uint count = 0;
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code || count == 0) {
        cla_log(CLA_LOG_DEBUG, "platform %d, %s: %s", number,
                entry.device.platform_name, code ? cla_cl_name(code) : "no devices");
        return CLA_OK;
    }
    cl_device_id *ids;
    CLA_TRY(cla_alloc(&ids, count, sizeof *ids));
    cla_status status = CLA_OK;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL)) count = 0;
    for (cl_uint i = 0; i < count && !status; i++) {
        entry.device.member = (int)i;
        entry.handle.device = ids[i];
        status = add_device(list, &entry);
    }
    free(ids);
    return status;
}

static cla_status add_platforms(found_list *list)
{
    cl_uint count = 0;
    cl_int code = clGetPlatformIDs(0, NULL, &count);
    if (code == -1001) return CLA_OK; // the loader works, but finds no driver
    if (code) return cla_cl_fail(code, "cannot list the OpenCL platforms");

    cl_platform_id *platforms;
    CLA_TRY(cla_alloc(&platforms, count, sizeof *platforms));
    cla_status status = CLA_OK;
    code = count ? clGetPlatformIDs(count, platforms, NULL) : CL_SUCCESS;
    if (code) status = cla_cl_fail(code, "cannot list the OpenCL platforms");
    for (cl_uint i = 0; i < count && !status; i++) {
        status = add_platform(list, platforms[i], (int)i);
    }
    free(platforms);
    return status;
}

bool cla_device_watches(const cla_device *device)
{
    return strcmp(device->platform_name, "Oclgrind") == 0;
}

bool cla_device_is_pocl(const cla_device *device)
{
    return strcmp(device->platform_name, "Portable Computing Language") == 0;
}

static bool variable_is(const char *name, const char *value)
{
    const char *set = cla_os_getenv(name);
    return set && strcmp(set, value) == 0;
}

bool cla_device_keeps_kernels(const cla_device *device)
{
    return cla_device_is_pocl(device) && !variable_is("POCL_KERNEL_CACHE", "0") &&
           !variable_is("CLATTN_CACHE_BINARIES", "1");
}

static int compare_found(const void *a, const void *b)
{
    return cla_device_compare(&((const found_device *)a)->device,
                              &((const found_device *)b)->device);
}

/* Marks the default. An invalid CLATTN_DEVICE marks none; its use is an error. */
static void mark_default(cla_device *list, int count)
{
    int index;
    if (count == 0) return; // finding out why takes longer than the list
    if (cla_device_choose(list, count, cla_os_getenv("CLATTN_DEVICE"), &index) ==
        CLA_OK) {
        list[index].is_default = true;
    }
}

static cla_status split_list(const found_list *found, cla_device **list,
                             cla_device_handle **handles)
{
    CLA_TRY(cla_alloc(list, found->count, sizeof **list));
    const cla_status status = cla_alloc(handles, found->count, sizeof **handles);
    if (status) {
        cla_devices_free(list);
        return status;
    }
    for (size_t i = 0; i < found->count; i++) {
        (*list)[i] = found->items[i].device;
        (*list)[i].index = (int)i;
        (*handles)[i] = found->items[i].handle;
    }
    return CLA_OK;
}

/* Lists the devices, one thread at a time: drivers initialise at the first query, and
 * PoCL reports no devices to a second thread meanwhile. */
static cla_status find_devices(found_list *list)
{
    static cla_mutex one_at_a_time = CLA_MUTEX_INIT;
    cla_mutex_lock(&one_at_a_time);
    const cla_status status = add_platforms(list);
    cla_mutex_unlock(&one_at_a_time);
    return status;
}

cla_status cla_devices_open(cla_device **list, cla_device_handle **handles, int *count)
{
    *list = NULL;
    *handles = NULL;
    *count = 0;
    found_list found = { 0 };
    cla_status status = find_devices(&found);
    if (found.count) {
        qsort(found.items, found.count, sizeof *found.items, compare_found);
    }
    if (!status) status = split_list(&found, list, handles);
    if (!status) {
        *count = (int)found.count;
        mark_default(*list, *count);
    }
    free(found.items);
    return status;
}

cla_status cla_devices(cla_device **list, int *count)
{
    CLA_NEED(list, count);
    cla_device_handle *handles;
    const cla_status status = cla_devices_open(list, &handles, count);
    free(handles);
    return status;
}

void cla_devices_free(cla_device **list)
{
    if (!list) return;
    free(*list);
    *list = NULL;
}
