/* platform_path_windows.c - UTF-8 and wide names, long paths, reserved names. */
#include <errno.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/platform_windows.h"

/* ---- errors ---------------------------------------------------------------- */

bool cla_win_failed(void)
{
    static const struct {
        DWORD windows;
        int code;
    } table[] = {
        { ERROR_FILE_NOT_FOUND, ENOENT },
        { ERROR_PATH_NOT_FOUND, ENOENT },
        { ERROR_INVALID_NAME, ENOENT },
        { ERROR_BAD_PATHNAME, ENOENT },
        { ERROR_BAD_NETPATH, ENOENT },
        { ERROR_INVALID_DRIVE, ENOENT },
        { ERROR_ALREADY_EXISTS, EEXIST },
        { ERROR_FILE_EXISTS, EEXIST },
        { ERROR_DIRECTORY, ENOTDIR },
        { ERROR_DIR_NOT_EMPTY, ENOTEMPTY },
        { ERROR_DISK_FULL, ENOSPC },
        { ERROR_HANDLE_DISK_FULL, ENOSPC },
        { ERROR_ACCESS_DENIED, EACCES },
        { ERROR_SHARING_VIOLATION, EACCES },
        { ERROR_WRITE_PROTECT, EROFS },
        { ERROR_NOT_ENOUGH_MEMORY, ENOMEM },
        { ERROR_OUTOFMEMORY, ENOMEM },
        { ERROR_TOO_MANY_OPEN_FILES, EMFILE },
        { ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG },
        { ERROR_MORE_DATA, ENAMETOOLONG },
        { ERROR_LOCK_VIOLATION, EWOULDBLOCK },
        { ERROR_IO_PENDING, EWOULDBLOCK },
        { ERROR_BROKEN_PIPE, EPIPE },
        { ERROR_NO_DATA, EPIPE },
        { ERROR_INVALID_HANDLE, EBADF },
        { ERROR_NO_UNICODE_TRANSLATION, EILSEQ },
    };
    const DWORD error = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].windows == error) errno = table[i].code;
    }
    return false;
}

/* ---- texts ----------------------------------------------------------------- */

WCHAR *cla_win_wide(const char *text)
{
    const int size =
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    if (size <= 0) {
        cla_win_failed();
        return NULL;
    }
    WCHAR *wide = calloc((size_t)size, sizeof *wide);
    if (wide) MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, size);
    return wide;
}

char *cla_win_utf8(const WCHAR *wide)
{
    const int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    if (size <= 0) {
        cla_win_failed();
        return NULL;
    }
    char *text = calloc((size_t)size, 1);
    if (text) WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL);
    return text;
}

/* ---- paths ----------------------------------------------------------------- */

enum { LONG_PATH = 240 }; // a folder may have 247 units, a file 259

static bool is_separator(WCHAR c)
{
    return c == L'/' || c == L'\\';
}

/* Returns whether a part of a path [size] is a device, with any ending. */
static bool is_device(const WCHAR *part, size_t size)
{
    static const WCHAR *const names[] = { L"CON", L"PRN", L"AUX", L"NUL" };
    static const WCHAR *const numbered[] = { L"COM", L"LPT" };
    size_t stem = 0;
    while (stem < size && part[stem] != L'.' && part[stem] != L' ' &&
           part[stem] != L':') {
        stem++;
    }
    for (size_t i = 0; stem == 3 && i < sizeof names / sizeof *names; i++) {
        if (_wcsnicmp(part, names[i], 3) == 0) return true;
    }
    for (size_t i = 0; stem == 4 && i < sizeof numbered / sizeof *numbered; i++) {
        if (_wcsnicmp(part, numbered[i], 3) == 0 && part[3] >= L'1' && part[3] <= L'9')
            return true;
    }
    return false;
}

static bool has_device(const WCHAR *path)
{
    while (*path) {
        size_t size = 0;
        while (path[size] && !is_separator(path[size])) {
            size++;
        }
        if (is_device(path, size)) return true;
        path += size + (path[size] != 0);
    }
    return false;
}

/* Makes a long path absolute, with the prefix that lifts the limit. Consumes wide. */
static WCHAR *lift_limit(WCHAR *wide)
{
    static const WCHAR prefix[] = L"\\\\?\\", share[] = L"\\\\?\\UNC";
    const DWORD need = GetFullPathNameW(wide, 0, NULL, NULL);
    if (need < LONG_PATH || wcsncmp(wide, prefix, 4) == 0) return wide;
    WCHAR *out = calloc(need + 16, sizeof *out), *full = calloc(need, sizeof *full);
    if (out && full && GetFullPathNameW(wide, need, full, NULL)) {
        const bool network = full[0] == L'\\' && full[1] == L'\\';
        wcscpy(out, network ? share : prefix);
        wcscat(out, full + network);
    } else {
        free(out);
        out = NULL;
        errno = ENOMEM;
    }
    free(full);
    free(wide);
    return out;
}

WCHAR *cla_win_path(const char *path)
{
    if (!*path) {
        errno = ENOENT;
        return NULL;
    }
    if (strcmp(path, "/dev/null") == 0) return cla_win_wide("NUL");
    WCHAR *wide = cla_win_wide(path);
    if (wide && has_device(wide)) {
        free(wide);
        errno = EINVAL;
        return NULL;
    }
    return wide ? lift_limit(wide) : NULL;
}

WCHAR *cla_win_path_of(HANDLE file)
{
    const DWORD need = GetFinalPathNameByHandleW(file, NULL, 0, 0);
    WCHAR *path = need ? calloc(need + 1, sizeof *path) : NULL;
    if (path && GetFinalPathNameByHandleW(file, path, need + 1, 0)) return path;
    cla_win_failed();
    free(path);
    return NULL;
}

HANDLE cla_win_handle(int fd)
{
    const intptr_t handle = fd < 0 ? -1 : _get_osfhandle(fd);
    if (handle != -1 && handle != -2) return (HANDLE)handle;
    errno = EBADF;
    return INVALID_HANDLE_VALUE;
}

WCHAR *cla_win_path_in(int folder, const char *name)
{
    const HANDLE handle = cla_win_handle(folder);
    WCHAR *path = handle == INVALID_HANDLE_VALUE ? NULL : cla_win_path_of(handle);
    WCHAR *wide = path ? cla_win_wide(name) : NULL;
    WCHAR *whole = NULL;
    if (wide && has_device(wide)) {
        errno = EINVAL;
    } else if (wide && wcscmp(wide, L".") == 0) {
        whole = path;
        path = NULL;
    } else if (wide) {
        const size_t size = wcslen(path) + wcslen(wide) + 2;
        whole = calloc(size, sizeof *whole);
        if (whole) {
            wcscpy(whole, path);
            wcscat(whole, L"\\");
            wcscat(whole, wide);
        }
    }
    free(wide);
    free(path);
    return whole;
}
