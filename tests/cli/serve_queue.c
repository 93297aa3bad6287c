/* serve_queue.c - the workers of the HTTP service share the texts of a job, and never
 * touch a job that another worker may have freed. The functions of the other files of
 * the service are replaced. */
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cli/serve.h"
#include "support/support.h"

enum { WORKERS = 4, TEXTS = 16, ROUNDS = 20, SECONDS = 60 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool inside[WORKERS]; // workers that took texts of the current job
static bool late;            // a worker waited in vain for the others
static int jobs;             // finished ones

/* Waits for a change, at most until `until`. Returns false after it. */
static bool await(const struct timespec *until)
{
    return pthread_cond_timedwait(&changed, &lock, until) == 0;
}

static struct timespec at_most(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SECONDS;
    return until;
}

/* ---- functions of other files -------------------------------------------------- */

static serve_job *trap; // a job on a page of its own; NULL: none

static bool all_inside(void)
{
    bool all = true;
    for (int i = 0; i < WORKERS; i++) {
        all = all && inside[i];
    }
    return all;
}

/* Works until all workers have texts of the job. */
cla_status serve_work(const serve_worker *w, size_t n)
{
    const struct timespec until = at_most();
    (void)n;
    if (trap) {
        cr_assert_eq(mprotect(trap, (size_t)getpagesize(), PROT_READ), 0);
        return CLA_OK;
    }
    pthread_mutex_lock(&lock);
    inside[w - w->s->worker] = true;
    pthread_cond_broadcast(&changed);
    while (!all_inside() && !late) {
        late = !await(&until);
    }
    pthread_mutex_unlock(&lock);
    return CLA_OK;
}

serve_model *serve_first(const serve_job *job)
{
    return job->with;
}

void serve_complete(const serve *s, serve_job *job)
{
    (void)s, (void)job;
}

void serve_count_batch(serve *s, size_t n)
{
    (void)s, (void)n;
}

void serve_refuse(serve_job *job, int code, const char *format, ...)
{
    (void)job, (void)code, (void)format;
}

static void done(const serve *s, serve_job *job)
{
    (void)s, (void)job;
    pthread_mutex_lock(&lock);
    jobs++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- tests ---------------------------------------------------------------------- */

static const serve_limits limits = { .batch = 1, .queue = TEXTS };

static serve *open_service(int workers)
{
    static serve s;
    s = (serve){ .workers = workers, .limits = &limits, .done = done };
    TEST_OK(serve_open(&s));
    TEST_OK(serve_start(&s));
    return &s;
}

Test(serve_queue, a_job_of_many_batches_employs_all_workers)
{
    serve *s = open_service(WORKERS);
    serve_text text[TEXTS] = { { 0 } };
    /* After the first job nearly all workers wait when the next one comes. */
    for (int round = 0; round < ROUNDS && !late; round++) {
        serve_job job = { .text = text, .count = TEXTS };
        pthread_mutex_lock(&lock);
        for (int i = 0; i < WORKERS; i++) {
            inside[i] = false;
        }
        pthread_mutex_unlock(&lock);
        cr_assert(serve_push(s, &job));
        pthread_mutex_lock(&lock);
        while (jobs == round) {
            pthread_cond_wait(&changed, &lock);
        }
        pthread_mutex_unlock(&lock);
        cr_expect(!late, "round %d: a worker got no text within %d s", round, SECONDS);
    }
    serve_drain(s);
    serve_close(s);
}

/* Runs when a worker adds to `finished`, since the page can only be read until then:
 * changes the job's count, as the owner of freed memory may do. */
static void reuse(int number)
{
    (void)number;
    if (mprotect(trap, (size_t)getpagesize(), PROT_READ | PROT_WRITE)) {
        _exit(1);
    }
    trap->count = 7;
}

Test(serve_queue, count_is_read_before_another_worker_may_free_the_job)
{
    const struct sigaction action = { .sa_handler = reuse };
    serve_text text = { 0 };
    serve_job *job = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq((void *)job, MAP_FAILED);
    *job = (serve_job){ .text = &text, .count = 1 };
    cr_assert_eq(sigaction(SIGSEGV, &action, NULL), 0);
    trap = job;
    serve *s = open_service(1);
    cr_assert(serve_push(s, job));
    serve_drain(s);
    serve_close(s);
    cr_expect_eq(job->count, 7, "the worker did not add to a protected page");
    cr_expect_eq(jobs, 1, "the job was not finished");
}
