/* stream.c - wrappers of the functions of stdio.
 *
 * Output to stderr never fails, as the checks read it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "faults/inject.h"

/* Returns whether the call has to fail. The stream keeps its error, as after a real
 * one. */
static bool fails(const char *function, FILE *stream, int usual)
{
    int code = usual;
    if (stream == stderr || !fault_here(FAULT_FILE, function, &code)) {
        return false;
    }
    if (stream) {
        stream->_flags |= 0x20; // the flag that ferror() tests in glibc
    }
    errno = code;
    return true;
}

static FILE *opened(FILE *stream)
{
    fault_hold(FAULT_STREAM, stream ? 1 : 0);
    return stream;
}

WRAP(FILE *, fopen, const char *path, const char *mode)
{
    return fails("fopen", NULL, EMFILE) ? NULL : opened(__real_fopen(path, mode));
}

/* The stream takes over the descriptor. */
WRAP(FILE *, fdopen, int fd, const char *mode)
{
    FILE *stream = fails("fdopen", NULL, ENOMEM) ? NULL : __real_fdopen(fd, mode);
    fault_hold(FAULT_DESCRIPTOR, stream ? -1 : 0);
    return opened(stream);
}

/* The stream is closed in any case. */
WRAP(int, fclose, FILE *stream)
{
    int code = ENOSPC;
    const bool fail = fault_here(FAULT_FILE, "fclose", &code);
    const int status = __real_fclose(stream);
    fault_hold(FAULT_STREAM, -1);
    errno = fail ? code : errno;
    return fail ? EOF : status;
}

WRAP(int, fflush, FILE *stream)
{
    return fails("fflush", stream, ENOSPC) ? EOF : __real_fflush(stream);
}

WRAP(size_t, fread, void *data, size_t size, size_t n, FILE *stream)
{
    return fails("fread", stream, EIO) ? 0 : __real_fread(data, size, n, stream);
}

WRAP(size_t, fwrite, const void *data, size_t size, size_t n, FILE *stream)
{
    return fails("fwrite", stream, ENOSPC) ? 0 : __real_fwrite(data, size, n, stream);
}

WRAP(char *, fgets, char *line, int size, FILE *stream)
{
    return fails("fgets", stream, EIO) ? NULL : __real_fgets(line, size, stream);
}

static bool line_fails(FILE *stream)
{
    int code = 0;
    if (fault_here(FAULT_ALLOC, "getline_memory", &code)) {
        errno = ENOMEM;
        return true;
    }
    return fails("getline", stream, EIO);
}

WRAP(ssize_t, getline, char **line, size_t *cap, FILE *stream)
{
    return line_fails(stream) ? -1 : __real_getline(line, cap, stream);
}

/* Optimised builds call this form of getline. */
WRAP(ssize_t, __getdelim, char **line, size_t *cap, int end, FILE *stream)
{
    return line_fails(stream) ? -1 : __real___getdelim(line, cap, end, stream);
}

WRAP(int, fputs, const char *text, FILE *stream)
{
    return fails("fputs", stream, ENOSPC) ? EOF : __real_fputs(text, stream);
}

WRAP(int, fputc, int c, FILE *stream)
{
    return fails("fputc", stream, ENOSPC) ? EOF : __real_fputc(c, stream);
}

WRAP(int, puts, const char *text)
{
    return fails("puts", stdout, ENOSPC) ? EOF : __real_puts(text);
}

WRAP(int, putchar, int c)
{
    return fails("putchar", stdout, ENOSPC) ? EOF : __real_putchar(c);
}

int __real_vfprintf(FILE *stream, const char *format, va_list args);
int __wrap_vfprintf(FILE *stream, const char *format, va_list args);
int __wrap___vfprintf_chk(FILE *stream, int flag, const char *format, va_list args);
int __wrap_printf(const char *format, ...);
int __wrap___printf_chk(int flag, const char *format, ...);
int __wrap_fprintf(FILE *stream, const char *format, ...);
int __wrap___fprintf_chk(FILE *stream, int flag, const char *format, ...);

static int print(const char *function, FILE *stream, const char *format, va_list args)
{
    return fails(function, stream, ENOSPC) ? -1 : __real_vfprintf(stream, format, args);
}

int __wrap_vfprintf(FILE *stream, const char *format, va_list args)
{
    return print("vfprintf", stream, format, args);
}

/* The forms of hardened builds have one more parameter, a flag. */
int __wrap___vfprintf_chk(FILE *stream, int flag, const char *format, va_list args)
{
    (void)flag;
    return print("vfprintf", stream, format, args);
}

int __wrap_printf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int size = print("printf", stdout, format, args);
    va_end(args);
    return size;
}

int __wrap___printf_chk(int flag, const char *format, ...)
{
    (void)flag;
    va_list args;
    va_start(args, format);
    const int size = print("printf", stdout, format, args);
    va_end(args);
    return size;
}

int __wrap_fprintf(FILE *stream, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int size = print("fprintf", stream, format, args);
    va_end(args);
    return size;
}

int __wrap___fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    (void)flag;
    va_list args;
    va_start(args, format);
    const int size = print("fprintf", stream, format, args);
    va_end(args);
    return size;
}
