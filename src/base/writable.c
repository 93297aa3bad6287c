/* writable.c - tells before any work whether an output can be written. */
#include "base/writable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/platform.h"

static cla_status refuse(const char *path, const char *what, int error)
{
    return cla_fail(CLA_E_IO, "%s: cannot %s: %s", path, what, strerror(error));
}

/* Copies path, with room for ".". */
static cla_status copy_path(const char *path, char **copy)
{
    const size_t room = strlen(path) + 2;
    CLA_TRY(cla_alloc(copy, room, 1));
    snprintf(*copy, room, "%s", path);
    return CLA_OK;
}

/* Cuts path to the folder around it: "a" to ".", "/a" to "/". */
static void cut_to_parent(char *path)
{
    char *end = path + strlen(path);
    while (end > path + 1 && cla_os_is_slash(end[-1])) {
        *--end = '\0';
    }
    char *slash = cla_os_last_slash(path);
    if (!slash) {
        memcpy(path, ".", 2);
    } else {
        slash[slash == path] = '\0';
    }
}

/* Checks that a file or folder can be made in a folder. */
static cla_status check_folder(const char *folder, const char *path, const char *what)
{
    cla_os_info info;
    if (!cla_os_info_of(folder, &info)) {
        return refuse(path, what, errno);
    }
    if (info.kind != CLA_OS_FOLDER) {
        return refuse(path, what, ENOTDIR);
    }
    return cla_os_may(folder, CLA_MAY_WRITE | CLA_MAY_ENTER)
               ? CLA_OK
               : refuse(path, what, errno);
}

static cla_status check_around(const char *path)
{
    char *folder = NULL;
    CLA_TRY(copy_path(path, &folder));
    cut_to_parent(folder);
    const cla_status status = check_folder(folder, path, "create");
    free(folder);
    return status;
}

/* Checks a file that may exist; *there tells. */
static cla_status check_file(const char *path, cla_os_info *info, bool *there)
{
    *there = cla_os_info_of(path, info);
    if (!*there && errno != ENOENT) {
        return refuse(path, "create", errno);
    }
    return *there && info->kind == CLA_OS_FOLDER ? refuse(path, "write", EISDIR)
                                                 : CLA_OK;
}

cla_status cla_writable_file(const char *path)
{
    cla_os_info info;
    bool there = false;
    CLA_TRY(check_file(path, &info, &there));
    if (there && info.kind != CLA_OS_FILE) {
        return cla_fail(CLA_E_IO, "%s: cannot write: is not a regular file", path);
    }
    return check_around(path);
}

cla_status cla_writable_direct(const char *path)
{
    cla_os_info info;
    bool there = false;
    CLA_TRY(check_file(path, &info, &there));
    if (!there) {
        return check_around(path);
    }
    return cla_os_may(path, CLA_MAY_WRITE) ? CLA_OK : refuse(path, "write", errno);
}

/* Finds the nearest folder around path that exists: folder, a copy of path, is cut to
 * it. */
static cla_status check_ancestor(char *folder, const char *path)
{
    cla_os_info info;
    while (!cla_os_info_of(folder, &info)) {
        if (errno != ENOENT || strcmp(folder, ".") == 0) {
            return refuse(path, "make folder", errno);
        }
        cut_to_parent(folder);
    }
    return check_folder(folder, path, "make folder");
}

cla_status cla_writable_folder(const char *path)
{
    cla_os_info info;
    char *around = NULL;
    if (cla_os_info_of(path, &info)) {
        return info.kind == CLA_OS_FOLDER ? check_folder(path, path, "write")
                                          : refuse(path, "make folder", EEXIST);
    }
    CLA_TRY(copy_path(path, &around));
    const cla_status status = check_ancestor(around, path);
    free(around);
    return status;
}
