/* cache.c - built programs on disk, so that a second start compiles nothing.
 *
 * An entry's id hashes all that the binary depends on. Entries are written whole, so
 * two processes may fill the cache at once; a damaged program is rebuilt. */
#include <stdio.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY // the size of a state
#include <xxhash.h>

#include "base/file.h"
#include "base/platform.h"
#include "runtime/cache_files.h"
#include "runtime/internal.h"

static const uint64_t LIMIT_BYTES = 512ull << 20;

static void warn_once(cla_runtime *rt, const char *text, const char *detail)
{
    if (!rt->cache_warned) {
        rt->cache_warned = true;
        cla_log(CLA_LOG_WARN, "kernel cache: %s%s%s", text, *detail ? ": " : "",
                detail);
    }
}

/* Returns the folder of CLATTN_CACHE_DIR, or the default one; NULL without a home. */
static char *given_folder(void)
{
    const char *variable = cla_os_getenv("CLATTN_CACHE_DIR");
    char *folder = NULL;
    if (variable && *variable) {
        return cla_strdup(&folder, variable) ? NULL : folder;
    }
    return cla_cache_folder(&folder) ? folder : NULL;
}

void cla_cache_init(cla_runtime *rt)
{
    const char *variable = cla_os_getenv("CLATTN_CACHE_DIR"), *why = NULL;
    if (rt->device.kind == CLA_DEVICE_CPU) {
        cla_processor_features(rt->processor);
    }
    if (variable && strcmp(variable, "off") == 0) {
        return;
    }
    char *given = given_folder();
    if (!given) {
        warn_once(rt, "none, there is no home folder (CLATTN_CACHE_DIR names another)",
                  "");
        return;
    }
    cla_text path = { 0 };
    rt->cache_fd = cla_cache_files_open(given, &path, &why);
    if (rt->cache_fd >= 0) {
        rt->cache_folder = path.data;
    } else {
        warn_once(rt, why, path.data ? path.data : given);
        cla_text_free(&path);
    }
    free(given);
}

void cla_cache_fini(cla_runtime *rt)
{
    if (rt->cache_folder) cla_os_close(rt->cache_fd);
    free(rt->cache_folder);
    rt->cache_folder = NULL;
}

void cla_cache_id(const cla_runtime *rt, const char *source, const char *options,
                  char id[33])
{
    XXH3_state_t state; // not allocated: there is no way to report a failure
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    const char *parts[] = { source,
                            options,
                            rt->device.name,
                            rt->device.driver,
                            rt->device.version,
                            rt->device.platform_name,
                            rt->device.vendor,
                            rt->processor, // two of them may share a name
                            cla_version() };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        XXH3_128bits_update(&state, parts[i], strlen(parts[i]) + 1);
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(&state);
    snprintf(id, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

void cla_cache_load(cla_runtime *rt, const char *id, unsigned char **binary,
                    size_t *size)
{
    const char *why = NULL;
    *binary = NULL;
    if (!rt->cache_folder) {
        return;
    }
    cla_cache_files_read(rt->cache_fd, id, binary, size, &why);
    if (why) {
        cla_cache_drop(rt, id, why);
    }
}

void cla_cache_drop(cla_runtime *rt, const char *id, const char *why)
{
    cla_text path = { 0 };
    cla_cache_files_remove(rt->cache_fd, id);
    if (cla_cache_files_path(&path, rt->cache_folder, id) == CLA_OK) {
        cla_log(CLA_LOG_WARN, "kernel cache: rebuilding %s (%s)", path.data, why);
    }
    cla_text_free(&path);
}

void cla_cache_store(cla_runtime *rt, const char *id, const void *data, size_t size)
{
    if (cla_cache_files_write(rt->cache_fd, id, data, size)) {
        cla_fail_within(CLA_E_IO, "%s", rt->cache_folder);
        warn_once(rt, "cannot write", cla_error());
    }
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

static int count_unsaved(const cla_runtime *rt)
{
    int count = 0;
    for (size_t i = 0; i < rt->program_count && rt->cache_folder; i++) {
        count += rt->programs[i].unsaved;
    }
    return count;
}

void cla_cache_save_programs(cla_runtime *rt)
{
    const int total = count_unsaved(rt);
    int number = 0;
    for (size_t i = 0; i < rt->program_count; i++) {
        cla_program *p = &rt->programs[i];
        if (p->unsaved && rt->cache_folder) {
            number++;
            if (rt->told) rt->told(rt->told_context, number, total);
            save_program(rt, p);
        }
        p->unsaved = false;
    }
    if (total) {
        cla_cache_files_shrink(rt->cache_fd, LIMIT_BYTES);
    }
}
