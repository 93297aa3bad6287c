/* serve_work.c - runs a batch of texts of several requests through the model. */
#include <string.h>

#include "cli/serve.h"
#include "tasks/reading/reading.h"
#include "tasks/tagging/tagging.h"
#include "tasks/translation/translation.h"

#define BLANKS " \t\r\n\v\f"

/* ---- translation ----------------------------------------------------------------- */

static cla_status no_memory(void)
{
    return cla_fail(CLA_E_NOMEM, "out of memory");
}

static cla_status set_translation(serve_text *text, const translation_result *out)
{
    text->result = cli_json_text(out->text.data ? out->text.data : "");
    return text->result ? CLA_OK : no_memory();
}

static cla_status translate(const serve_worker *w, const serve_unit *unit, size_t n)
{
    translation *t = (translation *)w->task;
    const translation_options options = {
        translation_search(t, w->s->limits->beam, 1, w->s->limits->alpha),
        .batch = w->s->limits->batch,
    };
    cla_line *line = NULL;
    translation_result *out = NULL;
    cla_status status = cla_alloc(&line, n, sizeof *line);
    status = status ? status : cla_alloc(&out, n, sizeof *out);
    for (size_t i = 0; i < n && !status; i++) {
        line[i] = (cla_line){ unit[i].text->text, unit[i].text->size };
    }
    size_t cut = 0;
    status = status ? status : translation_translate(t, line, n, &options, out);
    for (size_t i = 0; i < n && out; i++) {
        cut += out[i].cut && !status;
        status = status ? status : set_translation(unit[i].text, &out[i]);
        cla_text_free(&out[i].text);
    }
    serve_count_cut(w->s, cut);
    free(line);
    free(out);
    return status;
}

/* ---- tags ------------------------------------------------------------------------ */

/* Appends a sentence as rows of CoNLL-U; none when it has no words. */
static cla_status add_rows(serve_text *text, cla_text *rows)
{
    int number = 0;
    const char *word = text->text + strspn(text->text, BLANKS);
    text->result = json_array();
    for (size_t size; *word; word += size + strspn(word + size, BLANKS)) {
        size = strcspn(word, BLANKS);
        CLA_TRY(cla_text_add(rows, "%d\t%.*s\t_\t_\t_\t_\t_\t_\t_\t_\n", ++number,
                             (int)size, word));
        if (json_array_append_new(text->result,
                                  json_pack("{s:s%}", "word", word, size))) {
            return no_memory();
        }
    }
    if (!text->result) {
        return no_memory();
    }
    return number ? cla_text_add(rows, "\n") : CLA_OK;
}

/* Sets the tag of each word of a text from predicted. */
static cla_status set_tags(const tagging *t, serve_text *text, const int32_t *predicted)
{
    for (size_t i = 0; i < json_array_size(text->result); i++) {
        if (json_object_set_new(json_array_get(text->result, i), "tag",
                                json_string(t->tags.tokens[predicted[i]]))) {
            return no_memory();
        }
    }
    return CLA_OK;
}

static cla_status tag_rows(const serve_worker *w, cla_text *rows,
                           const serve_unit *unit, size_t n)
{
    tagging *t = (tagging *)w->task;
    cla_conllu file = { 0 };
    tagging_split split = { 0 };
    int32_t *predicted = NULL;
    cla_text taken = *rows;
    *rows = (cla_text){ 0 }; // the parser owns it
    CLA_TRY(cla_conllu_parse(&file, "request", 0, taken.data, taken.size));
    cla_status status = tagging_split_build(t, &split, &file);
    status = status
                 ? status
                 : cla_alloc(&predicted, (size_t)split.tokens + 1, sizeof *predicted);
    status = status ? status : tagging_predict(t, &split, predicted);
    size_t at = 0;
    for (size_t i = 0; i < n && !status; i++) {
        status = set_tags(t, unit[i].text, predicted + at);
        at += json_array_size(unit[i].text->result);
    }
    free(predicted);
    tagging_split_free(&split);
    return status;
}

