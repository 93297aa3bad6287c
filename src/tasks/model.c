/* model.c - trained systems inside an application: tagging, translating, answering,
 * composing. */
#include "clattn/model.h"

#include <string.h>

#include "base/utf8.h"
#include "tasks/poetry/poetry.h"
#include "tasks/reading/reading.h"
#include "tasks/tagging/tagging.h"
#include "tasks/translation/translation.h"

struct cla_model {
    cla_runtime *rt;
    cla_task *task;
    translation_result *said; // [said_count] the last translations
    size_t said_count;
};

static void forget(cla_model *model)
{
    for (size_t i = 0; i < model->said_count; i++) {
        cla_text_free(&model->said[i].text);
    }
    free(model->said);
    model->said = NULL;
    model->said_count = 0;
}

cla_status cla_model_load(cla_model **model, cla_runtime *rt, const char *folder)
{
    CLA_NEED(model, rt, folder);
    CLA_HOLD(rt);
    CLA_TRY(cla_alloc(model, 1, sizeof **model));
    (*model)->rt = rt;
    const cla_status status =
        cla_task_load(&(*model)->task, rt, folder, CLA_WEIGHTS_STORED);
    if (status) {
        cla_model_free(model);
    }
    return status;
}

void cla_model_free(cla_model **model)
{
    if (!model || !*model) {
        return;
    }
    CLA_HOLD_WAIT((*model)->rt);
    forget(*model);
    cla_task_close(&(*model)->task);
    free(*model);
    *model = NULL;
}

const char *cla_model_kind(const cla_model *model)
{
    return model ? model->task->kind->name : "";
}

/* ---- tagging ---------------------------------------------------------------- */

/* Fails with CLA_E_USAGE if one of count texts is NULL. */
static cla_status need_texts(const char *who, const char *name, const char *const *text,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!text || !text[i]) {
            return text ? cla_fail(CLA_E_USAGE, "%s: %s[%zu] is NULL", who, name, i)
                        : cla_fail(CLA_E_USAGE, "%s: %s is NULL", who, name);
        }
    }
    return CLA_OK;
}

/* Checks the words of a sentence and writes them as CoNLL-U, which the tagger reads. */
static cla_status write_rows(cla_text *rows, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(words[i]);
        if (!size || strpbrk(words[i], "\t\r\n")) {
            return cla_fail(CLA_E_INPUT,
                            "tag: words[%zu] is empty or holds a tab or line end", i);
        }
        if (cla_utf8_check(words[i], size) < size) {
            return cla_fail(CLA_E_INPUT, "tag: words[%zu] is not UTF-8", i);
        }
        CLA_TRY(
            cla_text_add(rows, "%zu\t%s\t_\t_\t_\t_\t_\t_\t_\t_\n", i + 1, words[i]));
    }
    return CLA_OK;
}

static cla_status tag(tagging *t, const char **tags, cla_conllu *file)
{
    tagging_split split = { 0 };
    int32_t *predicted = NULL;
    cla_status status = tagging_split_build(t, &split, file);
    status = status
                 ? status
                 : cla_alloc(&predicted, (size_t)split.tokens + 1, sizeof *predicted);
    status = status ? status : tagging_predict(t, &split, predicted);
    for (int64_t i = 0; i < split.tokens && !status; i++) {
        tags[i] = t->tags.tokens[predicted[i]];
    }
    free(predicted);
    tagging_split_free(&split);
    return status;
}

cla_status cla_model_tag(cla_model *model, const char **tags, const char *const *words,
                         size_t count)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    CLA_TRY(need_texts("tag", "words", words, count));
    if (count) CLA_NEED(tags);
    cla_text rows = { 0 };
    cla_conllu file = { 0 };
    if (model->task->kind != &tagging_kind) {
        return cla_fail(CLA_E_USAGE, "tag: the model is a %s", cla_model_kind(model));
    }
    if (!count) {
        return CLA_OK;
    }
    cla_status status = write_rows(&rows, words, count);
    if (status) {
        cla_text_free(&rows);
        return status;
    }
    CLA_TRY(cla_conllu_parse(&file, "words", 0, rows.data, rows.size));
    return tag((tagging *)model->task, tags, &file);
}

