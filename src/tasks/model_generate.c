/* model_generate.c - a language model inside an application. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "tasks/language/language.h"
#include "tasks/model.h"

enum { USUAL_PIECES = 200 };

static cla_status check(const cla_generate_options *o)
{
    CLA_TRY(cla_reserved("generate", o->reserved));
    CLA_TRY(cla_model_option("generate", "pieces", o->pieces, 0, INT_MAX));
    CLA_TRY(cla_model_option("generate", "greedy", o->greedy, 0, 1));
    CLA_TRY(cla_model_option("generate", "top_k", o->top_k, 0, INT_MAX));
    if (!(o->temperature >= 0 && isfinite(o->temperature))) {
        return cla_fail(CLA_E_USAGE, "generate: temperature is %g, must be 0 or more",
                        o->temperature);
    }
    if (!(o->top_p >= 0 && o->top_p <= 1)) {
        return cla_fail(CLA_E_USAGE, "generate: top_p is %g, must be 0 to 1", o->top_p);
    }
    CLA_TRY(cla_model_need_texts("generate", "stop", o->stop, o->stop_count));
    for (size_t i = 0; i < o->stop_count; i++) {
        if (!*o->stop[i]) {
            return cla_fail(CLA_E_USAGE, "generate: stop[%zu] is empty", i);
        }
    }
    return CLA_OK;
}

/* Returns the options of the task with zeros replaced by defaults. */
static language_writing filled(const cla_generate_options *o)
{
    return (language_writing){
        .sample = { .greedy = o->greedy,
                    .temperature = o->temperature > 0 ? o->temperature : 1,
                    .top_k = o->top_k,
                    .top_p = o->top_p > 0 ? o->top_p : 1,
                    .seed = o->seed },
        .pieces = o->pieces ? o->pieces : USUAL_PIECES,
        .stop = o->stop,
        .stops = o->stop_count,
        .take = o->take,
        .to = o->to,
        .end = o->end,
    };
}

cla_status cla_model_generate(cla_model *model, const char **text, const char *prompt,
                              const cla_generate_options *options)
{
    CLA_NEED(model, text, prompt);
    CLA_HOLD(model->rt);
    const cla_generate_options o = options ? *options : (cla_generate_options){ 0 };
    const size_t size = strlen(prompt), good = cla_utf8_check(prompt, size);
    CLA_TRY(cla_model_must_be(model, "generate", &cla_language_kind));
    if (good < size) {
        return cla_fail(CLA_E_INPUT, "generate: prompt is not UTF-8 (byte %zu)", good);
    }
    CLA_TRY(check(&o));
    const language_writing how = filled(&o);
    cla_text out = { 0 };
    const cla_status status =
        cla_language_write((language *)model->task, prompt, size, &how, &out);
    if (status) {
        cla_text_free(&out);
        return status;
    }
    cla_text_free(&model->written); // the prompt may be in it
    model->written = out;
    *text = out.data;
    return CLA_OK;
}
