/* cache.c - built programs on disk, so that a second start compiles nothing.
 *
 * An entry is <id>.bin: a header, then the driver's binary. The id hashes all that the
 * binary depends on. Entries are written whole (temporary file, rename), so two
 * processes may fill the cache at once; a damaged one is dropped and built again. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "runtime/internal.h"

static const char MAGIC[8] = "clattn1";
static const uint64_t LIMIT_BYTES = 512ull << 20;

typedef struct entry_header {
    char magic[8];
    uint64_t size; // of the binary behind the header
    uint64_t hash; // of the binary
} entry_header;

static void warn_once(cla_runtime *rt, const char *text, const char *detail)
{
    if (!rt->cache_warned) {
        rt->cache_warned = true;
        cla_log(CLA_LOG_WARN, "kernel cache: %s%s%s", text, *detail ? ": " : "",
                detail);
    }
}

void cla_cache_init(cla_runtime *rt)
{
    const char *folder = getenv("CLATTN_CACHE_DIR");
    if (folder && strcmp(folder, "off") == 0) {
        return;
    }
    if (folder && *folder ? cla_strdup(&rt->cache_folder, folder) != CLA_OK
                          : !cla_cache_folder(&rt->cache_folder)) {
        rt->cache_folder = NULL;
        warn_once(rt, "none, there is no home folder (CLATTN_CACHE_DIR names another)",
                  "");
        return;
    }
    if (cla_folder_make(rt->cache_folder) || access(rt->cache_folder, W_OK | X_OK)) {
        warn_once(rt, "off, cannot write to", rt->cache_folder);
        free(rt->cache_folder);
        rt->cache_folder = NULL;
    }
}

void cla_cache_id(const cla_runtime *rt, const char *source, const char *options,
                  char id[33])
{
    XXH3_state_t *state = XXH3_createState();
    XXH3_128bits_reset(state);
    const char *parts[] = { source,
                            options,
                            rt->device.name,
                            rt->device.driver,
                            rt->device.version,
                            rt->device.platform_name,
                            rt->device.vendor,
                            cla_version() };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        XXH3_128bits_update(state, parts[i], strlen(parts[i]) + 1);
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(id, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

static cla_status entry_path(const cla_runtime *rt, const char *id, cla_text *path)
{
    return cla_text_add(path, "%s/%s.bin", rt->cache_folder, id);
}

static bool intact(const char *data, size_t size)
{
    entry_header h;
    if (size < sizeof h) {
        return false;
    }
    memcpy(&h, data, sizeof h);
    return memcmp(h.magic, MAGIC, sizeof MAGIC) == 0 && h.size == size - sizeof h &&
           h.hash == XXH3_64bits(data + sizeof h, h.size);
}

void cla_cache_load(cla_runtime *rt, const char *id, unsigned char **binary,
                    size_t *size)
{
    *binary = NULL;
    cla_text path = { 0 };
    if (!rt->cache_folder || entry_path(rt, id, &path)) {
        return;
    }
    char *data = NULL;
    size_t bytes = 0;
    if (access(path.data, R_OK) == 0 &&
        cla_file_read(path.data, &data, &bytes) == CLA_OK) {
        if (intact(data, bytes)) {
            *size = bytes - sizeof(entry_header);
            memmove(data, data + sizeof(entry_header), *size);
            *binary = (unsigned char *)data;
            data = NULL;
        } else {
            cla_cache_drop(rt, id, "damaged");
        }
    }
    free(data);
    cla_text_free(&path);
}

void cla_cache_drop(cla_runtime *rt, const char *id, const char *why)
{
    cla_text path = { 0 };
    if (entry_path(rt, id, &path) == CLA_OK) {
        unlink(path.data);
        cla_log(CLA_LOG_WARN, "kernel cache: rebuilding %s (%s)", path.data, why);
    }
    cla_text_free(&path);
}

/* Removes the entry unused for longest until the folder is below its limit. */
static void shrink(const cla_runtime *rt)
{
    char **paths = NULL;
    size_t count = 0;
    if (cla_folder_list(rt->cache_folder, ".bin", &paths, &count)) {
        return;
    }
    for (;;) {
        uint64_t total = 0;
        time_t oldest = 0;
        const char *victim = NULL;
        for (size_t i = 0; i < count; i++) {
            struct stat info;
            if (stat(paths[i], &info)) {
                continue;
            }
            total += (uint64_t)info.st_size;
            if (!victim || info.st_mtime < oldest) {
                victim = paths[i];
                oldest = info.st_mtime;
            }
        }
        if (total <= LIMIT_BYTES || !victim || unlink(victim)) {
            break;
        }
    }
    cla_folder_list_free(&paths, count);
}

void cla_cache_store(cla_runtime *rt, const char *id, const void *data, size_t size)
{
    cla_text path = { 0 }, entry = { 0 };
    entry_header h = { .size = size, .hash = XXH3_64bits(data, size) };
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    if (entry_path(rt, id, &path) ||
        cla_text_append(&entry, (const char *)&h, sizeof h) ||
        cla_text_append(&entry, data, size) ||
        cla_file_write(path.data, entry.data, entry.size)) {
        warn_once(rt, "cannot write", cla_error());
    }
    cla_text_free(&path);
    cla_text_free(&entry);
}

static void save_program(cla_runtime *rt, const cla_program *p)
{
    size_t size = 0;
    unsigned char *binary = NULL;
    if (clGetProgramInfo(p->handle, CL_PROGRAM_BINARY_SIZES, sizeof size, &size,
                         NULL) ||
        !size || cla_alloc(&binary, size, 1)) {
        return;
    }
    if (!clGetProgramInfo(p->handle, CL_PROGRAM_BINARIES, sizeof(binary), &binary,
                          NULL)) {
        cla_cache_store(rt, p->id, binary, size);
    }
    free(binary);
}

void cla_cache_save_programs(cla_runtime *rt)
{
    bool stored = false;
    for (size_t i = 0; i < rt->program_count; i++) {
        cla_program *p = &rt->programs[i];
        if (p->unsaved && rt->cache_folder) {
            save_program(rt, p);
            stored = true;
        }
        p->unsaved = false;
    }
    if (stored) {
        shrink(rt);
    }
}
