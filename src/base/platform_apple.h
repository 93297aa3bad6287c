/* platform_apple.h - what the files of POSIX call and macOS lacks, in the words of
 * Linux. On other systems it is empty. */
#pragma once

#ifdef __APPLE__
#include <crt_externs.h>
#include <errno.h>
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xlocale.h>

#undef environ
#define environ (*_NSGetEnviron())
#define st_mtim st_mtimespec

/* Sets what Linux sets with the call that makes a descriptor. Returns fd. */
static inline int apple_alone(int fd)
{
    if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static inline int apple_pipe(int ends[2], int flags)
{
    (void)flags;
    if (pipe(ends)) return -1;
    apple_alone(ends[0]);
    apple_alone(ends[1]);
    return 0;
}
#define pipe2 apple_pipe

/* A file without a name. */
static inline int apple_memory(const char *name, unsigned flags)
{
    (void)name, (void)flags;
    char path[] = "/tmp/clattn-XXXXXX";
    const int fd = apple_alone(mkstemp(path));
    if (fd >= 0) unlink(path);
    return fd;
}
#define MFD_CLOEXEC  0U
#define memfd_create apple_memory

/* Semaphores without names are none there; a pipe may be written to in a handler. */
typedef struct apple_semaphore {
    int ends[2];
} apple_semaphore;

static inline int apple_semaphore_init(apple_semaphore *s)
{
    return apple_pipe(s->ends, 0);
}

static inline int apple_semaphore_post(apple_semaphore *s)
{
    return write(s->ends[1], "", 1) == 1 ? 0 : -1;
}

static inline int apple_semaphore_wait(apple_semaphore *s)
{
    char byte;
    return read(s->ends[0], &byte, 1) == 1 ? 0 : -1;
}
#define sem_t                      apple_semaphore
#define sem_init(s, shared, value) apple_semaphore_init(s)
#define sem_post(s)                apple_semaphore_post(s)
#define sem_wait(s)                apple_semaphore_wait(s)

/* Gives the path of the running program. */
static inline ssize_t apple_program(char *path, size_t size)
{
    uint32_t room = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    if (_NSGetExecutablePath(path, &room)) return -1;
    char *real = realpath(path, NULL);
    const size_t length = real ? strlen(real) : 0;
    if (length && length < size) memcpy(path, real, length);
    free(real);
    return length && length < size ? (ssize_t)length : -1;
}
#endif
