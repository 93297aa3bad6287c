/* model_translate.c - a translator inside an application. */
#include <string.h>

#include "base/utf8.h"
#include "tasks/model.h"
#include "tasks/translation/detail.h"

void cla_model_forget(cla_model *model)
{
    for (size_t i = 0; i < model->said_count; i++) {
        cla_translation_result_fini(&model->said[i]);
    }
    free(model->said);
    model->said = NULL;
    model->said_count = model->cut = 0;
}

/* Returns the caller's options with zeros replaced by defaults. */
static cla_translate_options filled(const cla_translate_options *options)
{
    cla_translate_options o = { 0 };
    o = options ? *options : o;
    o.beam = o.beam ? o.beam : 1;
    o.batch = o.batch ? o.batch : 32;
    o.best = o.best ? o.best : 1;
    return o;
}

static cla_status check_options(const char *who, const cla_translate_options *o)
{
    CLA_TRY(cla_model_option(who, "beam", o->beam, 1, CLA_MOST_BEAM));
    if (!(o->length_penalty >= 0 && o->length_penalty <= 10)) {
        return cla_fail(CLA_E_USAGE, "%s: length_penalty is %g, must be 0 to 10", who,
                        o->length_penalty);
    }
    CLA_TRY(cla_model_option(who, "batch", o->batch, 1, CLA_MOST_BATCH));
    CLA_TRY(cla_model_option(who, "split", o->split, 0, 1));
    CLA_TRY(cla_model_option(who, "best", o->best, 1, o->beam));
    CLA_TRY(cla_model_option(who, "extra", o->extra, 0, CLA_MOST_PIECES));
    CLA_TRY(cla_model_option(who, "most", o->most, 0, CLA_MOST_PIECES));
    CLA_TRY(cla_model_option(who, "detail", o->detail, 0, 1));
    return o->extra && o->most
               ? cla_fail(CLA_E_USAGE, "%s: extra and most: one of them", who)
               : CLA_OK;
}

static cla_status check_lines(const char *who, const char *name,
                              const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(lines[i]);
        if (memchr(lines[i], '\n', size)) {
            return cla_fail(CLA_E_INPUT, "%s: %s[%zu] holds a line end", who, name, i);
        }
        if (cla_utf8_check(lines[i], size) < size) {
            return cla_fail(CLA_E_INPUT, "%s: %s[%zu] is not UTF-8", who, name, i);
        }
    }
    return CLA_OK;
}

static search_options search_of(const translation *t, const cla_translate_options *o)
{
    search_options s =
        cla_translation_search(t, o->beam, (int)o->best, o->length_penalty);
    s.most = o->most ? o->most : o->extra ? 0 : s.most;
    s.extra = o->extra ? o->extra : s.extra;
    return s;
}

/* What a call works on. */
typedef struct call {
    const char *who;
    const char *const *lines, *const *targets; // [count]; targets NULL: translate
    size_t count;
    cla_translate_options options;
} call;

static cla_status run(cla_model *model, const call *c)
{
    translation *t = (translation *)model->task;
    translation_options options = {
        search_of(t, &c->options), .batch = c->options.batch,
        .parts = c->options.split, .detail = c->options.detail,
        .worker = model->tasks,    .workers = model->tasks ? model->workers : 0,
    };
    cla_directed lines = { 0 };
    CLA_TRY(check_lines(c->who, "lines", c->lines, c->count));
    CLA_TRY(check_lines(c->who, "targets", c->targets, c->targets ? c->count : 0));
    cla_status status =
        cla_model_direct(model, c->who, &c->options, c->lines, c->count, &lines);
    options.search.first = t->target.before;
    status = status ? status
                    : cla_translation_run(t, lines.line, c->targets, c->count, &options,
                                          model->said);
    cla_directed_free(&lines);
    return status;
}

static cla_status work(cla_model *model, const call *c, cla_translation *out)
{
    const size_t best = (size_t)c->options.best, n = c->count * best;
    CLA_TRY(cla_model_must_be(model, c->who, &cla_translation_kind));
    CLA_TRY(check_options(c->who, &c->options));
    cla_model_forget(model);
    CLA_TRY(cla_alloc(&model->said, n + 1, sizeof *model->said));
    model->said_count = n;
    CLA_TRY(run(model, c));
    for (size_t i = 0; i < n; i++) {
        const translation_result *r = &model->said[i];
        const char *text = c->targets ? c->targets[i] : r->text.data;
        out[i] = (cla_translation){ text ? text : "", r->logp, r->score };
        model->cut += r->cut && i % best == 0;
    }
    return CLA_OK;
}

cla_status cla_model_translate(cla_model *model, cla_translation *translations,
                               const char *const *lines, size_t count,
                               const cla_translate_options *options)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    CLA_TRY(cla_model_need_texts("translate", "lines", lines, count));
    if (count) CLA_NEED(translations);
    const call c = { "translate", lines, NULL, count, filled(options) };
    return work(model, &c, translations);
}

cla_status cla_model_score(cla_model *model, cla_translation *scored,
                           const char *const *lines, const char *const *targets,
                           size_t count, const cla_translate_options *options)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    CLA_TRY(cla_model_need_texts("score", "lines", lines, count));
    CLA_TRY(cla_model_need_texts("score", "targets", targets, count));
    if (count) CLA_NEED(scored);
    call c = { "score", lines, targets, count, filled(options) };
    c.options.best = 1;
    return work(model, &c, scored);
}

cla_status cla_model_detail(cla_model *model, cla_translation_detail *detail, size_t i)
{
    CLA_NEED(model, detail);
    *detail = (cla_translation_detail){ 0 };
    if (i >= model->said_count) {
        return cla_fail(CLA_E_USAGE, "detail: i is %zu, there are %zu translations", i,
                        model->said_count);
    }
    translation_detail *d = model->said[i].detail;
    if (d && !d->name) {
        CLA_TRY(cla_text_strings(&d->names, d->pieces, &d->name));
    }
    if (d) {
        *detail =
            (cla_translation_detail){ d->pieces, d->name, d->logp, d->links, d->link };
    }
    return CLA_OK;
}

size_t cla_model_cut(const cla_model *model)
{
    return model ? model->cut : 0;
}

cla_status cla_model_translate_usual(const cla_model *model,
                                     cla_translate_options *options)
{
    CLA_NEED(model, options);
    CLA_TRY(cla_model_must_be(model, "translate_usual", &cla_translation_kind));
    const search_options *own = &((const translation *)model->task)->search;
    *options = (cla_translate_options){ .beam = own->beam,
                                        .length_penalty = own->alpha,
                                        .extra = own->most ? 0 : own->extra,
                                        .most = own->most };
    return CLA_OK;
}

cla_status cla_model_pieces(const cla_model *model, size_t *pieces, const char *line,
                            bool target)
{
    CLA_NEED(model, pieces, line);
    CLA_TRY(cla_model_must_be(model, "pieces", &cla_translation_kind));
    return cla_translation_pieces((const translation *)model->task, line, target,
                                  pieces);
}
