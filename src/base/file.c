/* file.c - reads and writes whole files, lists and makes folders. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static cla_status fail_io(const char *what, const char *path)
{
    const int error = errno;
    char reason[128];
    return cla_fail(CLA_E_IO, "%s: cannot %s: %s", *path ? path : "''", what,
                    strerror_r(error, reason, sizeof reason));
}

/* ---- reading ----------------------------------------------------------------- */

/* Bytes of a read: few enough that `seen` finds them in a cache. */
enum { PIECE = 1 << 17 };

static cla_status read_all(int fd, const char *path, cla_text *text,
                           cla_file_seen *seen, void *user)
{
    struct stat info;
    size_t room = PIECE; // for a pipe, whose size is unknown
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        room = (size_t)info.st_size + 1; // 1 more for the read that finds the end
    }
    for (;;) {
        if (text->cap < text->size + 2) {
            CLA_TRY(cla_grow(&text->data, &text->cap, text->size + room + 1, 1));
            room = PIECE;
        }
        const size_t left = text->cap - text->size - 1;
        const ssize_t got =
            read(fd, text->data + text->size, left < PIECE ? left : PIECE);
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

/* Opens a regular file. With O_NONBLOCK a FIFO is refused at once instead of waiting
 * for a writer. Paths under /dev, such as those of <(command), name descriptors that
 * are already open. */
static cla_status open_regular(const char *path, int *fd)
{
    const bool handed = strncmp(path, "/dev/", 5) == 0;
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC | (handed ? 0 : O_NONBLOCK));
    if (*fd < 0) return fail_io("open", path);
    // read() reports that a folder is one
    if (!handed && fstat(*fd, &info) == 0 && !S_ISREG(info.st_mode) &&
        !S_ISDIR(info.st_mode)) {
        close(*fd);
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
    close(fd);
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
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail_io("open", path);
    const cla_status status = hand_over(fd, path, data, size, NULL, NULL);
    close(fd);
    return status;
}

cla_status cla_stdin_read(char **data, size_t *size)
{
    return hand_over(STDIN_FILENO, "standard input", data, size, NULL, NULL);
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
        const ssize_t put = write(fd, data, size);
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
        const ssize_t got = pread(fd, piece, want, (off_t)at);
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
    if (!status && fsync(fd) != 0) status = fail_io("sync", path);
    if (!status) status = compare_written(fd, path, data, size);
    if (close(fd) != 0 && !status) status = fail_io("close", path);
    return status;
}

/* Creates a new file beside path. The process id and a counter separate writers. A name
 * that a killed process left behind is skipped. */
static cla_status create_beside(cla_text *name, const char *path, int *fd)
{
    static _Atomic unsigned writes;
    do {
        name->size = 0;
        CLA_TRY(cla_text_add(name, "%s.%ld-%u.tmp", path, (long)getpid(),
                             atomic_fetch_add(&writes, 1)));
        *fd = open(name->data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (*fd < 0 && errno == EEXIST);
    return *fd < 0 ? fail_io("create", path) : CLA_OK;
}

/* Syncs the folder of path so that the rename lasts. A file system that cannot sync a
 * folder is no failure. */
static void sync_folder_of(const char *path)
{
    char *folder = strdup(path);
    if (!folder) return;
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    const int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

static cla_status write_file(cla_text *name, const char *path, const void *data,
                             size_t size)
{
    int fd;
    CLA_TRY(create_beside(name, path, &fd));
    cla_status status = write_and_sync(fd, path, data, size);
    if (!status && rename(name->data, path) != 0) status = fail_io("write", path);
    if (status) unlink(name->data);
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

/* ---- folders ----------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

cla_status cla_folder_make(const char *path)
{
    char *prefix;
    CLA_TRY(cla_strdup(&prefix, path));
    cla_status status = CLA_OK;
    for (size_t i = 1; *path && !status; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        prefix[i] = '\0';
        if (mkdir(prefix, 0777) != 0 && !is_folder(prefix)) {
            status = fail_io("make folder", prefix);
        }
        if (path[i] == '\0') break;
        prefix[i] = '/';
    }
    free(prefix);
    return status;
}

typedef struct path_list {
    char **paths;
    size_t count, cap;
} path_list;

static cla_status visit(path_list *list, const FTSENT *entry, const char *suffix)
{
    switch (entry->fts_info) {
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        errno = entry->fts_errno;
        return fail_io("open", entry->fts_path);
    case FTS_F:
        break;
    default:
        return CLA_OK;
    }
    // a file that is itself the folder argument needs no suffix
    if (entry->fts_level > 0 && !cla_ends_in(entry->fts_path, suffix)) return CLA_OK;
    CLA_TRY(cla_grow(&list->paths, &list->cap, list->count + 1, sizeof *list->paths));
    CLA_TRY(cla_strdup(&list->paths[list->count], entry->fts_path));
    list->count++;
    return CLA_OK;
}

static cla_status walk(path_list *list, const char *folder, const char *suffix)
{
    char *root;
    CLA_TRY(cla_strdup(&root, folder));
    char *const roots[] = { root, NULL };
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    cla_status status = tree ? CLA_OK : fail_io("open", folder);
    while (!status) {
        errno = 0;
        const FTSENT *entry = fts_read(tree);
        if (!entry) {
            if (errno) status = fail_io("read", folder);
            break;
        }
        status = visit(list, entry, suffix);
    }
    if (tree) fts_close(tree);
    free(root);
    return status;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

cla_status cla_folder_list(const char *folder, const char *suffix, char ***paths,
                           size_t *count)
{
    path_list list = { 0 };
    const cla_status status = walk(&list, folder, suffix);
    if (status) cla_folder_list_free(&list.paths, list.count);
    if (list.paths) qsort(list.paths, list.count, sizeof *list.paths, compare_paths);
    *paths = list.paths;
    *count = status ? 0 : list.count;
    return status;
}

void cla_folder_list_free(char ***paths, size_t count)
{
    for (size_t i = 0; *paths && i < count; i++) {
        free((*paths)[i]);
    }
    free(*paths);
    *paths = NULL;
}

/* ---- cache and data folders -------------------------------------------------- */

static bool home_folder(char **path, const char *variable, const char *below_home)
{
    *path = NULL;
    cla_text text = { 0 };
    cla_status status = CLA_E_IO;
    const char *base = getenv(variable), *home = getenv("HOME");
    if (base && *base == '/') { // the XDG rules ignore relative paths
        status = cla_text_add(&text, "%s/clattn", base);
    } else if (home && *home) {
        status = cla_text_add(&text, "%s/%s/clattn", home, below_home);
    }
    if (status) {
        cla_text_free(&text);
        return false;
    }
    *path = text.data;
    return true;
}

bool cla_cache_folder(char **path)
{
    return home_folder(path, "XDG_CACHE_HOME", ".cache");
}

bool cla_data_folder(char **path)
{
    return home_folder(path, "XDG_DATA_HOME", ".local/share");
}
