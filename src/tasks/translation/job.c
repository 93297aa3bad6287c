/* job.c - the batches of a job of translation, by one thread or several. */
#include "tasks/translation/job.h"

#include <stdio.h>

#include "base/platform_thread.h"

/* A batch is smaller when its longest sentence is longer than this. */
enum { USUAL_PIECES = 128 };

/* Returns the size of the batch that starts at sentence first: smaller for long
 * sentences, and small enough to give each worker a share. */
static int64_t take(const translation_job *j, int64_t first)
{
    const int64_t left = j->text.count - first;
    const int64_t workers = j->options->workers ? j->options->workers : 1;
    const int64_t share = (j->text.count + workers - 1) / workers;
    const int64_t batch = share < j->options->batch ? share : j->options->batch;
    const int64_t room = batch * USUAL_PIECES / j->order[first].length;
    const int64_t most = room < batch ? room : batch;
    return most < 1 ? 1 : most < left ? most : left;
}

static cla_status run_batch(const translation_job *j, const int64_t *pair, int64_t n,
                            translation_act act)
{
    translation_batch b;
    CLA_TRY(cla_translation_batch_make(j->t->task.rt, &j->text, pair, n, &b));
    const transformer_batch batch = cla_translation_batch_view(&b, 0, 0);
    const cla_status status = act(j, &batch, pair, n);
    cla_translation_batch_free(&b);
    return status;
}

typedef struct crew {
    const translation_job *j;
    translation_act act;
    cla_mutex lock;     // protects the fields below
    int64_t next, done; // sentences
    cla_status status;  // of the first batch that failed, and its message
    char error[1024];
} crew;

/* A translator that works for a crew in its own thread. */
typedef struct worker {
    crew *crew;
    translation *t;
    cla_thread thread;
} worker;

/* Takes the next batch and returns its size; 0 if none is left or one has failed. */
static int64_t claim(crew *c, int64_t *first)
{
    cla_mutex_lock(&c->lock);
    *first = c->next;
    const int64_t n =
        !c->status && c->next < c->j->text.count ? take(c->j, c->next) : 0;
    c->next += n;
    cla_mutex_unlock(&c->lock);
    return n;
}

static void report(crew *c, int64_t n, cla_status status)
{
    const translation_job *j = c->j;
    cla_mutex_lock(&c->lock);
    c->done += n;
    if (!status && !c->status) {
        const size_t all = (size_t)j->text.count, told = j->told ? j->told : all;
        status = cla_task_tell(&j->t->task, (size_t)c->done * told / all, told);
    }
    if (status && !c->status) {
        c->status = status;
        snprintf(c->error, sizeof c->error, "%s", cla_error());
    }
    cla_mutex_unlock(&c->lock);
}

static void *work(void *context)
{
    const worker *w = context;
    translation_job own = *w->crew->j;
    own.t = w->t;
    for (int64_t first, n; (n = claim(w->crew, &first)) > 0;) {
        report(w->crew, n, run_batch(&own, own.pair + first, n, w->crew->act));
    }
    return NULL;
}

/* Starts the workers and waits for them. If some do not start, the others do all
 * batches. */
static cla_status work_together(crew *c, cla_task *const *task, int count)
{
    worker *w = NULL;
    int started = 0;
    CLA_TRY(cla_alloc(&w, (size_t)count, sizeof *w));
    for (; started < count; started++) {
        w[started] = (worker){ .crew = c, .t = (translation *)task[started] };
        if (cla_thread_start(&w[started].thread, work, &w[started])) {
            break;
        }
    }
    for (int i = 0; i < started; i++) {
        cla_thread_join(w[i].thread);
    }
    free(w);
    return started ? CLA_OK : cla_fail(CLA_E_NOMEM, "no thread for a worker");
}

cla_status cla_translation_batches(const translation_job *j, translation_act act)
{
    const translation_options *options = j->options;
    crew c = { .j = j, .act = act };
    if (!cla_mutex_init(&c.lock)) {
        return cla_fail(CLA_E_NOMEM, "no memory for a lock");
    }
    cla_status status = CLA_OK;
    if (options->workers) {
        status = work_together(&c, options->worker, options->workers);
    } else {
        work(&(worker){ .crew = &c, .t = j->t });
    }
    cla_mutex_fini(&c.lock);
    return !status && c.status ? cla_fail(c.status, "%s", c.error) : status;
}
