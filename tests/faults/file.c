/* file.c - wrappers of the functions that read, write and name files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults/inject.h"

/* Returns whether the call has to fail, and sets errno if so. */
static bool fails(const char *function, int usual)
{
    int code = usual;
    if (!fault_here(FAULT_FILE, function, &code)) {
        return false;
    }
    errno = code;
    return true;
}

/* ---- descriptors ------------------------------------------------------------- */

static int opened(int fd)
{
    fault_hold(FAULT_DESCRIPTOR, fd >= 0);
    return fd;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails("open", EMFILE) ? -1 : opened(__real_open(path, flags, mode));
}

/* Hardened builds call this form where no mode is given. */
WRAP(int, __open_2, const char *path, int flags)
{
    return fails("open", EMFILE) ? -1 : opened(__real___open_2(path, flags));
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails("openat", EMFILE) ? -1
                                   : opened(__real_openat(folder, path, flags, mode));
}

/* The descriptor is closed in any case, as after a real error. */
WRAP(int, close, int fd)
{
    const bool fail = fails("close", EIO);
    const int error = errno;
    const int status = __real_close(fd);
    fault_hold(FAULT_DESCRIPTOR, status ? 0 : -1);
    errno = fail ? error : errno;
    return fail ? -1 : status;
}

/* Returns the number of bytes that a call moves: half of them, as a pipe or a signal
 * may cause, where a fault is due. */
static size_t part(const char *function, size_t size)
{
    int code = 0;
    return fault_here(FAULT_SHORT, function, &code) && size > 1 ? (size + 1) / 2 : size;
}

WRAP(ssize_t, read, int fd, void *data, size_t size)
{
    return fails("read", EIO) ? -1 : __real_read(fd, data, part("short_read", size));
}

WRAP(ssize_t, pread, int fd, void *data, size_t size, off_t at)
{
    return fails("pread", EIO) ? -1
                               : __real_pread(fd, data, part("short_pread", size), at);
}

WRAP(ssize_t, __read_chk, int fd, void *data, size_t size, size_t room)
{
    return fails("read", EIO)
               ? -1
               : __real___read_chk(fd, data, part("short_read", size), room);
}

WRAP(ssize_t, write, int fd, const void *data, size_t size)
{
    return fails("write", ENOSPC) ? -1
                                  : __real_write(fd, data, part("short_write", size));
}

WRAP(ssize_t, pwrite, int fd, const void *data, size_t size, off_t at)
{
    return fails("pwrite", ENOSPC)
               ? -1
               : __real_pwrite(fd, data, part("short_pwrite", size), at);
}

WRAP(int, fsync, int fd)
{
    return fails("fsync", EIO) ? -1 : __real_fsync(fd);
}

WRAP(int, fdatasync, int fd)
{
    return fails("fdatasync", EIO) ? -1 : __real_fdatasync(fd);
}

WRAP(int, ftruncate, int fd, off_t size)
{
    return fails("ftruncate", EIO) ? -1 : __real_ftruncate(fd, size);
}

WRAP(int, flock, int fd, int operation)
{
    return fails("flock", ENOLCK) ? -1 : __real_flock(fd, operation);
}

/* ---- names ------------------------------------------------------------------- */

WRAP(int, rename, const char *from, const char *to)
{
    return fails("rename", ENOSPC) ? -1 : __real_rename(from, to);
}

WRAP(int, renameat, int from_folder, const char *from, int to_folder, const char *to)
{
    return fails("renameat", ENOSPC)
               ? -1
               : __real_renameat(from_folder, from, to_folder, to);
}

WRAP(int, unlink, const char *path)
{
    return fails("unlink", EROFS) ? -1 : __real_unlink(path);
}

WRAP(int, unlinkat, int folder, const char *path, int flags)
{
    return fails("unlinkat", EROFS) ? -1 : __real_unlinkat(folder, path, flags);
}

WRAP(int, mkdir, const char *path, mode_t mode)
{
    return fails("mkdir", ENOSPC) ? -1 : __real_mkdir(path, mode);
}

WRAP(int, fstat, int fd, struct stat *info)
{
    return fails("fstat", EIO) ? -1 : __real_fstat(fd, info);
}

/* ---- folders ----------------------------------------------------------------- */

WRAP(int, scandir, const char *path, struct dirent ***entries,
     int (*choose)(const struct dirent *),
     int (*compare)(const struct dirent **, const struct dirent **))
{
    return fails("scandir", EIO) ? -1 : __real_scandir(path, entries, choose, compare);
}

WRAP(int, glob, const char *pattern, int flags, int (*error)(const char *, int),
     glob_t *found)
{
    return fails("glob", EIO) ? GLOB_ABORTED
                              : __real_glob(pattern, flags, error, found);
}

WRAP(FTS *, fts_open, char *const *roots, int options,
     int (*compare)(const FTSENT **, const FTSENT **))
{
    return fails("fts_open", EIO) ? NULL : __real_fts_open(roots, options, compare);
}

WRAP(FTSENT *, fts_read, FTS *tree)
{
    return fails("fts_read", EIO) ? NULL : __real_fts_read(tree);
}

WRAP(DIR *, opendir, const char *path)
{
    DIR *folder = fails("opendir", EMFILE) ? NULL : __real_opendir(path);
    fault_hold(FAULT_DESCRIPTOR, folder ? 1 : 0);
    return folder;
}

/* Closes the descriptor that opendir opened or fdopendir took over. */
WRAP(int, closedir, DIR *folder)
{
    fault_hold(FAULT_DESCRIPTOR, -1);
    return __real_closedir(folder);
}

WRAP(DIR *, fdopendir, int fd)
{
    return fails("fdopendir", ENOMEM) ? NULL : __real_fdopendir(fd);
}

WRAP(struct dirent *, readdir, DIR *folder)
{
    return fails("readdir", EIO) ? NULL : __real_readdir(folder);
}
