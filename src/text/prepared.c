/* prepared.c - keeps texts as numbers in files. */
#include "text/prepared.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/seal.h"
#include "clattn/status.h"

/* VERSION counts changes of this form, and of what its parts mean. */
enum { VERSION = 1, ALIGN = 64, ORDER = 0x01020304 };

/* The first bytes of a file, in the order of bytes of the machine that made it. */
typedef struct head {
    char magic[8];
    uint32_t order, version;
    uint64_t settings, texts; // hashes
    uint64_t size;            // of the file
    uint64_t hash;            // of all its bytes, computed with 0 here
    uint64_t parts;
    struct {
        uint64_t at, size;
    } part[CLA_PREPARED_PARTS];
} head;

static const char magic[8] = "clattnP";

static uint64_t hash_of(const head *h, const char *bytes)
{
    XXH3_state_t state;
    head blank = *h;
    blank.hash = 0;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, &blank, sizeof blank);
    XXH3_64bits_update(&state, bytes + sizeof blank, h->size - sizeof blank);
    return XXH3_64bits_digest(&state);
}

/* ---- keys ------------------------------------------------------------------------ */

static cla_status hash_file(XXH3_state_t *state, const char *path, char *room,
                            size_t size)
{
    int64_t got = 0;
    const int fd = cla_os_open(path, CLA_OPEN_READ, 0);
    while (fd >= 0) {
        got = cla_os_read(fd, room, size);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            break;
        }
        XXH3_64bits_update(state, room, got > 0 ? (size_t)got : 0);
    }
    const int error = errno;
    if (fd >= 0) {
        cla_os_close(fd);
    }
    return fd >= 0 && got == 0 ? CLA_OK
                               : cla_fail(CLA_E_IO, "%s: cannot read: %s", path,
                                          cla_os_reason(error, room, size));
}

/* Hashes the bytes of all texts. */
static cla_status hash_texts(cla_prepared *p, const cla_prepared_of *of)
{
    enum { ROOM = 1 << 20 };
    XXH3_state_t state;
    char *room = NULL;
    CLA_TRY(cla_alloc(&room, ROOM, 1));
    XXH3_64bits_reset(&state);
    cla_status status = CLA_OK;
    for (size_t i = 0; i < of->count && !status; i++) {
        XXH3_64bits_update(&state, &i, sizeof i);
        status = hash_file(&state, of->texts[i], room, ROOM);
    }
    free(room);
    p->texts = XXH3_64bits_digest(&state);
    return status;
}

/* Returns whether the texts are regular files that are worth it. */
static bool is_worth(const cla_prepared_of *of)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < of->count; i++) {
        cla_os_info info;
        if (!cla_os_info_of(of->texts[i], &info) || info.kind != CLA_OS_FILE) {
            return false;
        }
        bytes += info.size;
    }
    return bytes >= CLA_PREPARED_LEAST;
}

/* ---- reading --------------------------------------------------------------------- */

static void unmap(cla_prepared *p)
{
    if (p->map) {
        cla_os_unmap(p->map, p->size);
    }
    p->map = NULL;
    p->size = 0;
    p->found = false;
}

static cla_status map_file(cla_prepared *p, const char *path)
{
    cla_os_info info;
    char reason[128];
    const int fd = cla_os_open(path, CLA_OPEN_READ, 0);
    if (fd >= 0 && cla_os_info_open(fd, &info) && info.kind == CLA_OS_FILE &&
        info.size >= (int64_t)sizeof(head) && (uint64_t)info.size < SIZE_MAX) {
        p->size = (size_t)info.size;
        p->map = cla_os_map(fd, p->size);
    }
    const int error = errno;
    if (fd >= 0) {
        cla_os_close(fd);
    }
    return p->map    ? CLA_OK
           : fd >= 0 ? cla_fail(CLA_E_INPUT, "%s: too short", path)
                     : cla_fail(CLA_E_IO, "%s: cannot open: %s", path,
                                cla_os_reason(error, reason, sizeof reason));
}

/* Returns what is wrong with a map, or NULL. */
static const char *objection(const cla_prepared *p, const head *h)
{
    if (memcmp(h->magic, magic, sizeof magic) != 0 || h->order != ORDER ||
        h->version != VERSION) {
        return "of another version";
    }
    if (h->size != p->size) {
        return "cut";
    }
    if (h->settings != p->settings || h->texts != p->texts || h->parts != p->parts) {
        return "of another text";
    }
    if (hash_of(h, p->map) != h->hash) {
        return "damaged";
    }
    for (size_t i = 0; i < p->parts; i++) {
        if (h->part[i].at % ALIGN || h->part[i].at > p->size ||
            h->part[i].size > p->size - h->part[i].at) {
            return "damaged";
        }
    }
    return NULL;
}

cla_status cla_prepared_read(cla_prepared *p, const char *path)
{
    head h;
    CLA_TRY(map_file(p, path));
    memcpy(&h, p->map, sizeof h);
    const char *wrong = objection(p, &h);
    if (wrong) {
        unmap(p);
        return cla_fail(CLA_E_INPUT, "%s: %s", path, wrong);
    }
    for (size_t i = 0; i < p->parts; i++) {
        p->part[i] =
            (cla_part){ (const char *)p->map + h.part[i].at, (size_t)h.part[i].size };
    }
    p->found = true;
    return CLA_OK;
}

