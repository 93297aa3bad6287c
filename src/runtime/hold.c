/* hold.c - lets one thread at a time use a runtime. The owner is the thread whose call
 * of a public function is running. */
#include <string.h>

#include "base/platform.h"
#include "runtime/internal.h"

/* Returns a number that identifies this thread: the address of its own variable. */
static uintptr_t this_thread(void)
{
    static _Thread_local char own;
    return (uintptr_t)&own;
}

static bool is_held(const cla_runtime *rt)
{
    return atomic_load_explicit(&rt->owner, memory_order_relaxed) == this_thread();
}

cla_status cla_runtime_check(const cla_runtime *rt)
{
    if (!is_held(rt) &&
        rt->process != cla_os_process()) { // a hold was checked when it began
        return cla_fail(CLA_E_USAGE,
                        "runtime: made by process %d, used in its child %d: "
                        "open the runtime after fork()",
                        (int)rt->process, (int)cla_os_process());
    }
    return CLA_OK;
}

/* Makes this thread the owner of a runtime that has none. */
static bool try_to_own(cla_runtime *rt)
{
    uintptr_t none = 0;
    return atomic_compare_exchange_strong_explicit(
        &rt->owner, &none, this_thread(), memory_order_acquire, memory_order_relaxed);
}

cla_status cla_hold_take(cla_hold *hold, cla_runtime *rt, const char *who)
{
    if (is_held(rt)) {
        return CLA_OK; // a call from within the library: the outer one ends the hold
    }
    CLA_TRY(cla_runtime_check(rt));
    if (!try_to_own(rt)) {
        return cla_fail(CLA_E_USAGE,
                        "%s: another thread is using this runtime: lock it, or open "
                        "one for each thread",
                        who + strlen("cla_"));
    }
    hold->rt = rt;
    return CLA_OK;
}

void cla_hold_wait(cla_hold *hold, cla_runtime *rt)
{
    if (is_held(rt) ||
        rt->process != cla_os_process()) { // after a fork the owner may not exist
        return;
    }
    while (!try_to_own(rt)) {
        cla_os_yield();
    }
    hold->rt = rt;
}

void cla_hold_end(cla_hold *hold)
{
    if (hold->rt) {
        atomic_store_explicit(&hold->rt->owner, 0, memory_order_release);
    }
}
