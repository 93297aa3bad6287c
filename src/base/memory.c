/* memory.c - host memory; a failed allocation sets the error text. */
#include <string.h>

#include "base/base.h"

static cla_status no_memory(size_t n, size_t size)
{
    return cla_fail(CLA_E_NOMEM, "out of host memory: %zu times %zu bytes asked", n,
                    size);
}

/* Sets the pointer at the address out, which may have any type: memcpy is the portable
 * way to set it through void *. */
static void set_pointer(void *out, void *value)
{
    memcpy(out, &value, sizeof value);
}

cla_status cla_alloc(void *out, size_t n, size_t size)
{
    // an empty request gets memory too: NULL would mean failure
    const bool fits = !size || n <= SIZE_MAX / size;
    void *memory = fits ? calloc(n ? n : 1, size ? size : 1) : NULL;
    set_pointer(out, memory);
    return memory ? CLA_OK : no_memory(n, size);
}

cla_status cla_grow(void *items, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap) return CLA_OK;

    size_t wanted = *cap ? *cap : 8;
    while (wanted < need) {
        wanted = wanted > SIZE_MAX / 2 ? need : wanted * 2;
    }
    if (!size || wanted > SIZE_MAX / size) return no_memory(wanted, size);

    void *old;
    memcpy(&old, items, sizeof old);
    void *memory = realloc(old, wanted * size);
    if (!memory) return no_memory(wanted, size);
    set_pointer(items, memory);
    *cap = wanted;
    return CLA_OK;
}

cla_status cla_strdup(char **out, const char *text)
{
    *out = strdup(text);
    return *out ? CLA_OK : no_memory(strlen(text) + 1, 1);
}
