/* platform_folder_windows.c - names of files and lists of folders, by Windows. */
#include <errno.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/platform.h"
#include "base/platform_windows.h"

/* ---- names ----------------------------------------------------------------- */

bool cla_win_rename(const WCHAR *from, const WCHAR *to)
{
    enum { TRIES = 40, PAUSE_MS = 5 }; // a scanner may hold a file for a moment
    const DWORD found = GetFileAttributesW(from);
    const bool folder =
        found != INVALID_FILE_ATTRIBUTES && found & FILE_ATTRIBUTE_DIRECTORY;
    if (folder) RemoveDirectoryW(to); // which must be empty, as POSIX has it
    for (int i = 0; i < TRIES; i++) {
        if (MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING)) return true;
        const DWORD error = GetLastError();
        if (error != ERROR_SHARING_VIOLATION && error != ERROR_ACCESS_DENIED) break;
        Sleep(PAUSE_MS);
    }
    return cla_win_failed();
}

/* Renames and frees both paths. */
static bool rename_paths(WCHAR *from, WCHAR *to)
{
    const bool renamed = from && to && cla_win_rename(from, to);
    free(from);
    free(to);
    return renamed;
}

bool cla_os_rename_in(int folder, const char *from, const char *to)
{
    return rename_paths(cla_win_path_in(folder, from), cla_win_path_in(folder, to));
}

bool cla_os_rename(const char *from, const char *to)
{
    return rename_paths(cla_win_path(from), cla_win_path(to));
}

/* Calls a function with a path, which it frees. */
static bool apply(BOOL(WINAPI *call)(const WCHAR *), WCHAR *path)
{
    if (!path) return false;
    const bool done = call(path) || cla_win_failed();
    free(path);
    return done;
}

static BOOL WINAPI make(const WCHAR *path)
{
    return CreateDirectoryW(path, NULL);
}

bool cla_os_remove(const char *path)
{
    return apply(DeleteFileW, cla_win_path(path));
}

bool cla_os_remove_in(int folder, const char *name)
{
    return apply(DeleteFileW, cla_win_path_in(folder, name));
}

bool cla_os_remove_folder(const char *path)
{
    return apply(RemoveDirectoryW, cla_win_path(path));
}

bool cla_os_remove_folder_in(int folder, const char *name)
{
    return apply(RemoveDirectoryW, cla_win_path_in(folder, name));
}

bool cla_os_make_folder(const char *path)
{
    return apply(make, cla_win_path(path));
}

/* The folder around hands its rights on: a cache folder lies in the user's own. */
bool cla_os_make_private_in(int folder, const char *name)
{
    return apply(make, cla_win_path_in(folder, name));
}

bool cla_os_make_private(int fd)
{
    (void)fd;
    return true;
}

bool cla_os_make_unique(char *name)
{
    enum { TRIES = 1000, DIGITS = 6 };
    char *digits = name + strlen(name) - DIGITS;
    for (unsigned i = 0; i < TRIES; i++) {
        const unsigned number = (unsigned)GetCurrentProcessId() * TRIES + i;
        snprintf(digits, DIGITS + 1, "%06x", number & 0xFFFFFF);
        if (cla_os_make_folder(name)) return true;
        if (errno != EEXIST) return false;
    }
    return false;
}

bool cla_os_is_slash(char c)
{
    return c == '/' || c == '\\';
}

bool cla_os_is_absolute(const char *path)
{
    return cla_os_is_slash(*path) || (*path && path[1] == ':');
}

char *cla_os_last_slash(const char *path)
{
    char *last = NULL;
    for (const char *c = path; *c; c++) {
        if (cla_os_is_slash(*c)) last = (char *)c;
    }
    return last;
}

/* Returns a path with '/' and without the prefix of long ones; frees wide. */
static char *plain(WCHAR *wide)
{
    char *text = wide ? cla_win_utf8(wide) : NULL;
    free(wide);
    if (text && strncmp(text, "\\\\?\\", 4) == 0)
        memmove(text, text + 4, strlen(text) - 3);
    for (char *c = text; c && *c; c++) {
        if (*c == '\\') *c = '/';
    }
    return text;
}

