/* model_answer.c - a reader inside an application. */
#include "tasks/model.h"
#include "tasks/reading/reading.h"

cla_status cla_model_answer(cla_model *model, cla_quote *quotes, size_t *found,
                            const char *passage, const char *const *questions,
                            size_t count, size_t best)
{
    CLA_NEED(model, passage);
    CLA_HOLD(model->rt);
    CLA_TRY(cla_model_need_texts("answer", "questions", questions, count));
    if (count) CLA_NEED(quotes, found);
    reading_answer *answers = NULL;
    CLA_TRY(cla_model_must_be(model, "answer", &reading_kind));
    if (best < 1 || best > READING_MOST) {
        return cla_fail(CLA_E_USAGE, "answer: best is %zu, must be 1 to %d", best,
                        READING_MOST);
    }
    CLA_TRY(cla_alloc(&answers, count * best + 1, sizeof *answers));
    const cla_status status = reading_ask((reading *)model->task, &passage, 1,
                                          questions, count, best, answers, found);
    for (size_t i = 0; i < count * best && !status; i++) {
        const cla_span *place = &answers[i].place;
        quotes[i] = (cla_quote){ place->from, place->to, place->at, place->size,
                                 answers[i].score };
    }
    free(answers);
    return status;
}
