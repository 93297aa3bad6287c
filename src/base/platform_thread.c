/* platform_thread.c - threads, by POSIX. */
#include "base/platform_thread.h"

#include <time.h>

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
    const struct timespec until = { .tv_sec = (time_t)(ns / 1000000000),
                                    .tv_nsec = (long)(ns % 1000000000) };
    return pthread_cond_timedwait(&condition->variable, &mutex->lock, &until) == 0;
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
