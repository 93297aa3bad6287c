/* platform_file.c - descriptors and what is known of files, by POSIX. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/platform.h"
#include "base/platform_apple.h"

/* ---- descriptors ----------------------------------------------------------- */

static int flags_of(int how)
{
    static const int pairs[][2] = {
        { CLA_OPEN_CREATE, O_CREAT },     { CLA_OPEN_NEW, O_CREAT | O_EXCL },
        { CLA_OPEN_EMPTY, O_TRUNC },      { CLA_OPEN_FOLDER, O_DIRECTORY },
        { CLA_OPEN_NO_LINK, O_NOFOLLOW }, { CLA_OPEN_NO_WAIT, O_NONBLOCK },
    };
    int flags = O_CLOEXEC;
    flags |= how & CLA_OPEN_BOTH ? O_RDWR : how & CLA_OPEN_WRITE ? O_WRONLY : O_RDONLY;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        flags |= how & pairs[i][0] ? pairs[i][1] : 0;
    }
    return flags;
}

int cla_os_open(const char *path, int how, unsigned mode)
{
    return open(path, flags_of(how), (mode_t)mode);
}

int cla_os_open_in(int folder, const char *name, int how, unsigned mode)
{
    return openat(folder, name, flags_of(how), (mode_t)mode);
}

bool cla_os_close(int fd)
{
    return close(fd) == 0;
}

int cla_os_duplicate(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int64_t cla_os_read(int fd, void *to, size_t size)
{
    return read(fd, to, size);
}

int64_t cla_os_read_at(int fd, void *to, size_t size, int64_t at)
{
    return pread(fd, to, size, (off_t)at);
}

int64_t cla_os_write(int fd, const void *from, size_t size)
{
    return write(fd, from, size);
}

bool cla_os_sync(int fd)
{
    return fsync(fd) == 0;
}

bool cla_os_touch(int fd)
{
    return futimens(fd, NULL) == 0;
}

bool cla_os_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void *cla_os_map(int fd, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void cla_os_unmap(void *memory, size_t size)
{
    munmap(memory, size);
}

void cla_os_discard(void *memory, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = ((uintptr_t)memory + page - 1) / page * page;
    const uintptr_t to = ((uintptr_t)memory + size) / page * page;
    if (from < to) {
        madvise((char *)memory + (from - (uintptr_t)memory), to - from, MADV_DONTNEED);
    }
}

bool cla_os_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC) == 0;
}

FILE *cla_os_fopen(const char *path, const char *mode)
{
    return fopen(path, mode);
}

cla_os_capture cla_os_capture_begin(void)
{
    fflush(stdout);
    const cla_os_capture c = { cla_os_duplicate(STDOUT_FILENO),
                               memfd_create("stdout", MFD_CLOEXEC) };
    if (c.saved >= 0 && c.file >= 0) {
        dup2(c.file, STDOUT_FILENO);
    }
    return c;
}

void cla_os_capture_end(cla_os_capture c, char *text, size_t size)
{
    fflush(stdout);
    text[0] = '\0';
    if (c.saved >= 0) {
        dup2(c.saved, STDOUT_FILENO);
        close(c.saved);
    }
    if (c.file < 0) return;
    const ssize_t got = pread(c.file, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    close(c.file);
}

/* ---- what is known of a file ----------------------------------------------- */

static bool take_info(int failed, const struct stat *s, cla_os_info *info)
{
    if (failed) return false;
    *info = (cla_os_info){
        .kind = S_ISREG(s->st_mode)   ? CLA_OS_FILE
                : S_ISDIR(s->st_mode) ? CLA_OS_FOLDER
                : S_ISLNK(s->st_mode) ? CLA_OS_LINK
                                      : CLA_OS_OTHER,
        .size = s->st_size,
        .changed_ns = (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec,
        .device = s->st_dev,
        .number = s->st_ino,
        .own = s->st_uid == geteuid(),
    };
    info->others_write = !info->own || (s->st_mode & (S_IWGRP | S_IWOTH));
    return true;
}

bool cla_os_info_of(const char *path, cla_os_info *info)
{
    struct stat s;
    return take_info(stat(path, &s), &s, info);
}

bool cla_os_info_link(const char *path, cla_os_info *info)
{
    struct stat s;
    return take_info(lstat(path, &s), &s, info);
}

bool cla_os_info_open(int fd, cla_os_info *info)
{
    struct stat s;
    return take_info(fstat(fd, &s), &s, info);
}

bool cla_os_info_in(int folder, const char *name, cla_os_info *info)
{
    struct stat s;
    return take_info(fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW), &s, info);
}

_Static_assert(F_OK == CLA_MAY_BE && X_OK == CLA_MAY_ENTER && W_OK == CLA_MAY_WRITE &&
                   R_OK == CLA_MAY_READ,
               "the bits are those of access()");

bool cla_os_may(const char *path, int what)
{
    return access(path, what) == 0;
}

bool cla_os_may_open(int folder, int what)
{
    return faccessat(folder, ".", what, AT_EACCESS) == 0;
}
