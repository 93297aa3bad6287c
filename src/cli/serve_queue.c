/* serve_queue.c - the bounded queue of texts and the worker threads. */
#include <string.h>
#include <time.h>

#include "cli/serve.h"

static cla_status open_workers(serve *s)
{
    CLA_TRY(cla_alloc(&s->worker, (size_t)s->workers, sizeof *s->worker));
    for (int i = 0; i < s->workers; i++) {
        serve_worker *w = &s->worker[i];
        w->s = s;
        w->model = cla_model_worker(s->model, i);
        CLA_TRY(cla_alloc(&w->unit, (size_t)s->limits->batch, sizeof *w->unit));
    }
    return CLA_OK;
}

cla_status serve_open(serve *s)
{
    pthread_condattr_t attributes;
    s->tail = &s->head;
    const bool made = !pthread_mutex_init(&s->lock, NULL) &&
                      !pthread_condattr_init(&attributes) &&
                      !pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) &&
                      !pthread_cond_init(&s->more, &attributes) &&
                      !pthread_condattr_destroy(&attributes);
    CLA_TRY(made ? CLA_OK : cla_fail(CLA_E_NOMEM, "serve: no memory for a lock"));
    const cla_status status = open_workers(s);
    if (status) {
        serve_close(s);
    }
    return status;
}

void serve_close(serve *s)
{
    pthread_cond_destroy(&s->more);
    pthread_mutex_destroy(&s->lock);
    for (int i = 0; s->worker && i < s->workers; i++) {
        free(s->worker[i].unit);
    }
    free(s->worker);
}

bool serve_push(serve *s, serve_job *job)
{
    const size_t limit = (size_t)s->limits->queue;
    pthread_mutex_lock(&s->lock);
    const bool draining = s->draining, room = s->waiting + job->count <= limit;
    if (!draining && room) {
        *s->tail = job;
        s->tail = &job->next;
        s->waiting += job->count;
        pthread_cond_signal(&s->more);
    }
    pthread_mutex_unlock(&s->lock);
    if (draining) {
        serve_refuse(job, 503, "the service is shutting down");
    } else if (!room) {
        serve_refuse(job, 503, "%d texts wait already: try again later",
                     s->limits->queue);
    }
    return !draining && room;
}

/* ---- the workers ---- */

static struct timespec deadline(int wait_ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += wait_ms / 1000;
    at.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* Waits for a first text, then at most wait_ms for a full batch. Starts again when
 * another worker has taken the texts meanwhile. */
static void await_texts(serve *s)
{
    do {
        while (!s->head && !s->draining) {
            pthread_cond_wait(&s->more, &s->lock);
        }
        const struct timespec until = deadline(s->limits->wait_ms);
        int late = 0;
        while (s->head && s->waiting < (size_t)s->limits->batch && !s->draining &&
               !late) {
            late = pthread_cond_timedwait(&s->more, &s->lock, &until);
        }
    } while (!s->head && !s->draining);
}

/* Takes the next texts in the order of their requests. Returns 0 at the end. */
static size_t take_batch(serve *s, serve_unit *unit)
{
    size_t n = 0;
    pthread_mutex_lock(&s->lock);
    await_texts(s);
    while (s->head && n < (size_t)s->limits->batch) {
        serve_job *job = s->head;
        unit[n++] = (serve_unit){ job, &job->text[job->taken++] };
        if (job->taken == job->count) {
            s->head = job->next;
            s->tail = s->head ? s->tail : &s->head;
        }
    }
    s->waiting -= n;
    if (s->head) {
        pthread_cond_signal(&s->more); // serve_push wakes one worker for a whole job
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* Completes the jobs whose last text is finished. After its addition to `finished` a
 * worker must not use the job unless that text was the last: another worker may have
 * completed and freed it. */
static void finish_batch(const serve *s, const serve_unit *unit, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        serve_job *job = unit[i].job;
        const size_t count = job->count;
        if (atomic_fetch_add(&job->finished, 1) + 1 == count) {
            serve_complete(s, job);
            s->done(job);
        }
    }
}

static void *run(void *worker)
{
    const serve_worker *w = worker;
    serve *s = w->s;
    for (size_t n; (n = take_batch(s, w->unit)) > 0;) {
        const cla_status status = serve_work(w, n);
        pthread_mutex_lock(&s->lock);
        s->failed = status == CLA_E_DEVICE;
        serve_count_batch(s, n);
        pthread_mutex_unlock(&s->lock);
        finish_batch(s, w->unit, n);
    }
    return NULL;
}

/* Closes the queue and waits for the first n workers, which finish all jobs. */
static void end(serve *s, int n)
{
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_cond_broadcast(&s->more);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < n; i++) {
        pthread_join(s->worker[i].thread, NULL);
    }
}

cla_status serve_start(serve *s)
{
    for (int i = 0; i < s->workers; i++) {
        const int error =
            pthread_create(&s->worker[i].thread, NULL, run, &s->worker[i]);
        if (error) {
            end(s, i);
            return cla_fail(CLA_E_NOMEM, "serve: no thread: %s", strerror(error));
        }
    }
    return CLA_OK;
}

void serve_drain(serve *s)
{
    end(s, s->workers);
}
