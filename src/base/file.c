/* file.c - reads and writes whole files. */
#include "base/file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "base/text.h"

static cla_status fail_io(const char *what, const char *path)
{
    const int error = errno;
    char reason[128];
    return cla_fail(CLA_E_IO, "%s: cannot %s: %s", *path ? path : "''", what,
                    cla_os_reason(error, reason, sizeof reason));
}

/* ---- reading ----------------------------------------------------------------- */

/* Bytes of a read: few enough that `seen` finds them in a cache. */
enum { PIECE = 1 << 17 };

static cla_status read_all(int fd, const char *path, cla_text *text,
                           cla_file_seen *seen, void *user)
{
    cla_os_info info;
    size_t room = PIECE; // for a pipe, whose size is unknown
    if (cla_os_info_open(fd, &info) && info.kind == CLA_OS_FILE && info.size > 0) {
        room = (size_t)info.size + 1; // 1 more for the read that finds the end
    }
    for (;;) {
        if (text->cap < text->size + 2) {
            CLA_TRY(cla_grow(&text->data, &text->cap, text->size + room + 1, 1));
            room = PIECE;
        }
        const size_t left = text->cap - text->size - 1;
        const int64_t got =
            cla_os_read(fd, text->data + text->size, left < PIECE ? left : PIECE);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_io("read", path);
        text->size += (size_t)got;
        text->data[text->size] = '\0';
        if (got == 0) return CLA_OK;
        if (seen) seen(user, text->data, text->size);
    }
}

static cla_status hand_over(int fd, const char *path, char **data, size_t *size,
                            cla_file_seen *seen, void *user)
{
    cla_text text = { 0 };
    const cla_status status = read_all(fd, path, &text, seen, user);
    if (status) {
        cla_text_free(&text);
    }
    *data = text.data;
    *size = text.size;
    return status;
}

/* Opens a regular file. With CLA_OPEN_NO_WAIT a FIFO is refused at once, without a wait
 * for its writer. Paths under /dev, such as those of <(command), name descriptors that
 * are already open. */
static cla_status open_regular(const char *path, int *fd)
{
    const bool handed = strncmp(path, "/dev/", 5) == 0;
    cla_os_info info;
    *fd = cla_os_open(path, CLA_OPEN_READ | (handed ? 0 : CLA_OPEN_NO_WAIT), 0);
    if (*fd < 0) return fail_io("open", path);
    // read() reports that a folder is one
    if (!handed && cla_os_info_open(*fd, &info) && info.kind != CLA_OS_FILE &&
        info.kind != CLA_OS_FOLDER) {
        cla_os_close(*fd);
        return cla_fail(CLA_E_IO, "%s: is not a regular file", path);
    }
    return CLA_OK;
}

cla_status cla_file_watch(const char *path, char **data, size_t *size,
                          cla_file_seen *seen, void *user)
{
    int fd = -1;
    *data = NULL;
    *size = 0;
    CLA_TRY(open_regular(path, &fd));
    const cla_status status = hand_over(fd, path, data, size, seen, user);
    cla_os_close(fd);
    return status;
}

cla_status cla_file_read(const char *path, char **data, size_t *size)
{
    return cla_file_watch(path, data, size, NULL, NULL);
}

cla_status cla_input_read(const char *path, char **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    const int fd = cla_os_open(path, CLA_OPEN_READ, 0);
    if (fd < 0) return fail_io("open", path);
    const cla_status status = hand_over(fd, path, data, size, NULL, NULL);
    cla_os_close(fd);
    return status;
}

cla_status cla_stdin_read(char **data, size_t *size)
{
    return hand_over(CLA_STDIN, "standard input", data, size, NULL, NULL);
}

cla_status cla_file_compare(const char *path, const char *data, size_t size, bool *same)
{
    char *found = NULL;
    size_t found_size = 0;
    CLA_TRY(cla_file_read(path, &found, &found_size));
    *same = found_size == size && (!size || memcmp(found, data, size) == 0);
    free(found);
    return CLA_OK;
}

/* ---- writing ----------------------------------------------------------------- */

static cla_status write_all(int fd, const char *path, const char *data, size_t size)
{
    while (size > 0) {
        const int64_t put = cla_os_write(fd, data, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return fail_io("write", path);
        data += put;
        size -= (size_t)put;
    }
    return CLA_OK;
}

/* Reads the bytes back: a fault of memory or disk must not replace a good file. */
static cla_status compare_written(int fd, const char *path, const char *data,
                                  size_t size)
{
    char piece[65536];
    for (size_t at = 0; at < size;) {
        const size_t left = size - at;
        const size_t want = left < sizeof piece ? left : sizeof piece;
        const int64_t got = cla_os_read_at(fd, piece, want, (int64_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_io("read back", path);
        if (got == 0 || memcmp(piece, data + at, (size_t)got) != 0) {
            return cla_fail(CLA_E_IO,
                            "%s: the bytes read back are not those that were written; "
                            "the file stays as it was",
                            path);
        }
        at += (size_t)got;
    }
    return CLA_OK;
}

static cla_status write_and_sync(int fd, const char *path, const void *data,
                                 size_t size)
{
    cla_status status = write_all(fd, path, data, size);
    if (!status && !cla_os_sync(fd)) status = fail_io("sync", path);
    if (!status) status = compare_written(fd, path, data, size);
    if (!cla_os_close(fd) && !status) status = fail_io("close", path);
    return status;
}

/* Creates a new file beside path. The process id and a counter separate writers. A name
 * that a killed process left behind is skipped. */
static cla_status create_beside(cla_text *name, const char *path, int *fd)
{
    static _Atomic unsigned writes;
    do {
        name->size = 0;
        CLA_TRY(cla_text_add(name, "%s.%ld-%u.tmp", path, (long)cla_os_process(),
                             atomic_fetch_add(&writes, 1)));
        *fd = cla_os_open(name->data, CLA_OPEN_BOTH | CLA_OPEN_NEW, 0666);
    } while (*fd < 0 && errno == EEXIST);
    return *fd < 0 ? fail_io("create", path) : CLA_OK;
}

/* Syncs the folder of path so that the rename lasts. A file system that cannot sync a
 * folder is no failure. */
static void sync_folder_of(const char *path)
{
    char *folder = strdup(path);
    if (!folder) return;
    char *slash = cla_os_last_slash(folder);
    if (slash) slash[slash == folder] = '\0';
    const int fd =
        cla_os_open(slash ? folder : ".", CLA_OPEN_READ | CLA_OPEN_FOLDER, 0);
    if (fd >= 0) {
        cla_os_sync(fd);
        cla_os_close(fd);
    }
    free(folder);
}

static cla_status write_file(cla_text *name, const char *path, const void *data,
                             size_t size)
{
    int fd;
    CLA_TRY(create_beside(name, path, &fd));
    cla_status status = write_and_sync(fd, path, data, size);
    if (!status && !cla_os_rename(name->data, path)) status = fail_io("write", path);
    if (status) cla_os_remove(name->data);
    return status;
}

cla_status cla_file_write(const char *path, const void *data, size_t size)
{
    cla_text name = { 0 };
    const cla_status status = write_file(&name, path, data, size);
    if (!status) sync_folder_of(path);
    cla_text_free(&name);
    return status;
}