char *cla_os_real_path(const char *path)
{
    const int fd = cla_os_open(path, CLA_OPEN_READ, 0);
    if (fd < 0) return NULL;
    char *real = plain(cla_win_path_of(cla_win_handle(fd)));
    _close(fd);
    return real;
}

const char *cla_os_temporary(void)
{
    static const char *const names[] = { "TMPDIR", "TEMP", "TMP" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = cla_os_getenv(names[i]);
        if (value && *value) return value;
    }
    return ".";
}

char *cla_os_user_folder(const char *variable, const char *below_home)
{
    (void)below_home;
    const char *base = cla_os_getenv(variable);
    if (!base || !cla_os_is_absolute(base)) base = cla_os_getenv("LOCALAPPDATA");
    return base && *base ? strdup(base) : NULL;
}

const char *cla_os_drivers(void)
{
    return NULL;
}

bool cla_os_free_bytes(const char *folder, uint64_t *bytes)
{
    ULARGE_INTEGER room;
    WCHAR *wide = cla_win_path(folder);
    const bool known = wide && GetDiskFreeSpaceExW(wide, &room, NULL, NULL);
    free(wide);
    if (known) *bytes = room.QuadPart;
    return known;
}

/* ---- lists of folders ------------------------------------------------------ */

struct cla_os_list {
    HANDLE find;
    WIN32_FIND_DATAW data;
    bool first; // data has not been given
    char *name;
    int fd;
};

/* Begins to list what a pattern names, which it frees. */
static cla_os_list *begin(WCHAR *pattern, int fd)
{
    cla_os_list *list = pattern ? calloc(1, sizeof *list) : NULL;
    if (list) {
        list->find = FindFirstFileW(pattern, &list->data);
        list->first = list->find != INVALID_HANDLE_VALUE;
        list->fd = fd;
        if (!list->first && GetLastError() != ERROR_FILE_NOT_FOUND) {
            cla_win_failed();
            free(list);
            list = NULL;
        }
    }
    free(pattern);
    return list;
}

cla_os_list *cla_os_list_open(int folder)
{
    return begin(cla_win_path_in(folder, "*"), folder);
}

/* The pattern is made of the path: wine 8 does not tell that of an open file when it is
 * long. */
cla_os_list *cla_os_list_begin(const char *path)
{
    const size_t room = strlen(path) + 3;
    char *pattern = malloc(room);
    if (!pattern) return NULL;
    snprintf(pattern, room, "%s/*", path);
    const int fd = cla_os_open(path, CLA_OPEN_READ | CLA_OPEN_FOLDER, 0);
    cla_os_list *list = fd < 0 ? NULL : begin(cla_win_path(pattern), fd);
    if (!list && fd >= 0) _close(fd);
    free(pattern);
    return list;
}

/* Goes to the next entry. Returns false at the end with errno 0, or another errno. */
static bool step(cla_os_list *list)
{
    errno = 0;
    if (list->find == INVALID_HANDLE_VALUE) return false;
    if (list->first) {
        list->first = false;
        return true;
    }
    if (FindNextFileW(list->find, &list->data)) return true;
    if (GetLastError() != ERROR_NO_MORE_FILES) cla_win_failed();
    return false;
}

const char *cla_os_list_next(cla_os_list *list)
{
    while (step(list)) {
        const WCHAR *name = list->data.cFileName;
        if (wcscmp(name, L".") == 0 || wcscmp(name, L"..") == 0) continue;
        free(list->name);
        list->name = cla_win_utf8(name);
        return list->name;
    }
    return NULL;
}

int cla_os_list_folder(cla_os_list *list)
{
    return list->fd;
}

void cla_os_list_end(cla_os_list *list)
{
    if (!list) return;
    if (list->find != INVALID_HANDLE_VALUE) FindClose(list->find);
    _close(list->fd);
    free(list->name);
    free(list);
}
