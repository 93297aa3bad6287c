/* driver.c - what a driver needs before it compiles. */
#include "runtime/driver.h"

#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/text.h"

/* ---- PoCL -------------------------------------------------------------------- */

char *cla_pocl_cache(void)
{
    const char *own = cla_os_getenv("POCL_CACHE_DIR"),
               *xdg = cla_os_getenv("XDG_CACHE_HOME");
    const char *home = cla_os_getenv("HOME");
    cla_text path = { 0 };
    cla_status status = CLA_OK;
    if (own) {
        status = cla_text_add(&path, "%s", own);
    } else if (xdg) {
        status = cla_text_add(&path, "%s/pocl/kcache", xdg);
    } else if (home) {
        status = cla_text_add(&path, "%s/.cache/pocl/kcache", home);
    } else {
        status = cla_text_add(&path, "/tmp/pocl/kcache");
    }
    if (status) cla_text_free(&path);
    return path.data;
}

/* Returns whether the folder keeps no kernels, which PoCL puts into folders. It makes
 * empty files to see whether it may write. */
static bool is_empty(const char *folder)
{
    cla_os_list *list = cla_os_list_begin(folder);
    bool empty = true;
    for (const char *name; list && empty && (name = cla_os_list_next(list));) {
        empty = *name == '.' || strncmp(name, "tempfile", 8) == 0;
    }
    cla_os_list_end(list);
    return empty;
}

/* PoCL's compiler calls exit() where its folder is full, and abort() where the linker
 * is missing. Kernels that it compiled before need no linker. */
static cla_status check_pocl(const char *folder)
{
    enum { NEEDED = 1 << 20 }; // bytes; a kernel of ours takes up to half of it
    uint64_t room = 0;
    if (cla_os_free_bytes(folder, &room) && room < NEEDED) {
        return cla_fail(CLA_E_DEVICE,
                        "the driver PoCL cannot keep kernels: %llu KB are free in its "
                        "cache folder '%s'; make room or set POCL_CACHE_DIR",
                        (unsigned long long)room / 1000, folder);
    }
    const bool has_own = !cla_os_drivers(); // on Windows PoCL brings a linker along
    if (!has_own && is_empty(folder) && !cla_os_in_path("ld") &&
        !cla_os_in_path("ld.lld")) {
        return cla_fail(CLA_E_DEVICE,
                        "the driver PoCL cannot link kernels: no folder of PATH has "
                        "the linker 'ld' (PATH is '%s')",
                        cla_os_getenv("PATH") ? cla_os_getenv("PATH") : "");
    }
    return CLA_OK;
}

cla_status cla_driver_ready(const cla_device *device)
{
    if (!cla_device_is_pocl(device)) return CLA_OK;
    char *folder = cla_pocl_cache();
    if (!folder) return cla_fail(CLA_E_NOMEM, "driver: out of memory");
    const cla_status status = check_pocl(folder);
    free(folder);
    return status;
}
