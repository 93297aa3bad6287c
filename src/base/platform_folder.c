/* platform_folder.c - names of files and lists of folders, by POSIX. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/platform.h"

/* ---- names ----------------------------------------------------------------- */

bool cla_os_rename_in(int folder, const char *from, const char *to)
{
    return renameat(folder, from, folder, to) == 0;
}

bool cla_os_rename(const char *from, const char *to)
{
    return rename(from, to) == 0;
}

bool cla_os_remove(const char *path)
{
    return unlink(path) == 0;
}

bool cla_os_remove_in(int folder, const char *name)
{
    return unlinkat(folder, name, 0) == 0;
}

bool cla_os_remove_folder(const char *path)
{
    return rmdir(path) == 0;
}

bool cla_os_remove_folder_in(int folder, const char *name)
{
    return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

bool cla_os_make_folder(const char *path)
{
    return mkdir(path, 0777) == 0;
}

bool cla_os_make_private_in(int folder, const char *name)
{
    if (mkdirat(folder, name, 0700)) return false;
    // undoes the umask; after a failure opening may fail, which is checked
    (void)!fchmodat(folder, name, 0700, AT_SYMLINK_NOFOLLOW);
    return true;
}

bool cla_os_make_private(int fd)
{
    return fchmod(fd, 0600) == 0;
}

bool cla_os_make_unique(char *name)
{
    return mkdtemp(name) != NULL;
}

bool cla_os_is_absolute(const char *path)
{
    return *path == '/';
}

char *cla_os_last_slash(const char *path)
{
    return strrchr(path, '/');
}

bool cla_os_is_slash(char c)
{
    return c == '/';
}

char *cla_os_real_path(const char *path)
{
    return realpath(path, NULL);
}

const char *cla_os_temporary(void)
{
    const char *given = getenv("TMPDIR");
    return given && *given ? given : "/tmp";
}

char *cla_os_user_folder(const char *variable, const char *below_home)
{
    const char *base = getenv(variable), *home = getenv("HOME");
    if (base && *base == '/')
        return strdup(base); // the XDG rules ignore relative paths
    if (!home || !*home) return NULL;
    const size_t room = strlen(home) + strlen(below_home) + 2;
    char *path = malloc(room);
    if (path) snprintf(path, room, "%s/%s", home, below_home);
    return path;
}

const char *cla_os_drivers(void)
{
#ifdef __APPLE__
    return NULL; // OpenCL is a part of the system
#else
    return "/etc/OpenCL/vendors";
#endif
}

bool cla_os_free_bytes(const char *folder, uint64_t *bytes)
{
    struct statvfs disk;
    if (statvfs(folder, &disk)) return false;
    *bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return true;
}

/* ---- lists of folders ------------------------------------------------------ */

struct cla_os_list {
    DIR *stream;
};

static cla_os_list *list_of(DIR *stream)
{
    cla_os_list *list = stream ? malloc(sizeof *list) : NULL;
    if (list) {
        list->stream = stream;
    } else if (stream) {
        closedir(stream);
        errno = ENOMEM;
    }
    return list;
}

cla_os_list *cla_os_list_begin(const char *path)
{
    return list_of(opendir(path));
}

cla_os_list *cla_os_list_open(int folder)
{
    return list_of(fdopendir(folder));
}

const char *cla_os_list_next(cla_os_list *list)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(list->stream);
        if (!entry) return NULL;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            return entry->d_name;
        }
    }
}

int cla_os_list_folder(cla_os_list *list)
{
    return dirfd(list->stream);
}

void cla_os_list_end(cla_os_list *list)
{
    if (!list) return;
    closedir(list->stream);
    free(list);
}
