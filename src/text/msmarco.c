/* msmarco.c - converts questions of MS MARCO to DuReader's layout. */
#include "text/msmarco.h"

#include <string.h>

#include "text/words.h"

bool cla_msmarco_is(const json_t *line)
{
    return json_is_array(json_object_get(line, "passages"));
}

/* Fails when Jansson had no memory: its text is valid, so nothing else fails. */
static cla_status kept(int failed)
{
    return failed ? cla_fail(CLA_E_NOMEM, "msmarco: out of memory") : CLA_OK;
}

/* Makes the list of a text's words in lower case. */
static cla_status cut(json_t **list, const json_t *written)
{
    const char *text = json_string_value(written);
    cla_words words = { 0 };
    cla_text form = { 0 };
    cla_status status = cla_words_cut(&words, text, json_string_length(written));
    *list = json_array();
    for (size_t i = 0; i < words.count && !status; i++) {
        form.size = 0;
        status = cla_words_form(text, &words.word[i], true, &form);
        status = status ? status
                        : kept(json_array_append_new(
                              *list, json_stringn(form.data, form.size)));
    }
    cla_words_free(&words);
    cla_text_free(&form);
    return status;
}

static cla_status refuse(const char **what, const char *why)
{
    *what = why;
    return CLA_E_INPUT;
}

static cla_status add_document(json_t *documents, const json_t *passage,
                               const char **what)
{
    json_t *text = json_object_get(passage, "passage_text"), *words = NULL;
    const json_t *mark = json_object_get(passage, "is_selected");
    if (!json_is_string(text)) {
        return refuse(what, "a passage has no 'passage_text'");
    }
    const bool selected = json_is_true(mark) || json_integer_value(mark) > 0;
    const cla_status status = cut(&words, text);
    json_t *document = json_pack("{sb sO s[O]}", "is_selected", selected,
                                 "passage_text", text, "segmented_paragraphs", words);
    json_decref(words);
    const int failed = json_array_append_new(documents, document);
    return status ? status : kept(failed);
}

/* Returns whether an answer is the data's mark for "no passage answers". */
static bool is_none(const json_t *answer)
{
    return strcmp(json_string_value(answer), "No Answer Present.") == 0;
}

static cla_status add_answers(json_t *question, const json_t *answers,
                              const char **what)
{
    json_t *written = json_array(), *segmented = json_array();
    cla_status status = CLA_OK;
    for (size_t i = 0; i < json_array_size(answers) && !status; i++) {
        json_t *answer = json_array_get(answers, i), *words = NULL;
        if (!json_is_string(answer)) {
            status = refuse(what, "an answer is no text");
        } else if (!is_none(answer)) {
            status = cut(&words, answer);
            const int failed = json_array_append(written, answer) |
                               json_array_append_new(segmented, words);
            status = status ? status : kept(failed);
        }
    }
    const int failed = json_object_set_new(question, "answers", written) |
                       json_object_set_new(question, "segmented_answers", segmented);
    return status ? status : kept(failed);
}

static cla_status fill(json_t *question, const json_t *line, const char **what)
{
    const json_t *passages = json_object_get(line, "passages");
    json_t *query = json_object_get(line, "query"),
           *id = json_object_get(line, "query_id");
    json_t *words = NULL, *documents = json_array();
    cla_status status = kept(json_object_set_new(question, "documents", documents));
    CLA_TRY(status);
    if (!json_is_string(query)) {
        return refuse(what, "there is no text 'query'");
    }
    if (!json_is_integer(id) && !json_is_string(id)) {
        return refuse(what, "there is no 'query_id'");
    }
    for (size_t i = 0; i < json_array_size(passages) && !status; i++) {
        status = add_document(documents, json_array_get(passages, i), what);
    }
    CLA_TRY(status);
    status = cut(&words, query);
    const int failed = json_object_set_new(question, "segmented_question", words) |
                       json_object_set(question, "query", query) |
                       json_object_set(question, "question_id", id);
    CLA_TRY(status);
    CLA_TRY(kept(failed));
    return add_answers(question, json_object_get(line, "answers"), what);
}

cla_status cla_msmarco_question(json_t **question, const json_t *line,
                                const char **what)
{
    *what = NULL;
    *question = json_object();
    const cla_status status = fill(*question, line, what);
    if (status) {
        json_decref(*question);
        *question = NULL;
    }
    return status;
}
