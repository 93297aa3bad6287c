/* predict.c - translates lines of text and scores given translations. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/platform_thread.h"
#include "models/likelihood.h"
#include "tasks/translation/parts.h"

/* A batch is smaller when its longest sentence is longer than this. */
enum { USUAL_PIECES = 128 };

typedef struct sized {
    int64_t pair, length;
} sized;

/* The lines that have pieces, as ids, and where to write the results. */
typedef struct job {
    translation *t;
    const translation_options *options;
    translation_result *out; // of all lines
    cla_ids source, target;
    cla_bitext text; // points into both
    size_t *line;    // [text.count]
    size_t told;     // lines that progress is told of; 0: text.count
    sized *order;    // [text.count] longest first
    int64_t *pair;   // [text.count] in that order
} job;

static int wanted(const job *j)
{
    return j->options->search.best ? j->options->search.best : 1;
}

/* ---- lines to pieces --------------------------------------------------------- */

/* Appends a line's pieces. A line of blanks has none. */
static cla_status append(const cla_subwords *s, const char *line, cla_ids *ids)
{
    const bool blank = line[strspn(line, " \t")] == 0;
    return blank ? CLA_OK : cla_subwords_encode(s, line, strlen(line), ids);
}

/* Appends a line's pieces and, where ended, the end; *any tells whether it has
 * pieces. */
static cla_status encode(const cla_subwords *s, const char *line, bool ended,
                         cla_ids *ids, bool *any)
{
    const size_t before = ids->count;
    CLA_TRY(append(s, line, ids));
    *any = ids->count > before;
    if (!ended) {
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + 1, sizeof *ids->id));
    ids->id[ids->count++] = CLA_EOS;
    return CLA_OK;
}

cla_status cla_translation_pieces(const translation *t, const char *line, bool target,
                                  size_t *count)
{
    cla_ids ids = { 0 };
    const cla_status status = append(target ? &t->target : &t->source, line, &ids);
    *count = ids.count;
    cla_ids_free(&ids);
    return status;
}

/* Writes the results of a line without pieces, which need no model. */
static void answer(const job *j, size_t number, bool any_target)
{
    const int best = wanted(j);
    for (int i = 0; i < best; i++) {
        translation_result *r = &j->out[number * (size_t)best + (size_t)i];
        r->logp = r->score = i || any_target ? -INFINITY : 0;
    }
}

static cla_status add_line(job *j, size_t number, const char *source,
                           const char *target)
{
    const size_t before[] = { j->source.count, j->target.count };
    bool any = false, any_target = false;
    CLA_TRY(encode(&j->t->source, source, j->t->source_end, &j->source, &any));
    if (target) {
        CLA_TRY(encode(&j->t->target, target, true, &j->target, &any_target));
    }
    if (!any) {
        j->source.count = before[0];
        j->target.count = before[1];
        answer(j, number, any_target);
        return CLA_OK;
    }
    const int64_t sizes[] = { (int64_t)(j->source.count - before[0]),
                              (int64_t)(j->target.count - before[1]) };
    const int64_t n = j->text.count++;
    j->line[n] = number;
    j->order[n] = (sized){ n, sizes[0] > sizes[1] ? sizes[0] : sizes[1] };
    j->text.source_at[n + 1] = (int64_t)j->source.count;
    j->text.target_at[n + 1] = (int64_t)j->target.count;
    return CLA_OK;
}

static int longest_first(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->length != y->length) {
        return x->length > y->length ? -1 : 1;
    }
    return x->pair < y->pair ? -1 : x->pair > y->pair;
}

static cla_status fill(job *j, const char *const *sources, const char *const *targets,
                       size_t n)
{
    CLA_TRY(cla_alloc(&j->text.source_at, n + 1, sizeof *j->text.source_at));
    CLA_TRY(cla_alloc(&j->text.target_at, n + 1, sizeof *j->text.target_at));
    CLA_TRY(cla_alloc(&j->line, n + 1, sizeof *j->line));
    CLA_TRY(cla_alloc(&j->order, n + 1, sizeof *j->order));
    CLA_TRY(cla_alloc(&j->pair, n + 1, sizeof *j->pair));
    for (size_t i = 0; i < n; i++) {
        CLA_TRY(add_line(j, i, sources[i], targets ? targets[i] : NULL));
    }
    qsort(j->order, (size_t)j->text.count, sizeof *j->order, longest_first);
    for (int64_t i = 0; i < j->text.count; i++) {
        j->pair[i] = j->order[i].pair;
    }
    j->text.source = j->source.id;
    j->text.target = targets ? j->target.id : j->source.id; // the latter is never read
    return CLA_OK;
}

/* Returns the size of the batch that starts at sentence first: smaller for long
 * sentences, and small enough to give each worker a share. */
