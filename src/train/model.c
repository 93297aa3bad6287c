/* model.c - trained systems inside an application. */
#include "clattn/model.h"

#include <string.h>

#include "base/utf8.h"
#include "train/tagging.h"

struct cla_model {
    cla_task *task;
};

cla_status cla_model_load(cla_model **model, cla_runtime *rt, const char *folder)
{
    CLA_TRY(cla_alloc(model, 1, sizeof **model));
    const cla_status status = cla_task_load(&(*model)->task, rt, folder);
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
    cla_task_close(&(*model)->task);
    free(*model);
    *model = NULL;
}

const char *cla_model_kind(const cla_model *model)
{
    return model->task->kind->name;
}

/* The sentence as rows of CoNLL-U, which is what the tagger reads. */
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
