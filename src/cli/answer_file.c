/* answer_file.c - answers all questions of a file. */
#include "cli/answer.h"
#include "cli/cli.h"

static cla_status print_answers(const cla_reading *r, const cla_answer *answers,
                                const size_t *found)
{
    json_t *object = json_object();
    cla_text text = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < r->question_count && !status; i++) {
        const cla_reading_question *q = &r->questions[i];
        text.size = 0;
        status = cla_text_append(&text, "", 0);
        if (found[i] && !status) {
            const size_t passage = (size_t)q->passage + (size_t)answers[i].passage;
            status =
                cla_reading_quote(r, passage, answers[i].first, answers[i].last, &text);
        }
        if (!status &&
            json_object_set_new(object, cla_reading_string(r, q->id),
                                json_stringn(text.data ? text.data : "", text.size))) {
            status = cla_fail(CLA_E_NOMEM, "output: no memory for an answer");
        }
    }
    cla_text_free(&text);
    if (status) {
        json_decref(object);
        return status;
    }
    return cli_print_json(object);
}

static cla_status answer_split(reading *t, const reading_split *s)
{
    const size_t n = s->text.question_count;
    cla_answer *answers = NULL;
    size_t *found = NULL;
    cla_status status = cla_alloc(&answers, n + 1, sizeof *answers);
    status = status ? status : cla_alloc(&found, n + 1, sizeof *found);
    status = status ? status : cla_reading_answers(t, s, 1, answers, found);
    status = status ? status : print_answers(&s->text, answers, found);
    free(answers);
    free(found);
    return status;
}

static cla_status check_words(const cla_reading *text, const char *path, int max_words)
{
    for (size_t i = 0; i < text->passage_count; i++) {
        if (text->passages[i].count > (size_t)max_words) {
            return cla_fail(CLA_E_INPUT,
                            "%s: passage %zu has %zu words, more than %d: see "
                            "--max-words",
                            path, i + 1, text->passages[i].count, max_words);
        }
    }
    return CLA_OK;
}

cla_status cli_answer_file(reading *t, const char *path, int max_words)
{
    cla_reading text = { .question_count = 0 };
    reading_split s = { .forms = 0 };
    cla_status status = cla_reading_read_file(t, path, &text);
    status = status ? status : check_words(&text, path, max_words);
    status = status ? status : cla_reading_split_build(t, &s, &text);
    status = status ? status : answer_split(t, &s);
    cla_reading_free(&text);
    cla_reading_split_free(&s);
    return status;
}