/* ---- translating ------------------------------------------------------------- */

/* Returns the caller's options with zeros replaced by defaults. */
static cla_translate_options filled(const cla_translate_options *options)
{
    cla_translate_options o = { 0 };
    o = options ? *options : o;
    o.beam = o.beam ? o.beam : 1;
    o.batch = o.batch ? o.batch : 32;
    return o;
}

static cla_status check_options(const cla_translate_options *o)
{
    CLA_TRY(cla_reserved("translate", o->reserved));
    if (o->beam < 1 || o->beam > TRANSLATION_MAX_BEAM) {
        return cla_fail(CLA_E_USAGE, "translate: beam is %d, must be 1 to %d", o->beam,
                        TRANSLATION_MAX_BEAM);
    }
    if (!(o->length_penalty >= 0 && o->length_penalty <= 10)) {
        return cla_fail(CLA_E_USAGE, "translate: length_penalty is %g, must be 0 to 10",
                        o->length_penalty);
    }
    return o->batch >= 1 && o->batch <= TRANSLATION_MAX_BATCH
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "translate: batch is %d, must be 1 to %d",
                          o->batch, TRANSLATION_MAX_BATCH);
}

static cla_status take_lines(cla_line *taken, const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        taken[i] = (cla_line){ lines[i], strlen(lines[i]) };
        if (strchr(lines[i], '\n')) {
            return cla_fail(CLA_E_INPUT, "translate: lines[%zu] holds a line end", i);
        }
        if (cla_utf8_check(lines[i], taken[i].size) < taken[i].size) {
            return cla_fail(CLA_E_INPUT, "translate: lines[%zu] is not UTF-8", i);
        }
    }
    return CLA_OK;
}

static cla_status translate(cla_model *model, const char *const *lines, size_t count,
                            const cla_translate_options *o)
{
    const translation_options options = {
        translation_search((translation *)model->task, o->beam, 1, o->length_penalty),
        .batch = o->batch,
    };
    cla_line *taken = NULL;
    CLA_TRY(cla_alloc(&model->said, count + 1, sizeof *model->said));
    model->said_count = count;
    CLA_TRY(cla_alloc(&taken, count + 1, sizeof *taken));
    cla_status status = take_lines(taken, lines, count);
    status = status ? status
                    : translation_translate((translation *)model->task, taken, count,
                                            &options, model->said);
    free(taken);
    return status;
}

cla_status cla_model_translate(cla_model *model, cla_translation *translations,
                               const char *const *lines, size_t count,
                               const cla_translate_options *options)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    CLA_TRY(need_texts("translate", "lines", lines, count));
    if (count) CLA_NEED(translations);
    const cla_translate_options o = filled(options);
    if (model->task->kind != &translation_kind) {
        return cla_fail(CLA_E_USAGE, "translate: the model is a %s",
                        cla_model_kind(model));
    }
    CLA_TRY(check_options(&o));
    forget(model);
    CLA_TRY(translate(model, lines, count, &o));
    for (size_t i = 0; i < count; i++) {
        const translation_result *r = &model->said[i];
        translations[i] =
            (cla_translation){ r->text.data ? r->text.data : "", r->logp, r->score };
    }
    return CLA_OK;
}

/* ---- answering --------------------------------------------------------------- */

