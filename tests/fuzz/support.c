/* support.c - scratch files, checks and the environment of fuzz targets. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "fuzz.h"

enum { PATHS = 8, PATH_SIZE = 512, SEPARATOR = 0x1E };

static char scratch[64];
static pid_t owner;
static const char *fixture_folder;

/* An allocation of more than a gigabyte fails, as it may for a user. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024:"
           "strict_string_checks=1:use_sigaltstack=0";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}

bool fuzz_ok(cla_status status)
{
    if (status == CLA_OK) {
        return true;
    }
    FUZZ_CHECK(status == CLA_E_INPUT || status == CLA_E_NOMEM, "status %d (%s): %s",
               (int)status, cla_status_name(status), cla_error());
    FUZZ_CHECK(*cla_error(), "status %d without a text", (int)status);
    return false;
}

/* ---- files --------------------------------------------------------------------- */

const char *fuzz_path(const char *name)
{
    static char paths[PATHS][PATH_SIZE];
    static unsigned turn;
    char *path = paths[turn++ % PATHS];
    snprintf(path, PATH_SIZE, "%s/%s", scratch, name);
    return path;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
    const char *path = fuzz_path(name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file, "%s cannot be written", path);
    const bool whole = fwrite(data, 1, size, file) == size;
    FUZZ_CHECK(fclose(file) == 0 && whole, "%s cannot be written", path);
    return path;
}

void fuzz_cut(const uint8_t *data, size_t size, fuzz_part *parts, size_t n)
{
    const char *at = (const char *)data, *end = at + size;
    for (size_t i = 0; i < n; i++) {
        const size_t left = (size_t)(end - at);
        const char *stop = i + 1 < n && left ? memchr(at, SEPARATOR, left) : NULL;
        parts[i] = (fuzz_part){ at, stop ? (size_t)(stop - at) : left };
        at = stop ? stop + 1 : end;
    }
}

char *fuzz_text(const fuzz_part *part)
{
    char *text = NULL;
    if (cla_utf8_check(part->data, part->size) < part->size ||
        (part->size && memchr(part->data, 0, part->size)) ||
        cla_alloc(&text, part->size + 1, 1)) {
        return NULL;
    }
    if (part->size) {
        memcpy(text, part->data, part->size);
    }
    return text;
}

void fuzz_stdin(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO, "no standard input");
    close(fd);
    __fpurge(stdin);
    clearerr(stdin);
}

void fuzz_silence(void)
{
    static bool done;
    if (!done) {
        done = freopen("/dev/null", "w", stdout) != NULL;
    }
}

const char *fuzz_fixtures(void)
{
    return fixture_folder;
}

/* ---- the process --------------------------------------------------------------- */

static int forget(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

static void clean(void)
{
    if (owner == getpid()) { // a child must not remove it
        nftw(scratch, forget, 16, FTW_DEPTH | FTW_PHYS);
    }
}

void fuzz_begin(const char *fixtures)
{
    const bool memory = access("/dev/shm", W_OK | X_OK) == 0;
    snprintf(scratch, sizeof scratch, "%s/clattn-fuzz-XXXXXX",
             memory ? "/dev/shm" : "/tmp");
    FUZZ_CHECK(mkdtemp(scratch), "no scratch folder %s", scratch);
    owner = getpid();
    atexit(clean);
    fixture_folder = fixtures;
    setenv("HOME", scratch, 1);
    setenv("CLATTN_CACHE_DIR", fuzz_path("cache"), 1);
    setenv("CLATTN_TUNING", fuzz_path("tuning.json"), 1);
    setenv("CLATTN_LOG", "error", 1);
    static const char *const others[] = { "CLATTN_DEVICE",      "CLATTN_SCHEDULE",
                                          "CLATTN_KERNEL_PATH", "CLATTN_GEMM",
                                          "XDG_CACHE_HOME",     "XDG_DATA_HOME" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        unsetenv(others[i]);
    }
}
