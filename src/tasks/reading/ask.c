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

void reading_asked_free(reading_asked *a)
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

/* Adds the given passage i, unless it has no words. */
static cla_status take_passage(reading_asked *a, const reading *t, size_t i,
                               const char *passage)
{
    cla_reading_text text;
    CLA_TRY(check_text("passage", i, passage));
    CLA_TRY(take_text(&a->text, passage, 0, &text));
    if (t->ask_limit && text.count > (size_t)t->ask_limit) {
        return cla_fail(CLA_E_INPUT, "passage[%zu] has %zu words, more than %d", i,
                        text.count, t->ask_limit);
    }
    if (!text.count) {
        return CLA_OK;
    }
    a->passage[a->text.passage_count] = i;
    return cla_reading_add_passage(&a->text, &text);
}

/* Adds the given question i, about all passages from first on, unless it has no words
 * or there is no such passage. */
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

static cla_status make_room(reading_asked *a, size_t passages, size_t questions)
{
    CLA_TRY(cla_alloc(&a->passage, passages + 1, sizeof *a->passage));
    return cla_alloc(&a->question, questions + 1, sizeof *a->question);
}

cla_status reading_put(reading_asked *a, const reading *t, const char *const *passages,
                       size_t m, const char *const *questions, size_t n)
{
    const reader_kind *kind = t->model.kind;
    CLA_TRY(make_room(a, m, n));
    for (size_t i = 0; i < m; i++) {
        CLA_TRY(take_passage(a, t, i, passages[i]));
    }
    if (a->text.passage_count > 1 && !kind->several) {
        return cla_fail(CLA_E_INPUT, "%s reads one passage a question, not %zu",
                        kind->name, a->text.passage_count);
    }
    for (size_t i = 0; i < n; i++) {
        CLA_TRY(take_question(a, t, i, questions[i], 0));
    }
    return CLA_OK;
}

/* Adds each question and its own passage. Consecutive questions with the same passage
 * pointer share it. */
static cla_status put_pairs(reading_asked *a, const reading *t,
                            const char *const *passages, const char *const *questions,
                            size_t n)
{
    size_t first = 0; // index of the question's passage
    CLA_TRY(make_room(a, n, n));
    for (size_t i = 0; i < n; i++) {
        if (!i || passages[i] != passages[i - 1]) {
            first = a->text.passage_count;
            CLA_TRY(take_passage(a, t, i, passages[i]));
        }
        CLA_TRY(take_question(a, t, i, questions[i], first));
    }
    return CLA_OK;
}

/* Writes the answers to the questions that have words, as places in their passages. */
static cla_status place(const reading_split *s, const reading_asked *a, size_t best,
                        const cla_answer *answers, const size_t *count,
                        reading_answer *out, size_t *found)
{
    for (size_t i = 0; i < s->text.question_count; i++) {
        const int32_t first = s->text.questions[i].passage;
        found[a->question[i]] = count[i];
        for (size_t k = 0; k < count[i]; k++) {
            const cla_answer *from = &answers[i * best + k];
            reading_answer *to = &out[a->question[i] * best + k];
            const size_t passage = (size_t)first + (size_t)from->passage;
            to->score = from->score;
            to->passage = a->passage[passage];
            CLA_TRY(cla_reading_place(&s->text, passage, from->first, from->last,
                                      &to->place));
        }
    }
    return CLA_OK;
}

static cla_status answer(reading *t, reading_asked *a, size_t best, reading_answer *out,
                         size_t *found)
{
    const size_t n = a->text.question_count;
    reading_split s = { .forms = 0 };
    cla_answer *answers = NULL;
    size_t *count = NULL;
    cla_status status = reading_split_build(t, &s, &a->text);
    status = status ? status : cla_alloc(&answers, n * best + 1, sizeof *answers);
    status = status ? status : cla_alloc(&count, n + 1, sizeof *count);
    status = status ? status : reading_answers(t, &s, best, answers, count);
    status = status ? status : place(&s, a, best, answers, count, out, found);
    free(answers);
    free(count);
    reading_split_free(&s);
    return status;
}

/* Answers the questions if adding them succeeded; frees a. */
static cla_status finish(reading *t, reading_asked *a, cla_status put, size_t n,
                         size_t best, reading_answer *out, size_t *found)
{
    for (size_t i = 0; i < n; i++) {
        found[i] = 0;
    }
    cla_status status = put ? cla_fail_within(put, "answer") : CLA_OK;
    if (!status && a->text.question_count) {
        status = answer(t, a, best, out, found);
    }
    reading_asked_free(a);
    return status;
}

cla_status reading_ask(reading *t, const char *const *passages, size_t m,
                       const char *const *questions, size_t n, size_t best,
                       reading_answer *out, size_t *found)
{
    reading_asked a = { .passage = NULL };
    const cla_status put = reading_put(&a, t, passages, m, questions, n);
    return finish(t, &a, put, n, best, out, found);
}

cla_status reading_ask_each(reading *t, const char *const *passages,
                            const char *const *questions, size_t n, size_t best,
                            reading_answer *out, size_t *found)
{
    reading_asked a = { .passage = NULL };
    const cla_status put = put_pairs(&a, t, passages, questions, n);
    return finish(t, &a, put, n, best, out, found);
}
