/* zip.c - reads stored and deflated files of ZIP archives. */
#include "base/zip.h"

#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/platform.h"

enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, COMMENT = 65535 };
enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1, MOST_RATIO = 1032 };

static unsigned u16(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return b[0] | (unsigned)b[1] << 8;
}

static uint32_t u32(const char *at)
{
    return u16(at) | (uint32_t)u16(at + 2) << 16;
}

static bool begins(const char *at, const char *mark)
{
    return memcmp(at, mark, 4) == 0;
}

static cla_status broken(const cla_zip *zip, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: %s", zip->path, what);
}

/* ---- the directory ----------------------------------------------------------- */

/* Returns the end record of the archive, which only a comment may follow, or NULL. */
static const char *find_end(const cla_zip *zip)
{
    for (size_t back = END_BYTES; back <= zip->size && back <= END_BYTES + COMMENT;
         back++) {
        const char *at = zip->bytes + zip->size - back;
        if (begins(at, "PK\5\6") && u16(at + 20) == back - END_BYTES) {
            return at;
        }
    }
    return NULL;
}

static bool is_plain(const cla_zip *zip, const char *name, size_t size)
{
    const bool inside = zip->paths ? size && *name != '/' : !memchr(name, '/', size);
    return size && inside && !memchr(name, 0, size) && !memchr(name, '\\', size) &&
           !cla_os_find(name, size, "..", 2);
}

/* Returns the fault in an entry's offset and sizes, or NULL. */
static const char *wrong_sizes(const cla_zip *zip, const cla_zip_entry *e)
{
    if (e->stored == UINT32_MAX || e->size == UINT32_MAX || e->at == UINT32_MAX) {
        return "is in ZIP64, which is not read";
    }
    if (e->at > zip->size || e->stored > zip->size - e->at) {
        return "lies beyond the end of the file";
    }
    if (e->method == STORED && e->size != e->stored) {
        return "has two sizes";
    }
    return e->size / MOST_RATIO > e->stored ? "is larger than deflate can be" : NULL;
}

static cla_status check_entry(const cla_zip *zip, const cla_zip_entry *e,
                              unsigned flags)
{
    const bool known = e->method == STORED || e->method == DEFLATED;
    const char *what = flags & ENCRYPTED ? "is encrypted"
                       : !known          ? "is neither stored nor deflated"
                                         : wrong_sizes(zip, e);
    return what
               ? cla_fail(CLA_E_INPUT, "%s: entry '%.80s' %s", zip->path, e->name, what)
               : CLA_OK;
}

static cla_status add_entry(cla_zip *zip, const char *at, size_t name_size)
{
    const char *name = at + ENTRY_BYTES;
    if (!is_plain(zip, name, name_size)) {
        return broken(zip, "an entry of the archive has a path or no name");
    }
    if (name[name_size - 1] == '/') { // a folder
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&zip->entries, &zip->cap, zip->count + 1, sizeof *zip->entries));
    cla_zip_entry *e = &zip->entries[zip->count];
    *e = (cla_zip_entry){ .method = u16(at + 10),
                          .crc = u32(at + 16),
                          .stored = u32(at + 20),
                          .size = u32(at + 24),
                          .at = u32(at + 42) };
    CLA_TRY(cla_alloc(&e->name, name_size + 1, 1));
    memcpy(e->name, name, name_size);
    zip->count++;
    for (size_t i = 0; i + 1 < zip->count; i++) {
        if (strcmp(zip->entries[i].name, e->name) == 0) {
            return cla_fail(CLA_E_INPUT, "%s: duplicate entry '%.80s'", zip->path,
                            e->name);
        }
    }
    return check_entry(zip, e, u16(at + 8));
}