/* Reads the file if there is a good one. */
static void look(cla_prepared *p)
{
    const cla_status status = cla_prepared_read(p, p->path.data);
    if (status && status != CLA_E_IO) {
        cla_log(CLA_LOG_WARN, "%s; it is made again", cla_error());
    }
}

/* ---- one process at a time ------------------------------------------------------- */

static void unlock(cla_prepared *p)
{
    if (p->lock >= 0) {
        cla_os_remove(p->waits.data);
        cla_os_close(p->lock);
    }
    p->lock = -1;
}

/* Waits until this process holds the lock. Returns false where there can be none. */
static bool lock(cla_prepared *p)
{
    enum { PAUSE_NS = 50000000 };
    p->lock = cla_os_open(p->waits.data, CLA_OPEN_BOTH | CLA_OPEN_CREATE, 0666);
    for (bool told = false; p->lock >= 0 && !cla_os_lock(p->lock); told = true) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            cla_os_close(p->lock);
            p->lock = -1;
        } else {
            cla_log(told ? CLA_LOG_DEBUG : CLA_LOG_INFO,
                    "%s: waits for another process that makes it", p->path.data);
            cla_os_sleep_ns(PAUSE_NS);
        }
    }
    return p->lock >= 0;
}

static cla_status name(cla_prepared *p, const cla_prepared_of *of)
{
    cla_text all = { 0 };
    cla_status status = cla_text_add(&all, "%s %s", cla_version(), of->settings);
    p->settings = status ? 0 : XXH3_64bits(all.data, all.size);
    status = status ? status
                    : cla_text_add(&p->path, "%s.%016" PRIx64 ".prepared", of->beside,
                                   p->settings);
    status = status ? status : cla_text_add(&p->waits, "%s.lock", p->path.data);
    cla_text_free(&all);
    return status;
}

cla_status cla_prepared_open(cla_prepared *p, const cla_prepared_of *of)
{
    *p = (cla_prepared){ .lock = -1, .parts = of->parts };
    if (!is_worth(of)) {
        return CLA_OK;
    }
    CLA_TRY(name(p, of));
    CLA_TRY(hash_texts(p, of));
    look(p);
    if (!p->found && !lock(p)) {
        cla_log(CLA_LOG_INFO, "%s: cannot be written; the text is split at each start",
                p->path.data);
        cla_text_free(&p->path);
    } else if (!p->found) {
        p->found = cla_os_may(p->path.data, CLA_MAY_READ) &&
                   !cla_prepared_read(p, p->path.data);
        if (p->found) {
            unlock(p);
        }
    }
    return CLA_OK;
}

cla_status cla_prepared_refuse(cla_prepared *p)
{
    cla_log(CLA_LOG_WARN, "%s: %s; it is made again", p->path.data, cla_error());
    unmap(p);
    if (!lock(p)) {
        cla_text_free(&p->path);
    }
    return CLA_OK;
}

/* ---- writing --------------------------------------------------------------------- */

static size_t aligned(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

/* Lays out the parts behind the head. */
static cla_status lay_out(const cla_prepared *p, const cla_part *part, char **bytes,
                          size_t *size)
{
    head h = { .order = ORDER,
               .version = VERSION,
               .settings = p->settings,
               .texts = p->texts,
               .parts = p->parts };
    size_t at = aligned(sizeof h);
    for (size_t i = 0; i < p->parts; i++) {
        h.part[i].at = at;
        h.part[i].size = part[i].size;
        at = aligned(at + part[i].size);
    }
    CLA_TRY(cla_alloc(bytes, at, 1));
    for (size_t i = 0; i < p->parts; i++) {
        if (part[i].size) {
            memcpy(*bytes + h.part[i].at, part[i].data, part[i].size);
        }
    }
    memcpy(h.magic, magic, sizeof magic);
    h.size = *size = at;
    h.hash = hash_of(&h, *bytes);
    memcpy(*bytes, &h, sizeof h);
    return CLA_OK;
}

cla_status cla_prepared_keep(cla_prepared *p, const cla_part *part)
{
    char *bytes = NULL;
    size_t size = 0;
    if (p->found || !p->path.size) {
        return CLA_OK;
    }
    CLA_TRY(lay_out(p, part, &bytes, &size));
    const cla_status status = cla_file_write(p->path.data, bytes, size);
    free(bytes);
    if (status && status != CLA_E_NOMEM) {
        cla_log(CLA_LOG_WARN, "%s; the text is split at each start", cla_error());
    } else if (!status) {
        cla_log(CLA_LOG_INFO, "%s: keeps the text as numbers, %.1f MB", p->path.data,
                (double)size / 1e6);
    }
    unlock(p);
    return status == CLA_E_NOMEM ? status : CLA_OK;
}

void cla_prepared_close(cla_prepared *p)
{
    unmap(p);
    if (p->waits.data) {
        unlock(p);
    }
    cla_text_free(&p->path);
    cla_text_free(&p->waits);
}
