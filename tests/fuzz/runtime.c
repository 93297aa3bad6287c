/* runtime.c - one runtime for many runs: the linker puts these functions in front of
 * the real ones. */
#include "runtime/runtime.h"

#include "fuzz.h"

enum { MANY_PROGRAMS = 200 };

static cla_runtime *shared;
static bool sharing;

cla_status __real_cla_runtime_new(cla_runtime **rt, const char *device);
cla_status __wrap_cla_runtime_new(cla_runtime **rt, const char *device);
void __real_cla_runtime_free(cla_runtime **rt);
void __wrap_cla_runtime_free(cla_runtime **rt);

void fuzz_share_runtime(void)
{
    sharing = true;
    if (shared && cla_runtime_builds(shared) > MANY_PROGRAMS) {
        __real_cla_runtime_free(&shared);
    }
}

cla_status __wrap_cla_runtime_new(cla_runtime **rt, const char *device)
{
    if (!sharing) {
        return __real_cla_runtime_new(rt, device);
    }
    *rt = NULL;
    if (!shared) {
        CLA_TRY(__real_cla_runtime_new(&shared, device));
    }
    *rt = shared;
    return CLA_OK;
}

void __wrap_cla_runtime_free(cla_runtime **rt)
{
    if (rt && sharing && *rt == shared) {
        *rt = NULL;
    } else {
        __real_cla_runtime_free(rt);
    }
}