static cla_status read_directory(cla_zip *zip)
{
    enum { MOST = 1 << 12 };
    const char *end = find_end(zip);
    if (!end) return broken(zip, "is no ZIP archive, or cut off");
    const size_t before = (size_t)(end - zip->bytes);
    const unsigned entries = u16(end + 10);
    size_t at = u32(end + 16), left = u32(end + 12), stored = 0;
    if (at > before || left > before - at || u16(end + 4) || u16(end + 6) ||
        u16(end + 8) != entries || entries > MOST) {
        return broken(zip,
                      "the directory of the archive lies elsewhere or is too large");
    }
    for (unsigned i = 0; i < entries; i++) {
        const char *entry = zip->bytes + at;
        if (left < ENTRY_BYTES || !begins(entry, "PK\1\2")) {
            return broken(zip, "the directory of the archive is damaged");
        }
        const size_t name = u16(entry + 28),
                     size = ENTRY_BYTES + name + u16(entry + 30) + u16(entry + 32);
        if (size > left) return broken(zip, "the directory of the archive is cut off");
        const size_t known = zip->count;
        CLA_TRY(add_entry(zip, entry, name));
        stored += zip->count > known ? zip->entries[known].stored : 0;
        at += size;
        left -= size;
    }
    return stored <= zip->size
               ? CLA_OK
               : broken(zip, "entries of the archive share their bytes");
}

cla_status cla_zip_open(cla_zip *zip, const char *path, bool paths)
{
    *zip = (cla_zip){ .paths = paths };
    CLA_TRY(cla_strdup(&zip->path, path));
    CLA_TRY(cla_file_read(path, &zip->bytes, &zip->size));
    return read_directory(zip);
}

void cla_zip_close(cla_zip *zip)
{
    for (size_t i = 0; i < zip->count; i++) {
        free(zip->entries[i].name);
    }
    free(zip->entries);
    free(zip->path);
    free(zip->bytes);
    *zip = (cla_zip){ 0 };
}

/* ---- an entry ---------------------------------------------------------------- */

const cla_zip_entry *cla_zip_find(const cla_zip *zip, const char *name)
{
    for (size_t i = 0; i < zip->count; i++) {
        if (strcmp(zip->entries[i].name, name) == 0) {
            return &zip->entries[i];
        }
    }
    return NULL;
}

/* Returns the first byte of an entry's data. Returns NULL when the local header does
 * not match the directory or the data does not fit. */
static const char *find_data(const cla_zip *zip, const cla_zip_entry *e)
{
    const char *local = zip->bytes + e->at;
    size_t left = zip->size - e->at;
    if (left < LOCAL_BYTES || !begins(local, "PK\3\4")) {
        return NULL;
    }
    const size_t name = u16(local + 26), head = LOCAL_BYTES + name + u16(local + 28);
    const bool fits = head <= left && e->stored <= left - head;
    return fits && name == strlen(e->name) &&
                   memcmp(local + LOCAL_BYTES, e->name, name) == 0
               ? local + head
               : NULL;
}

static bool unpack(const cla_zip_entry *e, const char *from, char *to)
{
    z_stream z = { .next_in = (Bytef *)from,
                   .avail_in = (uInt)e->stored,
                   .next_out = (Bytef *)to,
                   .avail_out = (uInt)e->size };
    if (e->method == STORED) {
        memcpy(to, from, e->size);
        return true;
    }
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) {
        return false;
    }
    const int ended = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return ended == Z_STREAM_END && z.total_out == e->size && !z.avail_in;
}

cla_status cla_zip_read(const cla_zip *zip, const cla_zip_entry *e, char **data)
{
    const char *from = find_data(zip, e);
    *data = NULL;
    if (!from) {
        return cla_fail(CLA_E_INPUT,
                        "%s: entry '%.80s' is not where the directory says", zip->path,
                        e->name);
    }
    CLA_TRY(cla_alloc(data, e->size + 1, 1));
    if (unpack(e, from, *data) &&
        crc32_z(crc32_z(0, Z_NULL, 0), (const Bytef *)*data, e->size) == e->crc) {
        return CLA_OK;
    }
    free(*data);
    *data = NULL;
    return cla_fail(CLA_E_INPUT, "%s: entry '%.80s' is damaged", zip->path, e->name);
}
