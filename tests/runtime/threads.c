/* threads.c - two threads that use a runtime at the same time. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "support/support.h"

enum { ROUNDS = 200, SIZE = 64, THREADS = 2 };

static const char words[] = "another thread is using this runtime";

typedef struct other {
    cla_runtime *rt;
    cla_tensor *t;
    cla_status status;
    char error[256];
    atomic_bool frees, freed; // cla_tensor_free is about to be called, has returned
} other;

static void *run_in(void *(*function)(void *), other *o)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, function, o), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    return NULL;
}

static void *upload(void *context)
{
    other *o = context;
    float host[SIZE] = { 0 };
    o->status = cla_tensor_upload(o->t, host);
    strncpy(o->error, cla_error(), sizeof o->error - 1);
    return NULL;
}

static other make(void)
{
    other o = { .rt = test_runtime() };
    TEST_OK(cla_tensor_new(&o.t, o.rt, CLA_F32, 1, (int64_t[]){ SIZE }));
    return o;
}

/* During a call of one thread the calls of another are refused; afterwards they
 * work. */
Test(threads, second_is_refused)
{
    other o = make();
    cla_hold hold = { 0 }, inner = { 0 };
    TEST_OK(cla_hold_take(&hold, o.rt, "cla_first"));
    TEST_OK(cla_hold_take(&inner, o.rt, "cla_inner"));
    cla_hold_end(&inner); // ends nothing: the outer call has the runtime
    run_in(upload, &o);
    cr_assert_eq(o.status, CLA_E_USAGE);
    cr_assert(strstr(o.error, words) && strstr(o.error, "tensor_upload: "), "%s",
              o.error);
    TEST_OK(cla_tensor_fill(o.t, 1));
    cla_hold_end(&hold);
    run_in(upload, &o);
    cr_assert_eq(o.status, CLA_OK);
    cla_tensor_free(&o.t);
    cla_runtime_free(&o.rt);
}

static void *free_tensor(void *context)
{
    other *o = context;
    atomic_store(&o->frees, true);
    cla_tensor_free(&o->t);
    atomic_store(&o->freed, true);
    return NULL;
}

/* A call that cannot be refused waits for the other thread's call. */
Test(threads, free_waits)
{
    other o = make();
    cla_hold hold = { 0 };
    pthread_t thread;
    TEST_OK(cla_hold_take(&hold, o.rt, "cla_first"));
    cr_assert_eq(pthread_create(&thread, NULL, free_tensor, &o), 0);
    while (!atomic_load(&o.frees)) {
        TEST_OK(cla_runtime_finish(o.rt));
    }
    for (int i = 0; i < 100; i++) { // 20 ms, for a call that would not wait
        TEST_OK(cla_runtime_finish(o.rt));
        usleep(200);
        cr_assert(!atomic_load(&o.freed));
    }
    cla_hold_end(&hold);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert(atomic_load(&o.freed) && !o.t);
    cla_runtime_free(&o.rt);
}

typedef struct worker {
    cla_runtime *rt;
    int done, refused;
    char error[256]; // "" without an error
} worker;

/* Runs a step; repeats calls that are refused. */
static cla_status step(worker *w, float value)
{
    cla_tensor *t = NULL;
    float host[SIZE] = { 0 };
    cla_status status;
    const int64_t shape[] = { SIZE };
#define AGAIN(call)                                                          \
    while ((status = (call)) == CLA_E_USAGE && strstr(cla_error(), words)) { \
        w->refused++;                                                        \
    }                                                                        \
    if (status) return status
    AGAIN(cla_tensor_new(&t, w->rt, CLA_F32, 1, shape));
    AGAIN(cla_tensor_fill(t, value));
    AGAIN(cla_tensor_download(t, host));
#undef AGAIN
    cla_tensor_free(&t);
    w->done += host[0] == value && host[SIZE - 1] == value;
    return CLA_OK;
}

static void *work(void *context)
{
    worker *w = context;
    for (int i = 0; i < ROUNDS; i++) {
        if (step(w, (float)i)) {
            strncpy(w->error, cla_error(), sizeof w->error - 1);
        }
    }
    return NULL;
}

/* With two threads on one runtime, each call works or is refused. */
Test(threads, refused_or_right)
{
    cla_runtime *rt = NULL;
    pthread_t thread[THREADS];
    TEST_OK(cla_runtime_new(&rt, NULL));
    worker w[THREADS] = { { .rt = rt }, { .rt = rt } };
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&thread[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
        cr_assert(!*w[i].error && w[i].done == ROUNDS, "%d of %d: %s", w[i].done,
                  ROUNDS, w[i].error);
    }
    cla_runtime_free(&rt);
}
