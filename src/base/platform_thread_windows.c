/* platform_thread_windows.c - threads, by Windows. */
#include <errno.h>
#include <process.h>
#include <stdlib.h>

#include "base/platform.h"
#include "base/platform_thread.h"
#include "base/platform_windows.h"

_Static_assert(sizeof(cla_mutex) == sizeof(SRWLOCK) &&
                   sizeof(cla_condition) == sizeof(CONDITION_VARIABLE),
               "these types hold those of Windows, whose initial value is zero");

bool cla_mutex_init(cla_mutex *mutex)
{
    *mutex = (cla_mutex)CLA_MUTEX_INIT;
    return true;
}

bool cla_condition_init(cla_condition *condition)
{
    *condition = (cla_condition){ 0 };
    return true;
}

void cla_mutex_fini(cla_mutex *mutex)
{
    (void)mutex;
}

void cla_condition_fini(cla_condition *condition)
{
    (void)condition;
}

void cla_mutex_lock(cla_mutex *mutex)
{
    AcquireSRWLockExclusive((SRWLOCK *)mutex);
}

void cla_mutex_unlock(cla_mutex *mutex)
{
    ReleaseSRWLockExclusive((SRWLOCK *)mutex);
}

void cla_condition_wait(cla_condition *condition, cla_mutex *mutex)
{
    SleepConditionVariableSRW((CONDITION_VARIABLE *)condition, (SRWLOCK *)mutex,
                              INFINITE, 0);
}

bool cla_condition_wait_until(cla_condition *condition, cla_mutex *mutex, int64_t ns)
{
    const int64_t left = ns - cla_os_monotonic_ns();
    const DWORD ms = left > 0 ? (DWORD)((left + 999999) / 1000000) : 0;
    return SleepConditionVariableSRW((CONDITION_VARIABLE *)condition, (SRWLOCK *)mutex,
                                     ms, 0);
}

void cla_condition_wake(cla_condition *condition)
{
    WakeConditionVariable((CONDITION_VARIABLE *)condition);
}

void cla_condition_wake_all(cla_condition *condition)
{
    WakeAllConditionVariable((CONDITION_VARIABLE *)condition);
}

/* What a thread begins with. */
typedef struct beginning {
    void *(*run)(void *);
    void *argument;
} beginning;

static unsigned __stdcall begin(void *given)
{
    const beginning b = *(beginning *)given;
    free(given);
    b.run(b.argument);
    return 0;
}

int cla_thread_start(cla_thread *thread, void *(*run)(void *), void *argument)
{
    beginning *b = malloc(sizeof *b);
    if (!b) return ENOMEM;
    *b = (beginning){ run, argument };
    const uintptr_t handle = _beginthreadex(NULL, 0, begin, b, 0, NULL);
    if (!handle) {
        free(b);
        return EAGAIN;
    }
    thread->handle = (void *)handle;
    return 0;
}

void cla_thread_join(cla_thread thread)
{
    WaitForSingleObject(thread.handle, INFINITE);
    CloseHandle(thread.handle);
}
