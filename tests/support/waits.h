/* waits.h - how often training waits for the device. */
#pragma once

#include "runtime/runtime.h"
#include "support.h"

/* Begins to count. */
static inline void waits_begin(cla_runtime *rt)
{
    cla_profile_clear(rt);
    cla_profile_enable(rt, true);
}

/* Checks that each step since then waited for its loss alone, which was queued before
 * its backward pass. */
static inline void waits_end(cla_runtime *rt, int64_t steps)
{
    const cla_waits w = cla_runtime_waits(rt);
    cla_profile_enable(rt, false);
    cr_assert(
        w.writes == 0 && w.ring == 0 && w.reads == 0 && w.late_reads <= steps,
        "%lld steps wait for %lld writes, %lld times for room, for %lld reads and "
        "%lld late ones",
        (long long)steps, (long long)w.writes, (long long)w.ring, (long long)w.reads,
        (long long)w.late_reads);
}
