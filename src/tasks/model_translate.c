/* model_translate.c - a translator inside an application. */
#include <string.h>

#include "base/utf8.h"
#include "tasks/model.h"
#include "tasks/translation/translation.h"

void cla_model_forget(cla_model *model)
{
    for (size_t i = 0; i < model->said_count; i++) {
        cla_text_free(&model->said[i].text);
    }
    free(model->said);
    model->said = NULL;
    model->said_count = 0;
}

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
    CLA_TRY(cla_model_need_texts("translate", "lines", lines, count));
    if (count) CLA_NEED(translations);
    const cla_translate_options o = filled(options);
    CLA_TRY(cla_model_must_be(model, "translate", &translation_kind));
    CLA_TRY(check_options(&o));
    cla_model_forget(model);
    CLA_TRY(translate(model, lines, count, &o));
    for (size_t i = 0; i < count; i++) {
        const translation_result *r = &model->said[i];
        translations[i] =
            (cla_translation){ r->text.data ? r->text.data : "", r->logp, r->score };
    }
    return CLA_OK;
}
