/* memory.c - makes allocations of Jansson fail. */
#include "support/memory.h"

#include <jansson.h>
#include <stdlib.h>

static long calls, failing;
static bool all_fail; // those after `failing`, too

static void *allocate(size_t size)
{
    const bool after = all_fail && failing && calls >= failing;
    return ++calls == failing || after ? NULL : malloc(size);
}

void fail_json(long n, bool all_after)
{
    calls = 0;
    failing = n;
    all_fail = all_after;
    json_set_alloc_funcs(allocate, free);
}

long json_allocations(void)
{
    return calls;
}
