/* driver.c - what a driver needs before it compiles. */
#include "runtime/driver.h"

#include <dirent.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

/* ---- PoCL -------------------------------------------------------------------- */

char *cla_pocl_cache(void)
{
    const char *own = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
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

/* Returns whether a program lies in a folder of PATH. */
static bool in_path(const char *program)
{
    const char *path = getenv("PATH");
    bool found = false;
    for (const char *c = path; c && *c && !found;) {
        const size_t size = strcspn(c, ":");
        cla_text file = { 0 };
        found = !cla_text_add(&file, "%.*s/%s", (int)size, c, program) &&
                access(file.data, X_OK) == 0;
        cla_text_free(&file);
        c += size + (c[size] == ':');
    }
    return found;
}

/* Returns whether the folder keeps no kernels, which PoCL puts into folders. It makes
 * empty files to see whether it may write. */
static bool is_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    bool empty = true;
    for (const struct dirent *e; dir && empty && (e = readdir(dir));) {
        empty = *e->d_name == '.' || strncmp(e->d_name, "tempfile", 8) == 0;
    }
    if (dir) {
        closedir(dir);
    }
    return empty;
}

/* PoCL's compiler calls exit() where its folder is full, and abort() where the linker
 * is missing. Kernels that it compiled before need no linker. */
static cla_status check_pocl(const char *folder)
{
    enum { NEEDED = 1 << 20 }; // bytes; a kernel of ours takes up to half of it
    struct statvfs disk;
    if (statvfs(folder, &disk) == 0) {
        const unsigned long long room =
            (unsigned long long)disk.f_bavail * disk.f_frsize;
        if (room < NEEDED) {
            return cla_fail(CLA_E_DEVICE,
                            "the driver PoCL cannot keep kernels: %llu KB are free in "
                            "its cache folder '%s'; make room or set POCL_CACHE_DIR",
                            room / 1000, folder);
        }
    }
    if (is_empty(folder) && !in_path("ld") && !in_path("ld.lld")) {
        return cla_fail(CLA_E_DEVICE,
                        "the driver PoCL cannot link kernels: no folder of PATH has "
                        "the linker 'ld' (PATH is '%s')",
                        getenv("PATH") ? getenv("PATH") : "");
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
