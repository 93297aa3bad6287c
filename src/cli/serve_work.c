/* serve_work.c - runs a batch of texts of several requests through the model. */
#include <string.h>

#include "cli/serve.h"

#define BLANKS " \t\r\n\v\f"

/* ---- translation ----------------------------------------------------------------- */

static cla_status no_memory(void)
{
    return cla_fail(CLA_E_NOMEM, "out of memory");
}

/* Sets a text's result: a list of its translations, best first. */
static cla_status set_translations(serve_text *text, const cla_translation *out,
                                   size_t best)
{
    text->result = json_array();
    for (size_t i = 0; i < best; i++) {
        if (json_array_append_new(text->result, cli_json_text(out[i].text))) {
            return no_memory();
        }
    }
    return text->result ? CLA_OK : no_memory();
}

/* Translates lines, and counts those that were cut. */
static cla_status translate_counted(const serve_worker *w, cla_model *model,
                                    const char *const *line, cla_translation *out,
                                    size_t n, const cla_translate_options *options)
{
    cla_model *copy = cla_model_worker(model, w->number);
    CLA_TRY(cla_model_translate(copy, out, line, n, options));
    serve_count_add(w->s, &w->s->counts.cut, cla_model_cut(copy));
    return CLA_OK;
}

/* Replaces lines with their translations into the language between two models, which
 * are in *text and *between then. */
static cla_status translate_before(const serve_worker *w, const serve_job *job,
                                   const char *const *line, size_t n, cla_text *text,
                                   const char ***between)
{
    const struct serve_pivot *p = &job->pivot;
    cla_model *model = NULL;
    cla_translation *out = NULL;
    const cla_translate_options options = {
        .beam = p->with->beam,
        .length_penalty = p->with->alpha,
        .batch = w->s->limits->batch,
        .source = p->source,
        .target = p->target,
        .split = !w->s->whole,
    };
    CLA_TRY(serve_hold(job->models, p->with, &model));
    cla_status status = cla_alloc(&out, n, sizeof *out);
    status = status ? status : translate_counted(w, model, line, out, n, &options);
    for (size_t i = 0; i < n && !status; i++) {
        status = cla_text_append(text, out[i].text, strlen(out[i].text) + 1);
    }
    serve_release(job->models, p->with);
    free(out);
    return status ? status : cla_text_strings(text, n, between);
}

/* Translates the texts of jobs like `job` with its model, which the worker holds. */
static cla_status translate_with(const serve_worker *w, const serve_job *job,
                                 cla_model *model, const char *const *line,
                                 const serve_unit *unit, size_t n)
{
    const serve_model *with = job->with;
    const int best = (int)job->best;
    cla_translation *out = NULL;
    const cla_translate_options options = {
        .beam = best > with->beam ? best : with->beam,
        .length_penalty = with->alpha,
        .batch = w->s->limits->batch,
        .best = best,
        .source = job->source,
        .target = job->target,
        .split = !w->s->whole,
    };
    CLA_TRY(cla_alloc(&out, n * job->best, sizeof *out));
    cla_status status = translate_counted(w, model, line, out, n, &options);
    for (size_t i = 0; i < n && !status; i++) {
        status = set_translations(unit[i].text, out + i * job->best, job->best);
    }
    free(out);
    return status;
}

/* Translates texts whose jobs want the same. */
static cla_status translate_alike(const serve_worker *w, const serve_unit *unit,
                                  size_t n)
{
    const serve_job *job = unit->job;
    cla_model *model = NULL;
    cla_text text = { 0 };
    const char **line = NULL, **between = NULL;
    CLA_TRY(cla_alloc(&line, n, sizeof *line));
    for (size_t i = 0; i < n; i++) {
        line[i] = unit[i].text->text;
    }
    cla_status status =
        job->pivot.with ? translate_before(w, job, line, n, &text, &between) : CLA_OK;
    status = status ? status : serve_hold(job->models, job->with, &model);
    if (!status) {
        status = translate_with(w, job, model, between ? between : line, unit, n);
        serve_release(job->models, job->with);
    }
    cla_text_free(&text);
    free(between);
    free(line);
    return status;
}

static bool alike(const serve_job *a, const serve_job *b)
{
    const struct serve_pivot *p = &a->pivot, *q = &b->pivot;
    return a->best == b->best && a->with == b->with && a->source == b->source &&
           a->target == b->target && p->with == q->with && p->source == q->source &&
           p->target == q->target;
}

/* Translates in one call after the other what can go into one: texts of one model,
 * target and number of alternatives. */
