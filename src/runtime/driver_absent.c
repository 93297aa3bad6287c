/* driver_absent.c - says why there is no device. */
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"
#include "runtime/driver.h"

/* ---- no platform: the files that name drivers -------------------------------- */

/* The place where the loader looks for files that name drivers, and the variable that
 * says so; NULL without one. */
static const char *vendors_folder(const char **variable)
{
    static const char *const variables[] = { "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH" };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        *variable = variables[i];
        const char *value = cla_os_getenv(*variable);
        if (value && *value) return value;
    }
    *variable = NULL;
    return cla_os_drivers();
}

/* Adds why the driver that a file names is no platform. */
static cla_status explain_file(cla_text *why, const char *path)
{
    char *data = NULL;
    size_t size = 0;
    CLA_TRY(cla_text_add(why, "%s", why->size ? "; " : ""));
    if (cla_file_read(path, &data, &size)) return cla_text_add(why, "%s", cla_error());
    data[strcspn(data, "\r\n")] = '\0';
    void *library = cla_os_library(data);
    const char *reason = library ? NULL : cla_os_library_error();
    cla_status status;
    if (library) {
        status =
            cla_text_add(why, "'%s' names '%s', which gives no platform", path, data);
        cla_os_library_close(library);
    } else {
        status = cla_text_add(why, "'%s' names a driver that cannot be loaded: %s",
                              path, reason ? reason : data);
    }
    free(data);
    return status;
}

static cla_status explain_files(cla_text *why, char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLA_TRY(explain_file(why, paths[i]));
    }
    return CLA_OK;
}

static cla_status explain_loader(cla_text *why)
{
    const char *variable;
    const char *folder = vendors_folder(&variable);
    char **paths = NULL;
    size_t count = 0;
    if (!folder) {
        return cla_text_add(why,
                            "install a driver: the registry names none that works");
    }
    const bool missing = !cla_os_may(folder, CLA_MAY_BE);
    if (!missing && cla_folder_list(folder, ".icd", &paths, &count)) count = 0;
    cla_status status;
    if (count) {
        status = explain_files(why, paths, count);
    } else if (variable) {
        status = cla_text_add(why, "%s is '%s', which %s", variable, folder,
                              missing ? "does not exist" : "has no file *.icd");
    } else {
        status = cla_text_add(
            why, "install a driver, for a processor pocl-opencl-icd ('%s' %s)", folder,
            missing ? "does not exist" : "names none");
    }
    cla_folder_list_free(&paths, count);
    return status;
}

/* ---- platforms without devices ----------------------------------------------- */

/* Adds what keeps PoCL from giving its device. */
static cla_status explain_pocl(cla_text *why)
{
    const char *devices = cla_os_getenv("POCL_DEVICES");
    if (devices) return cla_text_add(why, ": POCL_DEVICES is '%s'", devices);
    char *folder = cla_pocl_cache();
    if (!folder) return cla_fail(CLA_E_NOMEM, "driver: out of memory");
    cla_status status = CLA_OK;
    if (cla_folder_make(folder) || !cla_os_may(folder, CLA_MAY_WRITE | CLA_MAY_ENTER)) {
        status = cla_text_add(why,
                              ": its cache folder '%s' cannot be written to; set "
                              "POCL_CACHE_DIR to one that can",
                              folder);
    }
    free(folder);
    return status;
}

static cla_status explain_rusticl(cla_text *why)
{
    const char *drivers = cla_os_getenv("RUSTICL_ENABLE");
    if (drivers) return cla_text_add(why, ": RUSTICL_ENABLE is '%s'", drivers);
    return cla_text_add(why, ": RUSTICL_ENABLE is not set; it names Mesa's drivers to "
                             "use (iris, radeonsi, llvmpipe)");
}

static cla_status explain_platform(cla_text *why, cl_platform_id platform)
{
    char name[512] = "";
    if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL)) {
        *name = '\0';
    }
    cl_uint count = 0;
    const cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    CLA_TRY(cla_text_add(why, "%splatform '%s' ", why->size ? "; " : "", name));
    if (code == CL_SUCCESS && count) {
        return cla_text_add(why, "has %d that cannot be used", (int)count);
    }
    CLA_TRY(cla_text_add(why, "has none"));
    if (code && code != CL_DEVICE_NOT_FOUND) {
        CLA_TRY(cla_text_add(why, " (%s)", cla_cl_name(code)));
    }
    if (strcmp(name, "Portable Computing Language") == 0) return explain_pocl(why);
    return strcmp(name, "rusticl") == 0 ? explain_rusticl(why) : CLA_OK;
}

static cla_status explain(cla_text *why)
{
    enum { MOST = 16 };
    cl_platform_id platforms[MOST];
    cl_uint count = 0;
    if (clGetPlatformIDs(MOST, platforms, &count) || count == 0) {
        return explain_loader(why);
    }
    for (cl_uint i = 0; i < count && i < MOST; i++) {
        CLA_TRY(explain_platform(why, platforms[i]));
    }
    return CLA_OK;
}

/* ---- the message ------------------------------------------------------------- */

cla_status cla_driver_absent(void)
{
    // loaders skip a driver that lacks address space; one with LLVM needs gigabytes
    const uint64_t roomy = (uint64_t)8 << 30, room = cla_os_address_limit();
    if (room < roomy) {
        return cla_fail(CLA_E_NOMEM,
                        "there is no OpenCL device: drivers may need more memory than "
                        "the %llu MB that `ulimit -v' allows",
                        (unsigned long long)(room / 1000000));
    }
    cla_text why = { 0 };
    cla_status status = explain(&why);
    if (!status) {
        status = cla_fail(CLA_E_DEVICE, "there is no OpenCL device: %s", why.data);
    }
    cla_text_free(&why);
    return status;
}
