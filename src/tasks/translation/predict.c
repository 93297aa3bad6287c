/* predict.c - translates lines of text and scores given translations. */
#include <math.h>
#include <string.h>

#include "models/likelihood.h"
#include "tasks/translation/detail.h"
#include "tasks/translation/job.h"
#include "tasks/translation/parts.h"

static int wanted(const translation_job *j)
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
static void answer(const translation_job *j, size_t number, bool any_target)
{
    const int best = wanted(j);
    for (int i = 0; i < best; i++) {
        translation_result *r = &j->out[number * (size_t)best + (size_t)i];
        r->logp = r->score = i || any_target ? -INFINITY : 0;
    }
}

static cla_status add_line(translation_job *j, size_t number, const char *source,
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
    j->order[n] = (translation_sized){ n, sizes[0] > sizes[1] ? sizes[0] : sizes[1] };
    j->text.source_at[n + 1] = (int64_t)j->source.count;
    j->text.target_at[n + 1] = (int64_t)j->target.count;
    return CLA_OK;
}

static int longest_first(const void *a, const void *b)
{
    const translation_sized *x = a, *y = b;
    if (x->length != y->length) {
        return x->length > y->length ? -1 : 1;
    }
    return x->pair < y->pair ? -1 : x->pair > y->pair;
}

static cla_status fill(translation_job *j, const char *const *sources,
                       const char *const *targets, size_t n)
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

/* ---- pieces to results ------------------------------------------------------- */

static translation_result *result_of(const translation_job *j, int64_t pair, int i)
{
    return &j->out[j->line[pair] * (size_t)wanted(j) + (size_t)i];
}

static cla_status write_results(const translation_job *j, const int64_t *pair,
                                int64_t n, const search_result *results)
{
    const int best = wanted(j);
    for (int64_t i = 0; i < n * best; i++) {
        const search_result *from = &results[i];
        translation_result *to = result_of(j, pair[i / best], (int)(i % best));
        to->logp = from->logp;
        to->score = from->score;
        to->cut = from->cut;
        CLA_TRY(from->id ? cla_subwords_decode(&j->t->target, from->id,
                                               (size_t)from->count, &to->text)
                         : CLA_OK);
    }
    return CLA_OK;
}

/* A translation of a pair's line by its pieces; to: its place in the results. */
static translation_given given_of(const translation_job *j, int64_t pair,
                                  const int32_t *target, int64_t count,
                                  translation_result *to)
{
    const int64_t *at = j->text.source_at + pair;
    return (translation_given){
        .line = j->lines[j->line[pair]],
        .source = j->text.source + at[0],
        .source_count = at[1] - at[0],
        .target = target,
        .target_count = count,
        .detail = &to->detail,
    };
}

/* Returns whether a translation of so many pieces, its end included, was forced to end,
 * which costs nothing. */
static bool ends_free(const translation_job *j, int64_t pair, int64_t pieces)
{
    const search_options *o = &j->options->search;
    const int64_t *at = j->text.source_at + pair;
    return o->forced && pieces == (o->most ? o->most : at[1] - at[0] + o->extra);
}

/* Finds the details of results, behind whose pieces there is room for the end; NULL: of
 * the given translations. */
static cla_status find_details(const translation_job *j, const int64_t *pair, int64_t n,
                               const search_result *results)
{
    const int best = wanted(j);
    translation_given *given = NULL;
    int64_t count = 0;
    if (!j->options->detail) {
        return CLA_OK;
    }
    CLA_TRY(cla_alloc(&given, (size_t)(n * best) + 1, sizeof *given));
    for (int64_t i = 0; i < n * best; i++) {
        const int64_t of = pair[i / best], *at = j->text.target_at + of;
        translation_result *to = result_of(j, of, (int)(i % best));
        const search_result *r = results ? &results[i] : NULL;
        if (!r) {
            given[count++] = given_of(j, of, j->text.target + at[0], at[1] - at[0], to);
        } else if (r->id && r->count + !r->cut) {
            r->id[r->count] = CLA_EOS;
            given[count] = given_of(j, of, r->id, r->count + !r->cut, to);
            given[count++].free_end = !r->cut && ends_free(j, of, r->count + 1);
        }
    }
    const cla_status status = cla_translation_details(
        j->t, given, count, results && j->options->search.first != 0);
    free(given);
    return status;
}

static cla_status translate(const translation_job *j, const transformer_batch *batch,
                            const int64_t *pair, int64_t n)
{
    search_result *results = NULL;
    const int64_t count = n * wanted(j);
    CLA_TRY(cla_alloc(&results, (size_t)count, sizeof *results));
    cla_status status = cla_transformer_search(
        &j->t->model, j->t->task.rt, &batch->source, &j->options->search, results);
    status = status ? status : write_results(j, pair, n, results);
    status = status ? status : find_details(j, pair, n, results);
    for (int64_t i = 0; i < count; i++) {
        free(results[i].id);
    }
    free(results);
    return status;
}

static cla_status score(const translation_job *j, const transformer_batch *batch,
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
    status = status ? status : find_details(j, pair, n, NULL);
    cla_tape_free(&tape);
    free(logp);
    return status;
}

/* Translates lines as they are, or scores them. */
static cla_status run_whole(translation_job *j, const char *const *lines,
                            const char *const *targets, size_t n)
{
    j->lines = lines;
    cla_status status = fill(j, lines, targets, n);
    status = status ? status : cla_translation_batches(j, targets ? score : translate);
    cla_ids_free(&j->source);
    cla_ids_free(&j->target);
    free(j->text.source_at);
    free(j->text.target_at);
    free(j->line);
    free(j->order);
    free(j->pair);
    return status;
}

static cla_status run_parts(translation_job *j, const char *const *lines, size_t n)
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
        cla_translation_result_fini(&found[i]);
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
    translation_job j = { .t = t, .options = options, .out = out };
    return options->parts && !targets ? run_parts(&j, lines, n)
                                      : run_whole(&j, lines, targets, n);
}
