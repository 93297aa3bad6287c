/* model_languages.c - the languages of a translator inside an application. */
#include <string.h>

#include "base/nearest.h"
#include "tasks/model.h"
#include "tasks/translation/translation.h"

/* Lists the languages that pieces of a model name, unless that was done before. */
static cla_status list_targets(cla_model *model)
{
    const translation *t = (const translation *)model->task;
    size_t count = 0, size = 0;
    if (model->targets) {
        return CLA_OK;
    }
    model->target_text.size = 0;
    for (size_t i = 0; i < t->source.vocab.count; i++) {
        const char *name = cla_translation_language(t, i, &size);
        CLA_TRY(name ? cla_text_append(&model->target_text, name, size) : CLA_OK);
        CLA_TRY(name ? cla_text_append(&model->target_text, "", 1) : CLA_OK);
        count += name != NULL;
    }
    model->target_count = count;
    return cla_text_strings(&model->target_text, count, &model->targets);
}

/* Fails unless the model has a language; side: "source" or "target". */
static cla_status must_have(const cla_model *model, const char *who, const char *side,
                            const char *name)
{
    for (size_t i = 0; i < model->target_count; i++) {
        if (strcmp(model->targets[i], name) == 0) {
            return CLA_OK;
        }
    }
    if (!model->target_count) {
        return cla_fail(CLA_E_INPUT,
                        "%s: %s is %.40s, but the model has no choice of languages",
                        who, side, name);
    }
    const char *near = cla_nearest(name, model->targets);
    return cla_fail(CLA_E_INPUT, "%s: the model has no %s %.40s%s%s%s", who, side, name,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* ---- the lines of a call --------------------------------------------------------- */

void cla_directed_free(cla_directed *d)
{
    cla_text_free(&d->text);
    free(d->made);
    *d = (cla_directed){ 0 };
}

/* Writes the prefix of a target in front of lines, but of those of blanks and of those
 * that begin with a prefix of their own. */
static cla_status prefix_lines(cla_directed *d, const translation *t,
                               const char *target, const char *const *lines,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *line = lines[i];
        const size_t size = strlen(line);
        const bool as_it_is = line[strspn(line, " \t")] == 0 ||
                              cla_subwords_prefix(&t->source, line, size);
        const bool tag = t->languages == TRANSLATION_TAG;
        CLA_TRY(as_it_is ? CLA_OK
                         : cla_text_add(&d->text, tag ? "<2%s> " : ">>%s<< ", target));
        CLA_TRY(cla_text_append(&d->text, line, size + 1));
    }
    CLA_TRY(cla_text_strings(&d->text, count, &d->made));
    d->line = d->made;
    return CLA_OK;
}

cla_status cla_model_direct(cla_model *model, const char *who,
                            const cla_translate_options *options,
                            const char *const *lines, size_t count, cla_directed *d)
{
    translation *t = (translation *)model->task;
    const char *source = options->source, *target = options->target;
    const bool prefixed = cla_translation_in_text(t);
    d->line = lines;
    CLA_TRY(list_targets(model));
    CLA_TRY(target ? must_have(model, who, "target", target) : CLA_OK);
    if (!prefixed) {
        CLA_TRY(source ? must_have(model, who, "source", source) : CLA_OK);
        return cla_translation_choose(t, source, target);
    }
    if (source && strcmp(source, t->source_name) != 0) {
        return cla_fail(CLA_E_INPUT, "%s: source is %.40s, the model's is %.40s", who,
                        source, t->source_name);
    }
    return target ? prefix_lines(d, t, target, lines, count) : CLA_OK;
}

/* ---- what the model has ---------------------------------------------------------- */

cla_status cla_model_languages(const cla_model *model, const char **source,
                               const char **target, bool *any)
{
    CLA_NEED(model, source, target, any);
    CLA_TRY(cla_model_must_be(model, "languages", &cla_translation_kind));
    const translation *t = (const translation *)model->task;
    *source = t->source_name;
    *target = t->target_name;
    *any = cla_translation_has_languages(t);
    return CLA_OK;
}

static cla_status give(cla_model *model, const char *who, const char *const **names,
                       size_t *count)
{
    CLA_NEED(model, names, count);
    CLA_TRY(cla_model_must_be(model, who, &cla_translation_kind));
    CLA_TRY(list_targets(model));
    *names = model->targets;
    *count = model->target_count;
    return CLA_OK;
}

cla_status cla_model_targets(cla_model *model, const char *const **targets,
                             size_t *count)
{
    return give(model, "targets", targets, count);
}

cla_status cla_model_sources(cla_model *model, const char *const **sources,
                             size_t *count)
{
    CLA_TRY(give(model, "sources", sources, count));
    const translation *t = (const translation *)model->task;
    *count = cla_translation_in_text(t) ? 0 : *count;
    return CLA_OK;
}
