/* windows.h - calls of POSIX that tests make, on Windows. */
#pragma once

#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/platform.h"

static inline char *mkdtemp(char *name)
{
    return cla_os_make_unique(name) ? name : NULL;
}

/* The runtime's own deletes the file when it is closed. */
static inline int small_mkstemp(char *name)
{
    return cla_os_make_unique(name) && cla_os_remove_folder(name)
               ? open(name, O_RDWR | O_CREAT | O_EXCL | O_BINARY, 0600)
               : -1;
}

#define mkstemp           small_mkstemp
#define pipe(ends)        (cla_os_pipe(ends) ? 0 : -1)
#define mkdir(path, mode) ((void)(mode), cla_os_make_folder(path) ? 0 : -1)
#define setenv(name, value, replace) \
    (!(replace) && getenv(name) ? 0 : _putenv_s(name, value))
#define unsetenv(name) _putenv_s(name, "")
