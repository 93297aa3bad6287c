/* predict.c - finds the best answers of a reader to all questions of a split. */
#include "tasks/reading/reading.h"

/* State while questions are answered; out and found are in the split's order. */
typedef struct work {
    reading *t;
    const reading_split *s;
    cla_tape *tape;
    size_t best;
    cla_answer *out;
    size_t *found;
} work;

static cla_status choose(const work *w, const reading_batch *b, const float *first,
                         const float *last)
{
    const int32_t *passage = b->passage_rows->offsets;
    for (int64_t i = 0; i < b->n; i++) {
        const size_t question = (size_t)b->question[i];
        const cla_reading_question *asked = &w->s->text.questions[question];
        const size_t passages = (size_t)asked->passages;
        if (asked->text.count && !cla_answers_defined(first, last, passage, passages)) {
            return cla_fail(CLA_E_NUMERIC, "the scores of a question are not finite: "
                                           "the parameters are too large");
        }
        w->found[question] =
            cla_answers_best(first, last, passage, passages, w->t->answer_limit,
                             w->best, w->out + question * w->best);
        passage += passages;
    }
    return CLA_OK;
}

static cla_status answer_batch(work *w, const reading_batch *b)
{
    reader_scores logs = { NULL, NULL };
    float *host = NULL;
    const size_t words = (size_t)cla_ragged_tokens(b->passage_rows);
    CLA_TRY(cla_alloc(&host, 2 * words + 1, sizeof *host));
    cla_status status = cla_reader_logs(&w->t->model, w->tape, &logs, &b->ids);
    status = status ? status : cla_tensor_download(logs.first, host);
    status = status ? status : cla_tensor_download(logs.last, host + words);
    status = status ? status : choose(w, b, host, host + words);
    free(host);
    cla_tape_reset(w->tape);
    return status;
}

static cla_status answer_some(work *w, const int64_t *questions, int64_t n)
{
    reading_batch b;
    CLA_TRY(cla_reading_batch_make(w->t, w->s, questions, n, &b));
    const cla_status status = answer_batch(w, &b);
    cla_reading_batch_free(&b);
    return status;
}

/* Answers all questions in batches of similar length, longest first. Batches of long
 * passages are smaller. */
static cla_status answer_all(work *w, int64_t *questions, int64_t n)
{
    enum { WORDS = 1 << 13, MOST = 64 };
    for (int64_t i = 0; i < n; i++) {
        questions[i] = i;
    }
    CLA_TRY(cla_reading_sort(w->s, questions, n));
    for (int64_t at = 0, count = 0; at < n; at += count) {
        const int64_t fit = WORDS / (cla_reading_length(w->s, questions[at]) + 1) + 1;
        count = fit < MOST ? fit : MOST;
        count = count < n - at ? count : n - at;
        CLA_TRY(answer_some(w, questions + at, count));
        CLA_TRY(cla_task_tell(&w->t->task, (size_t)(at + count), (size_t)n));
    }
    return CLA_OK;
}

cla_status cla_reading_answers(reading *t, const reading_split *s, size_t best,
                               cla_answer *out, size_t *found)
{
    work w = { .t = t, .s = s, .best = best, .out = out };
    int64_t *questions = NULL;
    const size_t n = s->text.question_count;
    w.found = found;
    cla_status status = cla_tape_new(&w.tape, t->task.rt, false);
    status = status ? status : cla_alloc(&questions, n + 1, sizeof *questions);
    status = status ? status : answer_all(&w, questions, (int64_t)n);
    cla_tape_free(&w.tape);
    free(questions);
    return status;
}