static cla_status tag(const serve_worker *w, const serve_unit *unit, size_t n)
{
    cla_text rows = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < n && !status; i++) {
        status = add_rows(unit[i].text, &rows);
    }
    if (!status && rows.size) {
        status = tag_rows(w, &rows, unit, n);
    }
    cla_text_free(&rows);
    return status;
}

/* ---- answers --------------------------------------------------------------------- */

/* Returns a list of n answers; NULL when out of memory. */
static json_t *answers_of(const char *passage, const reading_answer *answer, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const cla_span *place = &answer[i].place;
        if (json_array_append_new(
                list, json_pack("{s:s%,s:i,s:i,s:f}", "text", passage + place->at,
                                (size_t)place->size, "from", place->from, "to",
                                place->to, "score", answer[i].score))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Sets the answers of a question: as many of the first found as its job wants. */
static cla_status set_answers(const serve_unit *unit, const reading_answer *answer,
                              size_t found)
{
    const serve_job *job = unit->job;
    unit->text->result =
        answers_of(job->passage, answer, found < job->best ? found : job->best);
    return unit->text->result ? CLA_OK : no_memory();
}

/* Answers questions of several jobs, each about the passage of its own job. */
static cla_status answer(const serve_worker *w, const serve_unit *unit, size_t n)
{
    const char **text = NULL; // passages, then questions
    reading_answer *out = NULL;
    size_t *found = NULL, best = 1;
    for (size_t i = 0; i < n; i++) {
        best = unit[i].job->best > best ? unit[i].job->best : best;
    }
    cla_status status = cla_alloc(&text, 2 * n, sizeof *text);
    status = status ? status : cla_alloc(&found, n, sizeof *found);
    status = status ? status : cla_alloc(&out, n * best, sizeof *out);
    for (size_t i = 0; i < n && !status; i++) {
        text[i] = unit[i].job->passage;
        text[n + i] = unit[i].text->text;
    }
    status = status ? status
                    : reading_ask_each((reading *)w->task, text, text + n, n, best, out,
                                       found);
    for (size_t i = 0; i < n && !status; i++) {
        status = set_answers(&unit[i], out + i * best, found[i]);
    }
    free(text);
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
    switch (w->s->kind) {
    case SERVE_TRANSLATE:
        return translate(w, unit, n);
    case SERVE_TAG:
        return tag(w, unit, n);
    case SERVE_ANSWER:
        return answer(w, unit, n);
    }
    return CLA_OK;
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
static cla_status check_length(const serve_worker *w, const serve_unit *unit)
{
    const serve_text *text = unit->text;
    const size_t most = (size_t)w->s->limits->max_words;
    size_t count = text->size; // no text has more words than bytes
    if (w->s->kind == SERVE_TRANSLATE) {
        const cla_line line = { text->text, text->size };
        CLA_TRY(translation_pieces((translation *)w->task, &line, false, &count));
    } else if (count > most) {
        count = cla_count_words(text->text, BLANKS);
    }
    if (count > most) {
        serve_refuse(unit->job, 413, "a text has %zu words or pieces, more than %zu",
                     count, most);
    }
    return CLA_OK;
}

/* Copies the texts of jobs that are not refused to good, after checking their lengths;
 * returns their number. */
static size_t keep_good(const serve_worker *w, const serve_unit *unit, size_t n,
                        serve_unit *good)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!unit[i].job->code && check_length(w, &unit[i])) {
            serve_refuse(unit[i].job, 500, "%s", cla_error());
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!unit[i].job->code) {
            good[kept++] = unit[i];
        }
    }
    return kept;
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
    cla_status status = cla_alloc(&good, n, sizeof *good);
    if (status) {
        for (size_t i = 0; i < n; i++) {
            serve_refuse(unit[i].job, 500, "%s", cla_error());
        }
        return status;
    }
    const size_t kept = keep_good(w, unit, n, good);
    const bool several = kept && same_job(good, kept) < kept;
    if (several && !run(w, good, kept)) {
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
