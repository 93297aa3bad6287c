/* platform_thread.h - threads, locks and conditions. */
#pragma once

#ifdef _WIN32
typedef struct cla_mutex {
    void *lock; // an SRWLOCK
} cla_mutex;
typedef struct cla_condition {
    void *variable; // a CONDITION_VARIABLE
} cla_condition;
typedef struct cla_thread {
    void *handle;
} cla_thread;
#define CLA_MUTEX_INIT \
    {                  \
        0              \
    }
#else
#include <pthread.h>
typedef struct cla_mutex {
    pthread_mutex_t lock;
} cla_mutex;
typedef struct cla_condition {
    pthread_cond_t variable;
} cla_condition;
typedef struct cla_thread {
    pthread_t handle;
} cla_thread;
#define CLA_MUTEX_INIT            \
    {                             \
        PTHREAD_MUTEX_INITIALIZER \
    }
#endif

#include <stdbool.h>
#include <stdint.h>

/* Return false without memory. */
bool cla_mutex_init(cla_mutex *mutex);
bool cla_condition_init(cla_condition *condition);
void cla_mutex_fini(cla_mutex *mutex);
void cla_condition_fini(cla_condition *condition);

void cla_mutex_lock(cla_mutex *mutex);
void cla_mutex_unlock(cla_mutex *mutex);

/* Wait for a condition, for the second until a time of cla_os_monotonic_ns at most, and
 * return false when it has come. */
void cla_condition_wait(cla_condition *condition, cla_mutex *mutex);
bool cla_condition_wait_until(cla_condition *condition, cla_mutex *mutex, int64_t ns);
void cla_condition_wake(cla_condition *condition); // one thread
void cla_condition_wake_all(cla_condition *condition);

/* Starts a thread. Returns 0, or an errno. */
int cla_thread_start(cla_thread *thread, void *(*run)(void *), void *argument);
void cla_thread_join(cla_thread thread);
