/* model_tag.c - a tagger inside an application. */
#include <limits.h>
#include <string.h>

#include "base/utf8.h"
#include "tasks/model.h"
#include "tasks/tagging/tagging.h"

/* Checks that no sentence is too long, and counts the words of all. */
static cla_status check_lengths(const size_t *length, size_t count, int most,
                                size_t *words)
{
    *words = 0;
    for (size_t i = 0; i < count; i++) {
        if (most && length[i] > (size_t)most) {
            return cla_fail(CLA_E_INPUT,
                            "tag_sentences: sentence %zu has %zu words, more than %d",
                            i, length[i], most);
        }
        *words += length[i];
    }
    return CLA_OK;
}

static cla_status check_words(const char *who, const char *const *words, size_t count)
{
    CLA_TRY(cla_model_need_texts(who, "words", words, count));
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(words[i]);
        if (!size || cla_utf8_check(words[i], size) < size) {
            return cla_fail(CLA_E_INPUT, "%s: words[%zu] is %s", who, i,
                            size ? "not UTF-8" : "empty");
        }
    }
    return CLA_OK;
}

cla_status cla_model_tag_sentences(cla_model *model, const char **tags,
                                   const char *const *words, const size_t *length,
                                   size_t count, const cla_tag_options *options)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    size_t all = 0;
    const cla_tag_options o = options ? *options : (cla_tag_options){ 0 };
    if (count) CLA_NEED(length);
    CLA_TRY(cla_model_must_be(model, "tag_sentences", &cla_tagging_kind));
    CLA_TRY(cla_reserved("tag_sentences", o.reserved));
    CLA_TRY(cla_model_option("tag_sentences", "max_words", o.max_words, 0, INT_MAX));
    CLA_TRY(check_lengths(length, count, o.max_words, &all));
    CLA_TRY(check_words("tag_sentences", words, all));
    if (!all) {
        return CLA_OK;
    }
    CLA_NEED(tags);
    return cla_tagging_tag((tagging *)model->task, words, length, count, tags);
}

cla_status cla_model_tag(cla_model *model, const char **tags, const char *const *words,
                         size_t count)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    CLA_TRY(cla_model_need_texts("tag", "words", words, count));
    if (count) CLA_NEED(tags);
    CLA_TRY(cla_model_must_be(model, "tag", &cla_tagging_kind));
    for (size_t i = 0; i < count; i++) {
        if (!*words[i] || strpbrk(words[i], "\t\r\n")) {
            return cla_fail(CLA_E_INPUT,
                            "tag: words[%zu] is empty or holds a tab or line end", i);
        }
    }
    CLA_TRY(check_words("tag", words, count));
    return count ? cla_tagging_tag((tagging *)model->task, words, &count, 1, tags)
                 : CLA_OK;
}

int cla_model_tag_column(const cla_model *model)
{
    if (!model || model->task->kind != &cla_tagging_kind) {
        return 0;
    }
    return ((const tagging *)model->task)->xpos ? CLA_XPOS : CLA_UPOS;
}
