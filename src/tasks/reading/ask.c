/* ask.c - answers questions about given passages with a trained reader. */
#include <string.h>

#include "base/utf8.h"
#include "tasks/reading/reading.h"

static cla_status check_text(const char *what, size_t number, const char *text)
{
    const size_t size = strlen(text), good = cla_utf8_check(text, size);
    return good == size ? CLA_OK
                        : cla_fail(CLA_E_INPUT, "%s[%zu] is not UTF-8 (byte %zu)", what,
                                   number, good);
}

void cla_reading_asked_free(reading_asked *a)
{
    cla_reading_free(&a->text);
    free(a->passage);
    free(a->question);
    *a = (reading_asked){ .passage = NULL };
}

static cla_status take_text(cla_reading *r, const char *text, int limit,
                            cla_reading_text *out)
{
    bool cut = false;
    CLA_TRY(cla_reading_add_text(r, text, strlen(text), out));
    return cla_reading_cut(r, out, limit, &cut);
}

/* Adds passage i of a list, unless it has no words. */
static cla_status take_passage(reading_asked *a, size_t i, const char *passage,
                               int max_words)
{
    cla_reading_text text;
    CLA_TRY(check_text("passage", i, passage));
    CLA_TRY(take_text(&a->text, passage, 0, &text));
    if (max_words && text.count > (size_t)max_words) {
        return cla_fail(CLA_E_INPUT, "passage[%zu] has %zu words, more than %d", i,
                        text.count, max_words);
    }
    if (!text.count) {
        return CLA_OK;
    }
    const size_t count = a->text.passage_count;
    CLA_TRY(cla_grow(&a->passage, &a->room, count + 1, sizeof *a->passage));
    a->passage[count] = i;
    return cla_reading_add_passage(&a->text, &text);
}

/* Adds the passages of a question. */
static cla_status take_passages(reading_asked *a, const reading *t,
                                const cla_question *q, int max_words)
{
    const reader_kind *kind = t->model.kind;
    const size_t first = a->text.passage_count;
    for (size_t i = 0; i < q->passage_count; i++) {
        CLA_TRY(take_passage(a, i, q->passages[i], max_words));
    }
    const size_t count = a->text.passage_count - first;
    return count <= 1 || kind->several
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s reads one passage a question, not %zu",
                          kind->name, count);
}

/* Adds question i, about all passages from first on, unless it has no words or there is
 * no such passage. */
static cla_status take_question(reading_asked *a, const reading *t, size_t i,
                                const char *text, size_t first)
{
    cla_reading_question question = {
        .passage = (int32_t)first,
        .passages = (int32_t)(a->text.passage_count - first),
    };
    CLA_TRY(check_text("questions", i, text));
    CLA_TRY(take_text(&a->text, text, t->question_limit, &question.text));
    if (!question.passages || !question.text.count) {
        return CLA_OK;
    }
    a->question[a->text.question_count] = i;
    return cla_reading_add_question(&a->text, &question);
}

cla_status cla_reading_put(reading_asked *a, const reading *t,
                           const cla_question *questions, size_t n, int max_words)
{
    size_t first = 0; // index of the question's first passage
    CLA_TRY(cla_alloc(&a->question, n + 1, sizeof *a->question));
    for (size_t i = 0; i < n; i++) {
        const cla_question *q = &questions[i];
        if (!i || q->passages != q[-1].passages ||
            q->passage_count != q[-1].passage_count) {
            first = a->text.passage_count;
            CLA_TRY(take_passages(a, t, q, max_words));
        }
        CLA_TRY(take_question(a, t, i, q->text, first));
    }
    return CLA_OK;
}

/* Writes the answers to the questions that have words, as places in their passages. */
static cla_status place(const reading_split *s, const reading_asked *a, size_t best,
                        const cla_answer *answers, const size_t *count,
                        cla_passage_quote *out, size_t *found)
{
    for (size_t i = 0; i < s->text.question_count; i++) {
        const int32_t first = s->text.questions[i].passage;
        found[a->question[i]] = count[i];
        for (size_t k = 0; k < count[i]; k++) {
            const cla_answer *from = &answers[i * best + k];
            const size_t passage = (size_t)first + (size_t)from->passage;
            cla_span at;
            CLA_TRY(cla_reading_place(&s->text, passage, from->first, from->last, &at));
            out[a->question[i] * best + k] =
                (cla_passage_quote){ a->passage[passage],
                                     { at.from, at.to, at.at, at.size, from->score } };
        }
    }
    return CLA_OK;
}

static cla_status answer(reading *t, reading_asked *a, size_t best,
                         cla_passage_quote *out, size_t *found)
{
    const size_t n = a->text.question_count;
    reading_split s = { .forms = 0 };
    cla_answer *answers = NULL;
    size_t *count = NULL;
    cla_status status = cla_reading_split_build(t, &s, &a->text);
    status = status ? status : cla_alloc(&answers, n * best + 1, sizeof *answers);
    status = status ? status : cla_alloc(&count, n + 1, sizeof *count);
    status = status ? status : cla_reading_answers(t, &s, best, answers, count);
    status = status ? status : place(&s, a, best, answers, count, out, found);
    free(answers);
    free(count);
    cla_reading_split_free(&s);
    return status;
}

cla_status cla_reading_ask(reading *t, const cla_question *questions, size_t n,
                           const cla_answer_options *options, cla_passage_quote *out,
                           size_t *found)
{
    reading_asked a = { .passage = NULL };
    cla_status status = cla_reading_put(&a, t, questions, n, options->max_words);
    status = status ? cla_fail_within(status, "answer") : CLA_OK;
    for (size_t i = 0; i < n; i++) {
        found[i] = 0;
    }
    if (!status && a.text.question_count) {
        status = answer(t, &a, (size_t)options->best, out, found);
    }
    cla_reading_asked_free(&a);
    return status;
}
