/* platform_file_windows.c - descriptors and what is known of files, by Windows.
 *
 * A descriptor of a folder is one of the C runtime, too: names in it are found by its
 * path. Files are shared for all uses, so that they can be renamed over and removed
 * while they are open. */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "base/platform_windows.h"

static const DWORD SHARE = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/* ---- descriptors ----------------------------------------------------------- */

static HANDLE open_handle(const WCHAR *path, int how)
{
    const DWORD access = how & CLA_OPEN_BOTH    ? GENERIC_READ | GENERIC_WRITE
                         : how & CLA_OPEN_WRITE ? GENERIC_WRITE
                                                : GENERIC_READ;
    const DWORD creation = how & CLA_OPEN_NEW ? CREATE_NEW
                           : how & CLA_OPEN_CREATE
                               ? (how & CLA_OPEN_EMPTY ? CREATE_ALWAYS : OPEN_ALWAYS)
                           : how & CLA_OPEN_EMPTY ? TRUNCATE_EXISTING
                                                  : OPEN_EXISTING;
    const DWORD link = how & CLA_OPEN_NO_LINK ? FILE_FLAG_OPEN_REPARSE_POINT : 0;
    const DWORD flags = FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS | link;
    // cla_os_touch works on files that are open for reading, where the rights allow it
    HANDLE file = CreateFileW(path, access | FILE_WRITE_ATTRIBUTES, SHARE, NULL,
                              creation, flags, NULL);
    if (file == INVALID_HANDLE_VALUE && access == GENERIC_READ) {
        file = CreateFileW(path, access, SHARE, NULL, creation, flags, NULL);
    }
    return file;
}

/* Returns why an open file is not what was asked for; 0 if it is. */
static int objection(HANDLE file, int how)
{
    BY_HANDLE_FILE_INFORMATION facts;
    if (GetFileType(file) != FILE_TYPE_DISK ||
        !GetFileInformationByHandle(file, &facts))
        return how & CLA_OPEN_FOLDER ? ENOTDIR : 0;
    const bool folder = facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    const bool link = facts.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT;
    if (link && how & CLA_OPEN_NO_LINK) return ELOOP;
    if (!folder && how & CLA_OPEN_FOLDER) return ENOTDIR;
    return folder && how & (CLA_OPEN_WRITE | CLA_OPEN_BOTH) ? EISDIR : 0;
}

int cla_win_open(const WCHAR *path, int how)
{
    HANDLE file = open_handle(path, how);
    if (file == INVALID_HANDLE_VALUE) {
        cla_win_failed();
        return -1;
    }
    const int objects = objection(file, how);
    const int fd =
        objects ? -1 : _open_osfhandle((intptr_t)file, _O_BINARY | _O_NOINHERIT);
    if (fd < 0) {
        CloseHandle(file);
        errno = objects ? objects : EMFILE;
    }
    return fd;
}

int cla_os_open(const char *path, int how, unsigned mode)
{
    (void)mode;
    WCHAR *wide = cla_win_path(path);
    const int fd = wide ? cla_win_open(wide, how) : -1;
    free(wide);
    return fd;
}

int cla_os_open_in(int folder, const char *name, int how, unsigned mode)
{
    (void)mode;
    WCHAR *wide = cla_win_path_in(folder, name);
    const int fd = wide ? cla_win_open(wide, how) : -1;
    free(wide);
    return fd;
}

bool cla_os_close(int fd)
{
    return _close(fd) == 0;
}

int cla_os_duplicate(int fd)
{
    const int copy = _dup(fd);
    if (copy >= 0) SetHandleInformation(cla_win_handle(copy), HANDLE_FLAG_INHERIT, 0);
    return copy;
}

static unsigned most(size_t size)
{
    return size > INT_MAX / 2 ? INT_MAX / 2 : (unsigned)size;
}

int64_t cla_os_read(int fd, void *to, size_t size)
{
    const int got = _read(fd, to, most(size));
    if (got < 0) {
        const int error = errno;
        cla_os_info info;
        const bool folder = cla_os_info_open(fd, &info) && info.kind == CLA_OS_FOLDER;
        errno = folder ? EISDIR : error;
    }
    return got;
}

int64_t cla_os_read_at(int fd, void *to, size_t size, int64_t at)
{
    OVERLAPPED place = { .Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32) };
    DWORD got = 0;
    if (ReadFile(cla_win_handle(fd), to, most(size), &got, &place)) return got;
    if (GetLastError() == ERROR_HANDLE_EOF) return 0;
    cla_win_failed();
    return -1;
}

int64_t cla_os_write(int fd, const void *from, size_t size)
{
    return _write(fd, from, most(size));
}

bool cla_os_sync(int fd)
{
    return _commit(fd) == 0;
}

bool cla_os_touch(int fd)
{
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    return SetFileTime(cla_win_handle(fd), NULL, NULL, &now) || cla_win_failed();
}

bool cla_os_lock(int fd)
{
    OVERLAPPED place = { 0 };
    return LockFileEx(cla_win_handle(fd),
                      LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
                      &place) ||
           cla_win_failed();
}

void *cla_os_map(int fd, size_t size)
{
    const uint64_t all = size;
    HANDLE map = CreateFileMappingW(cla_win_handle(fd), NULL, PAGE_READONLY,
                                    (DWORD)(all >> 32), (DWORD)all, NULL);
    void *memory = map ? MapViewOfFile(map, FILE_MAP_READ, 0, 0, size) : NULL;
    if (!memory) {
        cla_win_failed();
    }
    if (map) {
        CloseHandle(map); // the view keeps it
    }
    return memory;
}

