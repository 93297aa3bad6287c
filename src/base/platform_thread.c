/* platform_thread.c - threads, by POSIX. */
#include "base/platform_thread.h"

#include <time.h>

#ifdef __APPLE__ // conditions know no clock; they wait for a while, not until a time
#define pthread_condattr_setclock(attributes, clock) 0
#endif

bool cla_mutex_init(cla_mutex *mutex)
{
    return pthread_mutex_init(&mutex->lock, NULL) == 0;
}

bool cla_condition_init(cla_condition *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes)) return false;
    const bool made = !pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) &&
                      !pthread_cond_init(&condition->variable, &attributes);
    pthread_condattr_destroy(&attributes);
    return made;
}

void cla_mutex_fini(cla_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->lock);
}

void cla_condition_fini(cla_condition *condition)
{
    pthread_cond_destroy(&condition->variable);
}

void cla_mutex_lock(cla_mutex *mutex)
{
    pthread_mutex_lock(&mutex->lock);
}

void cla_mutex_unlock(cla_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->lock);
}

void cla_condition_wait(cla_condition *condition, cla_mutex *mutex)
{
    pthread_cond_wait(&condition->variable, &mutex->lock);
}

bool cla_condition_wait_until(cla_condition *condition, cla_mutex *mutex, int64_t ns)
{
#ifdef __APPLE__
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t left = ns - ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    if (left <= 0) return false;
    const struct timespec pause = { .tv_sec = (time_t)(left / 1000000000),
                                    .tv_nsec = (long)(left % 1000000000) };
    return !pthread_cond_timedwait_relative_np(&condition->variable, &mutex->lock,
                                               &pause);
#else
    const struct timespec until = { .tv_sec = (time_t)(ns / 1000000000),
                                    .tv_nsec = (long)(ns % 1000000000) };
    return pthread_cond_timedwait(&condition->variable, &mutex->lock, &until) == 0;
#endif
}

void cla_condition_wake(cla_condition *condition)
{
    pthread_cond_signal(&condition->variable);
}

void cla_condition_wake_all(cla_condition *condition)
{
    pthread_cond_broadcast(&condition->variable);
}

int cla_thread_start(cla_thread *thread, void *(*run)(void *), void *argument)
{
    return pthread_create(&thread->handle, NULL, run, argument);
}

void cla_thread_join(cla_thread thread)
{
    pthread_join(thread.handle, NULL);
}
