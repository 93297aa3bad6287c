/* model_answer.c - a reader inside an application. */
#include <limits.h>

#include "tasks/model.h"
#include "tasks/reading/reading.h"

static cla_status need_questions(const cla_question *questions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const cla_question *q = &questions[i];
        if (!q->text) {
            return cla_fail(CLA_E_USAGE, "ask: questions[%zu].text is NULL", i);
        }
        CLA_TRY(cla_model_need_texts("ask", "passages", q->passages, q->passage_count));
    }
    return CLA_OK;
}

cla_status cla_model_ask(cla_model *model, cla_passage_quote *answers, size_t *found,
                         const cla_question *questions, size_t count,
                         const cla_answer_options *options)
{
    CLA_NEED(model);
    CLA_HOLD(model->rt);
    cla_answer_options o = options ? *options : (cla_answer_options){ 0 };
    o.best = o.best ? o.best : 1;
    if (count) CLA_NEED(answers, found, questions);
    CLA_TRY(need_questions(questions, count));
    CLA_TRY(cla_model_must_be(model, "ask", &cla_reading_kind));
    CLA_TRY(cla_reserved("ask", o.reserved));
    CLA_TRY(cla_model_option("ask", "best", o.best, 1, CLA_MOST_ANSWERS));
    CLA_TRY(cla_model_option("ask", "max_words", o.max_words, 0, INT_MAX));
    return cla_reading_ask((reading *)model->task, questions, count, &o, answers,
                           found);
}

cla_status cla_model_answer(cla_model *model, cla_quote *quotes, size_t *found,
                            const char *passage, const char *const *questions,
                            size_t count, size_t best)
{
    CLA_NEED(model, passage);
    CLA_HOLD(model->rt);
    CLA_TRY(cla_model_need_texts("answer", "questions", questions, count));
    if (count) CLA_NEED(quotes, found);
    cla_passage_quote *answers = NULL;
    cla_question *asked = NULL;
    CLA_TRY(cla_model_must_be(model, "answer", &cla_reading_kind));
    const int64_t most = best > INT_MAX ? INT_MAX : (int64_t)best;
    CLA_TRY(cla_model_option("answer", "best", most, 1, CLA_MOST_ANSWERS));
    cla_status status = cla_alloc(&answers, count * best + 1, sizeof *answers);
    status = status ? status : cla_alloc(&asked, count + 1, sizeof *asked);
    for (size_t i = 0; i < count && !status; i++) {
        asked[i] = (cla_question){ questions[i], &passage, 1 };
    }
    const cla_answer_options o = { .best = (int)best };
    status = status ? status
                    : cla_reading_ask((reading *)model->task, asked, count, &o, answers,
                                      found);
    for (size_t i = 0; i < count * best && !status; i++) {
        quotes[i] = answers[i].quote;
    }
    free(answers);
    free(asked);
    return status;
}
