/* cache_files.c - the kernel cache's own folder and the files in it. */
#include "runtime/cache_files.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/platform.h"

/* The number is the version of the layout and of the header. */
static const char FOLDER[] = "clattn-kernels-1";
static const char MAGIC[16] = "clattn kernel 1";
static const char SUFFIX[] = ".kernel", UNFINISHED[] = ".tmp";

/* https://bford.info/cachedir: backup programs skip such folders. */
static const char TAG[] = "CACHEDIR.TAG";
static const char TAG_TEXT[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# clattn-kernels-1: programs that clattn compiled.\n"
                               "# This folder can be deleted at any time.\n";

enum {
    ID_DIGITS = CLA_CACHE_ID - 1,
    NAME_BYTES = 96,
    OPEN = CLA_OPEN_READ | CLA_OPEN_NO_LINK | CLA_OPEN_NO_WAIT, // a FIFO would block
    OPEN_FOLDER = OPEN | CLA_OPEN_FOLDER,
    NEW_FILE = CLA_OPEN_WRITE | CLA_OPEN_NEW | CLA_OPEN_NO_LINK,
};

typedef struct entry_header {
    char magic[sizeof MAGIC];
    char id[ID_DIGITS];
    uint64_t size; // of the data behind the header
    uint64_t hash; // of the data
} entry_header;

/* ---- whole files in a folder --------------------------------------------------- */

static bool read_all(int fd, char *data, size_t size)
{
    while (size > 0) {
        const int64_t got = cla_os_read(fd, data, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        data += got;
        size -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        const int64_t put = cla_os_write(fd, data, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        data += put;
        size -= (size_t)put;
    }
    return true;
}

/* Makes a name that no other writer uses, of base, process and count. */
static void unique_name(char out[NAME_BYTES], const char *base)
{
    static _Atomic unsigned count;
    snprintf(out, NAME_BYTES, "%.48s.%ld-%u%s", base, (long)cla_os_process(),
             atomic_fetch_add(&count, 1), UNFINISHED);
}

/* ---- the folder ---------------------------------------------------------------- */

static bool has_tag(int folder)
{
    char text[sizeof TAG_TEXT - 1];
    cla_os_info info;
    const int fd = cla_os_open_in(folder, TAG, OPEN, 0);
    if (fd < 0) return false;
    const bool ours = cla_os_info_open(fd, &info) && info.kind == CLA_OS_FILE &&
                      read_all(fd, text, sizeof text) &&
                      memcmp(text, TAG_TEXT, sizeof text) == 0;
    cla_os_close(fd);
    return ours;
}

/* Writes the tag, which must survive a crash: a folder without it is refused. */
static bool write_tag(int folder)
{
    const int fd = cla_os_open_in(folder, TAG, NEW_FILE, 0600);
    if (fd < 0) return false;
    const bool written = write_all(fd, TAG_TEXT, sizeof TAG_TEXT - 1) &&
                         cla_os_make_private(fd) && cla_os_sync(fd);
    return cla_os_close(fd) && written;
}

/* Makes the folder under another name and renames it, so that no process sees it
 * without a tag. The rename replaces an empty folder and nothing else. */
static void make_folder(int parent)
{
    char name[NAME_BYTES];
    do {
        unique_name(name, FOLDER);
    } while (!cla_os_make_private_in(parent, name) && errno == EEXIST);
    const int folder = cla_os_open_in(parent, name, OPEN_FOLDER, 0);
    if (folder < 0 || !write_tag(folder) || !cla_os_rename_in(parent, name, FOLDER)) {
        if (folder >= 0) cla_os_remove_in(folder, TAG);
        cla_os_remove_folder_in(parent, name);
    }
    if (folder >= 0) cla_os_close(folder);
}

/* Returns why the folder cannot be used, or NULL. Machine code from it runs in this
 * process, so no other user may be able to write there. */
static const char *objection(int folder)
{
    cla_os_info info;
    if (!cla_os_info_open(folder, &info)) return "off, cannot read";
    if (!info.own) return "off, another user owns";
    if (info.others_write) return "off, other users can write to";
    if (!has_tag(folder)) return "off, clattn did not make";
    return cla_os_may_open(folder, CLA_MAY_READ | CLA_MAY_WRITE | CLA_MAY_ENTER)
               ? NULL
               : "off, cannot write to";
}

static int open_below(int parent, const char **why)
{
    int folder = cla_os_open_in(parent, FOLDER, OPEN_FOLDER, 0);
    if (folder < 0 ? errno == ENOENT : !has_tag(folder)) {
        if (folder >= 0) cla_os_close(folder);
        make_folder(parent);
        folder = cla_os_open_in(parent, FOLDER, OPEN_FOLDER, 0);
    }
    const bool is_link = folder < 0 && (errno == ELOOP || errno == ENOTDIR);
    *why = folder >= 0 ? objection(folder)
           : is_link   ? "off, not a folder"
                       : "off, cannot write to";
    if (folder >= 0 && *why) {
        cla_os_close(folder);
        folder = -1;
    }
    return folder;
}

int cla_cache_files_open(const char *given, cla_text *path, const char **why)
{
    *why = "off, cannot write to";
    if (cla_text_add(path, "%s", given) || cla_folder_make(given)) return -1;
    const int parent = cla_os_open(given, CLA_OPEN_READ | CLA_OPEN_FOLDER, 0);
    if (parent < 0 || cla_text_add(path, "/%s", FOLDER)) {
        if (parent >= 0) cla_os_close(parent);
        return -1;
    }
    const int folder = open_below(parent, why);
    cla_os_close(parent);
    return folder;
}

/* ---- entries ------------------------------------------------------------------- */

static void entry_name(char name[NAME_BYTES], const char *id)
{
    snprintf(name, NAME_BYTES, "%.*s%s", ID_DIGITS, id, SUFFIX);
}

cla_status cla_cache_files_path(cla_text *path, const char *folder_path, const char *id)
{
    char name[NAME_BYTES];
    entry_name(name, id);
    return cla_text_add(path, "%s/%s", folder_path, name);
}

/* Returns whether a name is that of an entry, also of one left by a killed writer. */
static bool is_entry_name(const char *name)
{
    const size_t suffix = sizeof SUFFIX - 1, end = sizeof UNFINISHED - 1;
    const size_t size = strlen(name);
    if (size >= NAME_BYTES || strspn(name, "0123456789abcdef") != ID_DIGITS ||
        strncmp(name + ID_DIGITS, SUFFIX, suffix) != 0) {
        return false;
    }
    return size == ID_DIGITS + suffix || strcmp(name + size - end, UNFINISHED) == 0;
}

static bool header_fits(const entry_header *h, const char *id)
{
    return memcmp(h->magic, MAGIC, sizeof MAGIC) == 0 &&
           memcmp(h->id, id, ID_DIGITS) == 0;
}

/* Returns whether a file of the folder is a regular file of this user with the header
 * of an entry of this name. */
static bool is_ours(int folder, const char *name)
{
    entry_header h;
    cla_os_info info;
    const int fd = cla_os_open_in(folder, name, OPEN, 0);
    if (fd < 0) return false;
    const bool ours = cla_os_info_open(fd, &info) && info.kind == CLA_OS_FILE &&
                      info.own && read_all(fd, (char *)&h, sizeof h) &&
                      header_fits(&h, name);
    cla_os_close(fd);
    return ours;
}

static void remove_file(int folder, const char *name)
{
    if (is_entry_name(name) && is_ours(folder, name)) cla_os_remove_in(folder, name);
}

void cla_cache_files_remove(int folder, const char *id)
{
    char name[NAME_BYTES];
    entry_name(name, id);
    remove_file(folder, name);
}

/* Returns the data of an open file; NULL, with *why, if it is not a whole entry. */
static unsigned char *read_entry(int fd, const char *id, size_t *size, const char **why)
{
    cla_os_info info;
    entry_header h;
    char *data = NULL;
    if (!cla_os_info_open(fd, &info) || info.kind != CLA_OS_FILE) return NULL;
    *why = "other users can write to it";
    if (info.others_write) return NULL;
    *why = "damaged";
    if (info.size < (int64_t)sizeof h || !read_all(fd, (char *)&h, sizeof h) ||
        !header_fits(&h, id) || h.size != (uint64_t)info.size - sizeof h) {
        return NULL;
    }
    if (cla_alloc(&data, h.size + 1, 1)) {
        *why = NULL;
        return NULL;
    }
    if (!read_all(fd, data, h.size) || h.hash != XXH3_64bits(data, h.size)) {
        free(data);
        return NULL;
    }
    *size = h.size;
    *why = NULL;
    return (unsigned char *)data;
}

void cla_cache_files_read(int folder, const char *id, unsigned char **data,
                          size_t *size, const char **why)
{
    char name[NAME_BYTES];
    *data = NULL;
    *why = NULL;
    entry_name(name, id);
    const int fd = cla_os_open_in(folder, name, OPEN, 0);
    if (fd < 0) return;
    *data = read_entry(fd, id, size, why);
    if (*data) cla_os_touch(fd); // used now: removed last
    cla_os_close(fd);
}

static cla_status fail_io(const char *what, const char *name)
{
    char reason[128];
    return cla_fail(CLA_E_IO, "%s %s: %s", what, name,
                    cla_os_reason(errno, reason, sizeof reason));
}

/* Renames a finished entry. It replaces a regular file, but nothing else. */
static cla_status put_in_place(int folder, const char *unfinished, const char *name)
{
    cla_os_info info;
    if (cla_os_info_in(folder, name, &info) && info.kind != CLA_OS_FILE) {
        return cla_fail(CLA_E_IO, "%s is not a regular file", name);
    }
    return cla_os_rename_in(folder, unfinished, name) ? CLA_OK
                                                      : fail_io("cannot rename", name);
}

/* No fsync: an entry that a crash damages fails its hash and is rebuilt. */
cla_status cla_cache_files_write(int folder, const char *id, const void *data,
                                 size_t size)
{
    entry_header h = { .size = size, .hash = XXH3_64bits(data, size) };
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    memcpy(h.id, id, ID_DIGITS);
    char name[NAME_BYTES], unfinished[NAME_BYTES];
    entry_name(name, id);
    int fd;
    do {
        unique_name(unfinished, name);
        fd = cla_os_open_in(folder, unfinished, NEW_FILE, 0600);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0) return fail_io("cannot create", name);
    const bool written = write_all(fd, (const char *)&h, sizeof h) &&
                         write_all(fd, data, size) && cla_os_make_private(fd);
    cla_status status = written ? CLA_OK : fail_io("cannot write", name);
    if (!cla_os_close(fd) && !status) status = fail_io("cannot write", name);
    status = status ? status : put_in_place(folder, unfinished, name);
    if (status) cla_os_remove_in(folder, unfinished);
    return status;
}

/* ---- the limit ----------------------------------------------------------------- */

typedef struct found_entry {
    char name[NAME_BYTES];
    uint64_t bytes;
    int64_t used_ns;
} found_entry;

typedef struct found_entries {
    found_entry *items;
    size_t count, cap;
    uint64_t bytes;
} found_entries;

static cla_status find_entries(cla_os_list *list, int folder, found_entries *found)
{
    for (const char *name; (name = cla_os_list_next(list));) {
        cla_os_info info;
        if (!is_entry_name(name) || !is_ours(folder, name) ||
            !cla_os_info_in(folder, name, &info)) {
            continue;
        }
        CLA_TRY(cla_grow(&found->items, &found->cap, found->count + 1,
                         sizeof *found->items));
        found_entry *e = &found->items[found->count++];
        *e = (found_entry){ .bytes = (uint64_t)info.size, .used_ns = info.changed_ns };
        memcpy(e->name, name, strlen(name) + 1); // is_entry_name: it fits
        found->bytes += e->bytes;
    }
    return CLA_OK;
}

static int older_first(const void *a, const void *b)
{
    const int64_t x = ((const found_entry *)a)->used_ns;
    const int64_t y = ((const found_entry *)b)->used_ns;
    return (x > y) - (x < y);
}

void cla_cache_files_shrink(int folder, uint64_t limit)
{
    found_entries found = { 0 };
    const int own = cla_os_open_in(folder, ".", OPEN_FOLDER, 0); // closed with the list
    cla_os_list *list = own < 0 ? NULL : cla_os_list_open(own);
    if (!list) {
        if (own >= 0) cla_os_close(own);
        return;
    }
    const bool whole = find_entries(list, folder, &found) == CLA_OK;
    cla_os_list_end(list);
    if (whole && found.count) {
        qsort(found.items, found.count, sizeof *found.items, older_first);
    }
    for (size_t i = 0; whole && i < found.count && found.bytes > limit; i++) {
        remove_file(folder, found.items[i].name);
        found.bytes -= found.items[i].bytes;
    }
    free(found.items);
}