static int64_t take(const job *j, int64_t first)
{
    const int64_t left = j->text.count - first;
    const int64_t workers = j->options->workers ? j->options->workers : 1;
    const int64_t share = (j->text.count + workers - 1) / workers;
    const int64_t batch = share < j->options->batch ? share : j->options->batch;
    const int64_t room = batch * USUAL_PIECES / j->order[first].length;
    const int64_t most = room < batch ? room : batch;
    return most < 1 ? 1 : most < left ? most : left;
}

/* ---- pieces to results ------------------------------------------------------- */

static cla_status write_results(const job *j, const int64_t *pair, int64_t n,
                                const search_result *results)
{
    const int best = wanted(j);
    for (int64_t i = 0; i < n * best; i++) {
        const search_result *from = &results[i];
        const size_t line = j->line[pair[i / best]];
        translation_result *to = &j->out[line * (size_t)best + (size_t)(i % best)];
        to->logp = from->logp;
        to->score = from->score;
        to->cut = from->cut;
        CLA_TRY(from->id ? cla_subwords_decode(&j->t->target, from->id,
                                               (size_t)from->count, &to->text)
                         : CLA_OK);
    }
    return CLA_OK;
}

static cla_status translate(const job *j, const transformer_batch *batch,
                            const int64_t *pair, int64_t n)
{
    search_result *results = NULL;
    const int64_t count = n * wanted(j);
    CLA_TRY(cla_alloc(&results, (size_t)count, sizeof *results));
    cla_status status = cla_transformer_search(
        &j->t->model, j->t->task.rt, &batch->source, &j->options->search, results);
    status = status ? status : write_results(j, pair, n, results);
    for (int64_t i = 0; i < count; i++) {
        free(results[i].id);
    }
    free(results);
    return status;
}

static cla_status score(const job *j, const transformer_batch *batch,
                        const int64_t *pair, int64_t n)
{
    double *logp = NULL;
    cla_tape *tape = NULL;
    CLA_TRY(cla_alloc(&logp, (size_t)n, sizeof *logp));
    cla_status status = cla_tape_new(&tape, j->t->task.rt, false);
    status =
        status ? status : cla_transformer_likelihood(&j->t->model, tape, batch, logp);
    for (int64_t i = 0; i < n && !status; i++) {
        const int64_t *at = j->text.target_at + pair[i];
        translation_result *r = &j->out[j->line[pair[i]]];
        r->logp = logp[i];
        r->score = cla_search_worth(&j->options->search, logp[i], at[1] - at[0]);
    }
    cla_tape_free(&tape);
    free(logp);
    return status;
}

typedef cla_status (*use)(const job *j, const transformer_batch *batch,
                          const int64_t *pair, int64_t n);

static cla_status run_batch(const job *j, const int64_t *pair, int64_t n, use act)
{
    translation_batch b;
    CLA_TRY(cla_translation_batch_make(j->t->task.rt, &j->text, pair, n, &b));
    const transformer_batch batch = cla_translation_batch_view(&b, 0, 0);
    const cla_status status = act(j, &batch, pair, n);
    cla_translation_batch_free(&b);
    return status;
}

/* ---- the batches of a job, by one thread or several ---------------------------- */

typedef struct crew {
    const job *j;
    use act;
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
    const job *j = c->j;
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
    job own = *w->crew->j;
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

static cla_status run_batches(const job *j, use act)
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

/* Translates lines as they are, or scores them. */
static cla_status run_whole(job *j, const char *const *lines,
                            const char *const *targets, size_t n)
{
    cla_status status = fill(j, lines, targets, n);
    status = status ? status : run_batches(j, targets ? score : translate);
    cla_ids_free(&j->source);
    cla_ids_free(&j->target);
    free(j->text.source_at);
    free(j->text.target_at);
    free(j->line);
    free(j->order);
    free(j->pair);
    return status;
}

static cla_status run_parts(job *j, const char *const *lines, size_t n)
{
    translation_parts parts;
    translation_result *const out = j->out, *found = NULL;
    const size_t best = (size_t)wanted(j);
    cla_status status = cla_translation_parts_make(&parts, j->t, lines, n);
    status = status ? status : cla_alloc(&found, parts.count * best + 1, sizeof *found);
    j->out = found;
    j->told = n;
    status = status ? status : run_whole(j, parts.text, NULL, parts.count);
    status = status ? status : cla_translation_parts_join(&parts, best, found, out);
    for (size_t i = 0; i < parts.count * best && found; i++) {
        cla_text_free(&found[i].text);
    }
    free(found);
    cla_translation_parts_free(&parts);
    return status;
}

cla_status cla_translation_run(translation *t, const char *const *lines,
                               const char *const *targets, size_t n,
                               const translation_options *options,
                               translation_result *out)
{
    job j = { .t = t, .options = options, .out = out };
    return options->parts && !targets ? run_parts(&j, lines, n)
                                      : run_whole(&j, lines, targets, n);
}