static cla_status translate(const serve_worker *w, const serve_unit *unit, size_t n)
{
    serve_unit *group = NULL;
    cla_status status = cla_alloc(&group, n, sizeof *group);
    for (size_t i = 0; i < n && !status; i++) {
        size_t count = 0;
        for (size_t k = i; k < n && !unit[i].text->result; k++) {
            if (!unit[k].text->result && alike(unit[k].job, unit[i].job)) {
                group[count++] = unit[k];
            }
        }
        status = count ? translate_alike(w, group, count) : CLA_OK;
    }
    free(group);
    return status;
}

/* ---- tags ------------------------------------------------------------------------ */

/* Makes the result of a sentence: a list of its words, without tags. */
static cla_status list_words(serve_text *text)
{
    const char *word = text->text + strspn(text->text, BLANKS);
    text->result = json_array();
    for (size_t size; *word; word += size + strspn(word + size, BLANKS)) {
        size = strcspn(word, BLANKS);
        if (json_array_append_new(text->result,
                                  json_pack("{s:s%}", "word", word, size))) {
            return no_memory();
        }
    }
    return text->result ? CLA_OK : no_memory();
}

/* The sentences of a batch, as cla_model_tag_sentences takes them. */
typedef struct sentences {
    const char **word, **tag; // [words]
    size_t *length;           // [count]
} sentences;

static cla_status take_words(sentences *s, const serve_unit *unit, size_t n)
{
    size_t words = 0;
    CLA_TRY(cla_alloc(&s->length, n, sizeof *s->length));
    for (size_t i = 0; i < n; i++) {
        CLA_TRY(list_words(unit[i].text));
        words += s->length[i] = json_array_size(unit[i].text->result);
    }
    CLA_TRY(cla_alloc(&s->word, words + 1, sizeof *s->word));
    CLA_TRY(cla_alloc(&s->tag, words + 1, sizeof *s->tag));
    const char **to = s->word;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < s->length[i]; k++) {
            const json_t *word = json_array_get(unit[i].text->result, k);
            *to++ = json_string_value(json_object_get(word, "word"));
        }
    }
    return CLA_OK;
}

static cla_status set_tags(const sentences *s, const serve_unit *unit, size_t n)
{
    const char **next = s->tag;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < s->length[i]; k++) {
            json_t *word = json_array_get(unit[i].text->result, k);
            if (json_object_set_new(word, "tag", json_string(*next++))) {
                return no_memory();
            }
        }
    }
    return CLA_OK;
}

static cla_status tag(const serve_worker *w, cla_model *model, const serve_unit *unit,
                      size_t n)
{
    sentences s = { 0 };
    cla_status status = take_words(&s, unit, n);
    status = status ? status
                    : cla_model_tag_sentences(cla_model_worker(model, w->number), s.tag,
                                              s.word, s.length, n, NULL);
    status = status ? status : set_tags(&s, unit, n);
    free(s.word);
    free(s.tag);
    free(s.length);
    return status;
}

/* ---- answers --------------------------------------------------------------------- */

