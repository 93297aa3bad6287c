/* serve_queue.c - the bounded queue of texts and the worker threads. */
#include <string.h>

#include "cli/serve.h"

static cla_status open_workers(serve *s)
{
    CLA_TRY(cla_alloc(&s->worker, (size_t)s->workers, sizeof *s->worker));
    for (int i = 0; i < s->workers; i++) {
        serve_worker *w = &s->worker[i];
        w->s = s;
        w->number = i;
        CLA_TRY(cla_alloc(&w->unit, (size_t)s->limits->batch, sizeof *w->unit));
    }
    return CLA_OK;
}

cla_status serve_open(serve *s)
{
    s->tail = &s->head;
    const bool made = cla_mutex_init(&s->lock) && cla_condition_init(&s->more);
    CLA_TRY(made ? CLA_OK : cla_fail(CLA_E_NOMEM, "serve: no memory for a lock"));
    const cla_status status = open_workers(s);
    if (status) {
        serve_close(s);
    }
    return status;
}

void serve_close(serve *s)
{
    cla_condition_fini(&s->more);
    cla_mutex_fini(&s->lock);
    for (int i = 0; s->worker && i < s->workers; i++) {
        free(s->worker[i].unit);
    }
    free(s->worker);
}

bool serve_push(serve *s, serve_job *job)
{
    const size_t limit = (size_t)s->limits->queue;
    cla_mutex_lock(&s->lock);
    const bool draining = s->draining, room = s->waiting + job->count <= limit;
    if (!draining && room) {
        *s->tail = job;
        s->tail = &job->next;
        s->waiting += job->count;
        cla_condition_wake(&s->more);
    }
    cla_mutex_unlock(&s->lock);
    if (draining) {
        serve_refuse(job, 503, "the service is shutting down");
    } else if (!room) {
        serve_refuse(job, 503, "%d texts wait already: try again later",
                     s->limits->queue);
    }
    return !draining && room;
}

/* ---- the workers ---- */

/* Waits for a first text, then at most wait_ms for a full batch. Starts again when
 * another worker has taken the texts meanwhile. */
static void await_texts(serve *s)
{
    do {
        while (!s->head && !s->draining) {
            cla_condition_wait(&s->more, &s->lock);
        }
        const int64_t until = cla_time_ns() + (int64_t)s->limits->wait_ms * 1000000;
        bool late = false;
        while (s->head && s->waiting < (size_t)s->limits->batch && !s->draining &&
               !late) {
            late = !cla_condition_wait_until(&s->more, &s->lock, until);
        }
    } while (!s->head && !s->draining);
}

/* Takes the next texts, and those of later requests for the same model, in the order of
 * their requests. Returns 0 at the end. */
static size_t take_batch(serve *s, serve_unit *unit)
{
    size_t n = 0;
    cla_mutex_lock(&s->lock);
    await_texts(s);
    const serve_model *of = s->head ? serve_first(s->head) : NULL;
    for (serve_job **at = &s->head, *job;
         (job = *at) && n < (size_t)s->limits->batch;) {
        if (s->gone && s->gone(job)) { // its client has left
            serve_refuse(job, 499, "the client has left");
        }
        while (serve_first(job) == of && job->taken < job->count &&
               n < (size_t)s->limits->batch) {
            unit[n++] = (serve_unit){ job, &job->text[job->taken++] };
        }
        if (job->taken < job->count) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        s->tail = s->tail == &job->next ? at : s->tail;
    }
    s->waiting -= n;
    if (s->head) {
        cla_condition_wake(&s->more); // serve_push wakes one worker for a whole job
    }
    cla_mutex_unlock(&s->lock);
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
            s->done(s, job);
        }
    }
}

static void *run(void *worker)
{
    const serve_worker *w = worker;
    serve *s = w->s;
    for (size_t n; (n = take_batch(s, w->unit)) > 0;) {
        const cla_status status = serve_work(w, n);
        cla_mutex_lock(&s->lock);
        s->failed = status == CLA_E_DEVICE;
        serve_count_batch(s, n);
        cla_mutex_unlock(&s->lock);
        finish_batch(s, w->unit, n);
    }
    return NULL;
}

/* Closes the queue and waits for the first n workers, which finish all jobs. */
static void end(serve *s, int n)
{
    cla_mutex_lock(&s->lock);
    s->draining = true;
    cla_condition_wake_all(&s->more);
    cla_mutex_unlock(&s->lock);
    for (int i = 0; i < n; i++) {
        cla_thread_join(s->worker[i].thread);
    }
}

cla_status serve_start(serve *s)
{
    for (int i = 0; i < s->workers; i++) {
        const int error = cla_thread_start(&s->worker[i].thread, run, &s->worker[i]);
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