cla_status cla_model_answer(cla_model *model, cla_quote *quotes, size_t *found,
                            const char *passage, const char *const *questions,
                            size_t count, size_t best)
{
    CLA_NEED(model, passage);
    CLA_HOLD(model->rt);
    CLA_TRY(need_texts("answer", "questions", questions, count));
    if (count) CLA_NEED(quotes, found);
    reading_answer *answers = NULL;
    if (model->task->kind != &reading_kind) {
        return cla_fail(CLA_E_USAGE, "answer: the model is a %s",
                        cla_model_kind(model));
    }
    if (best < 1 || best > READING_MOST) {
        return cla_fail(CLA_E_USAGE, "answer: best is %zu, must be 1 to %d", best,
                        READING_MOST);
    }
    CLA_TRY(cla_alloc(&answers, count * best + 1, sizeof *answers));
    const cla_status status = reading_ask((reading *)model->task, &passage, 1,
                                          questions, count, best, answers, found);
    for (size_t i = 0; i < count * best && !status; i++) {
        const cla_span *place = &answers[i].place;
        quotes[i] = (cla_quote){ place->from, place->to, place->at, place->size,
                                 answers[i].score };
    }
    free(answers);
    return status;
}

/* ---- composing --------------------------------------------------------------- */

/* Returns the caller's options for poems with zeros replaced by defaults. */
static cla_compose_options filled_compose(const cla_compose_options *options)
{
    cla_compose_options o = { 0 };
    o = options ? *options : o;
    o.characters = o.characters ? o.characters : CLA_POEM_LONGEST;
    o.beam = o.beam ? o.beam : 1;
    return o;
}

static cla_status check_compose(const cla_compose_options *o)
{
    CLA_TRY(cla_reserved("compose", o->reserved));
    if (o->characters != 5 && o->characters != CLA_POEM_LONGEST) {
        return cla_fail(CLA_E_USAGE, "compose: characters is %d, must be 5 or 7",
                        o->characters);
    }
    return o->beam >= 1 && o->beam <= POET_MAX_BEAM
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "compose: beam is %d, must be 1 to %d", o->beam,
                          POET_MAX_BEAM);
}

static const char *put_text(char **at, const char *text)
{
    char *to = *at;
    *at = stpcpy(to, text) + 1;
    return to;
}

/* Copies a poem into one allocation, its texts after the struct. */
static cla_status pack(cla_quatrain **out, const poetry_poem *p)
{
    size_t size = sizeof **out;
    for (int i = 0; i < CLA_QUATRAIN_LINES; i++) {
        size += strlen(p->line[i].data) + strlen(p->keyword[i]) + 2;
    }
    CLA_TRY(cla_alloc(out, 1, size));
    char *at = (char *)(*out + 1);
    for (int i = 0; i < CLA_QUATRAIN_LINES; i++) {
        (*out)->line[i] = put_text(&at, p->line[i].data);
        (*out)->keyword[i] = put_text(&at, p->keyword[i]);
    }
    (*out)->from_text = p->plan.from_text;
    (*out)->from_themes = p->plan.from_themes;
    (*out)->from_vectors = p->plan.from_vectors;
    (*out)->logp = p->logp;
    return CLA_OK;
}

cla_status cla_model_compose(cla_model *model, cla_quatrain **poem, const char *text,
                             const cla_compose_options *options)
{
    CLA_NEED(model, poem, text);
    CLA_HOLD(model->rt);
    *poem = NULL;
    const cla_compose_options o = filled_compose(options);
    const size_t size = strlen(text), good = cla_utf8_check(text, size);
    poetry_poem written = { 0 };
    if (model->task->kind != &poetry_kind) {
        return cla_fail(CLA_E_USAGE, "compose: the model is a %s",
                        cla_model_kind(model));
    }
    if (good < size) {
        return cla_fail(CLA_E_INPUT, "compose: text is not UTF-8 (byte %zu)", good);
    }
    CLA_TRY(check_compose(&o));
    const poetry_options how = { o.characters, o.beam, o.seed };
    cla_status status =
        poetry_compose((poetry *)model->task, text, size, &how, &written);
    status = status ? status : pack(poem, &written);
    poetry_poem_free(&written);
    return status;
}

void cla_quatrain_free(cla_quatrain **poem)
{
    if (poem) {
        free(*poem);
        *poem = NULL;
    }
}