/* Returns a list of n answers; NULL when out of memory. */
static json_t *answers_of(const char *passage, const cla_passage_quote *answer,
                          size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const cla_quote *place = &answer[i].quote;
        if (json_array_append_new(
                list, json_pack("{s:s%,s:i,s:i,s:f}", "text", passage + place->at,
                                (size_t)place->size, "from", place->from, "to",
                                place->to, "score", place->logp))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Sets the answers of a question: as many of the first found as its job wants. */
static cla_status set_answers(const serve_unit *unit, const cla_passage_quote *answer,
                              size_t found)
{
    const serve_job *job = unit->job;
    unit->text->result =
        answers_of(job->passage, answer, found < job->best ? found : job->best);
    return unit->text->result ? CLA_OK : no_memory();
}

/* Answers questions of several jobs, each about the passage of its own job. */
static cla_status answer(const serve_worker *w, cla_model *model,
                         const serve_unit *unit, size_t n)
{
    cla_answer_options options = { .max_words = w->s->limits->max_words };
    cla_question *question = NULL;
    cla_passage_quote *out = NULL;
    size_t *found = NULL;
    for (size_t i = 0; i < n; i++) {
        const int best = (int)unit[i].job->best;
        options.best = best > options.best ? best : options.best;
    }
    const size_t best = (size_t)options.best;
    cla_status status = cla_alloc(&question, n, sizeof *question);
    status = status ? status : cla_alloc(&found, n, sizeof *found);
    status = status ? status : cla_alloc(&out, n * best, sizeof *out);
    for (size_t i = 0; i < n && !status; i++) {
        const char *const *passage = (const char *const *)&unit[i].job->passage;
        question[i] = (cla_question){ unit[i].text->text, passage, 1 };
    }
    status = status ? status
                    : cla_model_ask(cla_model_worker(model, w->number), out, found,
                                    question, n, &options);
    for (size_t i = 0; i < n && !status; i++) {
        status = set_answers(&unit[i], out + i * best, found[i]);
    }
    free(question);
    free(found);
    free(out);
    return status;
}

/* ---- batches --------------------------------------------------------------------- */

/* Returns the number of texts from unit on that belong to the same job. */
static size_t same_job(const serve_unit *unit, size_t n)
{
    size_t same = 1;
    while (same < n && unit[same].job == unit->job) {
        same++;
    }
    return same;
}

static cla_status run(const serve_worker *w, const serve_unit *unit, size_t n)
{
    const serve_job *job = unit->job;
    cla_model *model = NULL;
    if (w->s->kind == SERVE_TRANSLATE) {
        return translate(w, unit, n);
    }
    CLA_TRY(serve_hold(job->models, job->with, &model));
    const cla_status status = w->s->kind == SERVE_TAG ? tag(w, model, unit, n)
                              : w->s->kind == SERVE_ANSWER
                                  ? answer(w, model, unit, n)
                                  : serve_generate(w, model, unit, n);
    serve_release(job->models, job->with);
    return status;
}

/* Runs texts of one job, which fails when they fail. */
static cla_status run_job(const serve_worker *w, const serve_unit *unit, size_t n)
{
    const cla_status status = run(w, unit, n);
    if (status) {
        const int bad_input = w->s->kind == SERVE_ANSWER ? 413 : 400; // long passage
        serve_refuse(unit->job, status == CLA_E_INPUT ? bad_input : 500, "%s",
                     cla_error());
    }
    return status == CLA_E_INPUT ? CLA_OK : status;
}

/* Refuses the job of a text that is too long. The reader checks the passage itself. */
static cla_status check_length(const serve_worker *w, cla_model *model,
                               const serve_unit *unit)
{
    const serve_text *text = unit->text;
    const size_t most = (size_t)w->s->limits->max_words;
    size_t count = text->size; // no text has more words than bytes
    if (w->s->kind == SERVE_TRANSLATE) {
        CLA_TRY(cla_model_pieces(cla_model_worker(model, w->number), &count, text->text,
                                 false));
    } else if (count > most) {
        count = cla_count_words(text->text, BLANKS);
    }
    if (count > most) {
        serve_refuse(unit->job, 413, "a text has %zu words or pieces, more than %zu",
                     count, most);
    }
    return CLA_OK;
}

/* Copies the texts of jobs that are not refused to good, after checking their lengths.
 * Without their model, which they share, all of them are refused. */
static cla_status keep_good(const serve_worker *w, const serve_unit *unit, size_t n,
                            serve_unit *good, size_t *count)
{
    serve_models *models = unit->job->models;
    cla_model *model = NULL;
    size_t kept = 0;
    const cla_status status = serve_hold(models, serve_first(unit->job), &model);
    for (size_t i = 0; i < n; i++) {
        if (!unit[i].job->code && (status || check_length(w, model, &unit[i]))) {
            serve_refuse(unit[i].job, 500, "%s", cla_error());
        }
    }
    if (!status) {
        serve_release(models, serve_first(unit->job));
    }
    for (size_t i = 0; i < n; i++) {
        if (!unit[i].job->code) {
            good[kept++] = unit[i];
        }
    }
    *count = kept;
    return status;
}

static void forget(const serve_unit *unit, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_decref(unit[i].text->result);
        unit[i].text->result = NULL;
    }
}

cla_status serve_work(const serve_worker *w, size_t n)
{
    const serve_unit *unit = w->unit;
    serve_unit *good = NULL;
    size_t kept = 0;
    cla_status status = cla_alloc(&good, n, sizeof *good);
    if (status) {
        for (size_t i = 0; i < n; i++) {
            serve_refuse(unit[i].job, 500, "%s", cla_error());
        }
        return status;
    }
    status = keep_good(w, unit, n, good, &kept);
    const bool once = w->s->kind == SERVE_GENERATE; // what was sent is not sent again
    if (!once && same_job(good, kept) < kept && !run(w, good, kept)) {
        free(good);
        return CLA_OK;
    }
    /* One job at a time, so that only the job at fault fails. */
    forget(good, kept);
    for (size_t i = 0, same; i < kept; i += same) {
        same = same_job(good + i, kept - i);
        const cla_status outcome = run_job(w, good + i, same);
        status = outcome ? outcome : status;
    }
    free(good);
    return status;
}
