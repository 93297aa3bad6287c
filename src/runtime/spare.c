/* spare.c - buffers that arenas gave back, kept for the next ones.
 *
 * Each batch of sentences has tapes of its own. Buffers that go back to the driver and
 * come again cost more than many launches: a CPU's pages are filled with zeros anew, a
 * GPU's are mapped anew. What is kept and what is in use stay below the peak of what
 * was in use at once, so that a process needs no more memory than without. */
#include <string.h>

#include "runtime/internal.h"

/* Takes buffer i from the list. */
static cla_memory pull(cla_spares *s, size_t i)
{
    const cla_memory memory = s->list[i];
    s->bytes -= memory.bytes;
    s->count--;
    memmove(s->list + i, s->list + i + 1, (s->count - i) * sizeof *s->list);
    return memory;
}

void cla_spares_limit(cla_runtime *rt, uint64_t bytes)
{
    while (rt->spares.count && rt->spares.bytes > bytes) {
        clReleaseMemObject(pull(&rt->spares, 0).mem); // kept longest
    }
}

void cla_spares_fini(cla_runtime *rt)
{
    cla_spares_limit(rt, 0);
    free(rt->spares.list);
}

cla_status cla_spare_take(cla_memory *out, cla_runtime *rt, size_t bytes, size_t most)
{
    cla_spares *s = &rt->spares;
    size_t best = s->count;
    for (size_t i = 0; i < s->count; i++) {
        const size_t has = s->list[i].bytes;
        const bool fits = has >= bytes && has <= most;
        best = fits && (best == s->count || has < s->list[best].bytes) ? i : best;
    }
    if (best == s->count || rt->guard || rt->watched) {
        return cla_memory_new(out, rt, bytes);
    }
    CLA_TRY(cla_runtime_check(rt));
    *out = pull(s, best);
    cla_memory_count(rt, out->bytes);
    return CLA_OK;
}

void cla_spare_give(cla_memory *memory, cla_runtime *rt)
{
    cla_spares *s = &rt->spares;
    const bool kept =
        memory->mem && memory->bytes && !rt->guarded_count && !rt->watched &&
        cla_grow(&s->list, &s->cap, s->count + 1, sizeof *s->list) == CLA_OK;
    if (!kept) {
        cla_memory_free(memory, rt);
        return;
    }
    s->list[s->count++] = *memory;
    s->bytes += memory->bytes;
    rt->in_use_bytes -= memory->bytes;
    *memory = (cla_memory){ 0 };
}