void cla_os_unmap(void *memory, size_t size)
{
    (void)size;
    UnmapViewOfFile(memory);
}

void cla_os_discard(void *memory, size_t size)
{
    (void)memory;
    (void)size;
}

bool cla_os_pipe(int ends[2])
{
    return _pipe(ends, 1 << 16, _O_BINARY | _O_NOINHERIT) == 0;
}

FILE *cla_os_fopen(const char *path, const char *mode)
{
    const int how = *mode == 'r'   ? CLA_OPEN_READ
                    : *mode == 'w' ? CLA_OPEN_WRITE | CLA_OPEN_CREATE | CLA_OPEN_EMPTY
                                   : CLA_OPEN_WRITE | CLA_OPEN_CREATE;
    const int fd = cla_os_open(path, how, 0666);
    if (fd >= 0 && *mode == 'a') _lseeki64(fd, 0, SEEK_END);
    FILE *file = fd < 0 ? NULL : _fdopen(fd, mode);
    if (!file && fd >= 0) _close(fd);
    return file;
}

/* Makes a file that goes when it is closed. */
static int scratch_file(void)
{
    char name[MAX_PATH * 3];
    static long count;
    snprintf(name, sizeof name, "%s/clattn-%lu-%ld.tmp", cla_os_temporary(),
             GetCurrentProcessId(), InterlockedIncrement(&count));
    WCHAR *wide = cla_win_path(name);
    const int fd = wide ? _wopen(wide,
                                 _O_RDWR | _O_CREAT | _O_EXCL | _O_TEMPORARY |
                                     _O_BINARY | _O_NOINHERIT,
                                 0600)
                        : -1;
    free(wide);
    return fd;
}

cla_os_capture cla_os_capture_begin(void)
{
    fflush(stdout);
    const cla_os_capture c = { cla_os_duplicate(CLA_STDOUT), scratch_file() };
    if (c.saved >= 0 && c.file >= 0) _dup2(c.file, CLA_STDOUT);
    return c;
}

void cla_os_capture_end(cla_os_capture c, char *text, size_t size)
{
    fflush(stdout);
    text[0] = '\0';
    if (c.saved >= 0) {
        _dup2(c.saved, CLA_STDOUT);
        _close(c.saved);
    }
    if (c.file < 0) return;
    const int64_t got = cla_os_read_at(c.file, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    _close(c.file);
}

/* ---- what is known of a file ----------------------------------------------- */

static int64_t unix_ns(FILETIME time)
{
    const uint64_t since_1601 =
        (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
    return ((int64_t)since_1601 - 116444736000000000) * 100;
}

/* Windows keeps other users out by lists of rights, which a folder hands on to its
 * files: one's own folders are closed to them. */
static bool take_info(HANDLE file, cla_os_info *info)
{
    BY_HANDLE_FILE_INFORMATION f;
    *info = (cla_os_info){ .kind = CLA_OS_OTHER, .own = true };
    if (file == INVALID_HANDLE_VALUE) return false;
    if (GetFileType(file) != FILE_TYPE_DISK) return true;
    if (!GetFileInformationByHandle(file, &f)) return cla_win_failed();
    info->kind = (f.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) ? CLA_OS_LINK
                 : (f.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)   ? CLA_OS_FOLDER
                                                                     : CLA_OS_FILE;
    info->size = (int64_t)((uint64_t)f.nFileSizeHigh << 32 | f.nFileSizeLow);
    info->changed_ns = unix_ns(f.ftLastWriteTime);
    info->device = f.dwVolumeSerialNumber;
    info->number = (uint64_t)f.nFileIndexHigh << 32 | f.nFileIndexLow;
    return true;
}

/* Takes the facts of a path, which it frees; with links: of the file behind a link. */
static bool info_of(WCHAR *path, bool links, cla_os_info *info)
{
    if (!path) return false;
    const DWORD flags =
        FILE_FLAG_BACKUP_SEMANTICS | (links ? 0 : FILE_FLAG_OPEN_REPARSE_POINT);
    HANDLE file = CreateFileW(path, FILE_READ_ATTRIBUTES, SHARE, NULL, OPEN_EXISTING,
                              flags, NULL);
    free(path);
    if (file == INVALID_HANDLE_VALUE) return cla_win_failed();
    const bool known = take_info(file, info);
    CloseHandle(file);
    if (links && info->kind == CLA_OS_LINK)
        info->kind = CLA_OS_FILE; // a file of a cloud
    return known;
}

bool cla_os_info_of(const char *path, cla_os_info *info)
{
    return info_of(cla_win_path(path), true, info);
}

bool cla_os_info_link(const char *path, cla_os_info *info)
{
    return info_of(cla_win_path(path), false, info);
}

bool cla_os_info_open(int fd, cla_os_info *info)
{
    return take_info(cla_win_handle(fd), info);
}

bool cla_os_info_in(int folder, const char *name, cla_os_info *info)
{
    return info_of(cla_win_path_in(folder, name), false, info);
}

static bool may(WCHAR *path, int what)
{
    if (!path) return false;
    const DWORD found = GetFileAttributesW(path);
    free(path);
    if (found == INVALID_FILE_ATTRIBUTES) return cla_win_failed();
    const bool file = !(found & FILE_ATTRIBUTE_DIRECTORY);
    if (file && what & CLA_MAY_WRITE && found & FILE_ATTRIBUTE_READONLY) {
        errno = EACCES;
        return false;
    }
    return true;
}

bool cla_os_may(const char *path, int what)
{
    return may(cla_win_path(path), what);
}

bool cla_os_may_open(int folder, int what)
{
    return may(cla_win_path_in(folder, "."), what);
}
