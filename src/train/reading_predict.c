/* reading_predict.c - answers of a reader, and what they are worth. */
#include <math.h>

#include "metrics/reading.h"
#include "train/reading.h"

/* ---- answers --------------------------------------------------------------------- */

/* Questions while they are answered; answers stand in the split's order. */
typedef struct work {
    reading *t;
    const reading_split *s;
    cla_tape *tape;
    size_t best;
    cla_answer *out;
    size_t *found;
} work;

static void choose(const work *w, const reading_batch *b, const int32_t *offsets,
                   const float *first, const float *last)
{
    for (int64_t i = 0; i < b->n; i++) {
        const size_t question = (size_t)b->question[i];
        const int32_t range[2] = { 0, offsets[i + 1] - offsets[i] };
        w->found[question] =
            cla_answers_best(first + offsets[i], last + offsets[i], range, 1,
                             w->t->answer_limit, w->best, w->out + question * w->best);
    }
}

static cla_status answer_batch(work *w, const reading_batch *b)
{
    reader_scores logs = { NULL, NULL };
    float *host = NULL;
    const cla_ragged *rows = b->passage_rows;
    const size_t words = (size_t)cla_ragged_tokens(rows);
    CLA_TRY(cla_alloc(&host, 2 * words + 1, sizeof *host));
    cla_status status = reader_logs(&w->t->model, w->tape, &logs, &b->ids);
    status = status ? status : cla_tensor_download(logs.first, host);
    status = status ? status : cla_tensor_download(logs.last, host + words);
    if (!status) {
        choose(w, b, rows->offsets, host, host + words);
    }
    free(host);
    cla_tape_reset(w->tape);
    return status;
}

static cla_status answer_some(work *w, const int64_t *questions, int64_t n)
{
    reading_batch b;
    CLA_TRY(reading_batch_make(w->t, w->s, questions, n, &b));
    const cla_status status = answer_batch(w, &b);
    reading_batch_free(&b);
    return status;
}

/* Those of like length together, longest first; few where they are long. */
static cla_status answer_all(work *w, int64_t *questions, int64_t n)
{
    enum { WORDS = 1 << 13, MOST = 64 };
    for (int64_t i = 0; i < n; i++) {
        questions[i] = i;
    }
    CLA_TRY(reading_sort(w->s, questions, n));
    for (int64_t at = 0, count = 0; at < n; at += count) {
        const int64_t fit = WORDS / (reading_length(w->s, questions[at]) + 1) + 1;
        count = fit < MOST ? fit : MOST;
        count = count < n - at ? count : n - at;
        CLA_TRY(answer_some(w, questions + at, count));
    }
    return CLA_OK;
}

cla_status reading_answers(reading *t, const reading_split *s, size_t best,
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

/* ---- scores ---------------------------------------------------------------------- */

typedef struct tally {
    double exact, f1, span;
} tally;

/* The best match of one answer over all that are right. */
static cla_status compare(const cla_reading *r, const cla_reading_question *q,
                          cla_squad *squad, const cla_answer *a, tally *sum)
{
    tally best = { 0, 0, 0 };
    cla_text said = { 0 };
    cla_status status =
        cla_reading_quote(r, (size_t)q->passage, a->first, a->last, &said);
    for (int32_t k = 0; k < q->answers && !status; k++) {
        const cla_reading_answer *gold = &r->answers[q->answer + k];
        double exact = 0, f1 = 0;
        status = cla_squad_compare(squad, said.data,
                                   cla_reading_string(r, gold->text.at), &exact, &f1);
        best.exact = fmax(best.exact, exact);
        best.f1 = fmax(best.f1, f1);
        best.span = fmax(best.span, gold->passage >= 0 && gold->first == a->first &&
                                        gold->last == a->last);
    }
    cla_text_free(&said);
    sum->exact += best.exact;
    sum->f1 += best.f1;
    sum->span += best.span;
    return status;
}

static cla_status score(const reading_split *s, cla_squad *squad,
                        const cla_answer *answers, const size_t *found, tally *sum)
{
    for (size_t i = 0; i < s->text.question_count; i++) {
        if (found[i]) {
            CLA_TRY(compare(&s->text, &s->text.questions[i], squad, &answers[i], sum));
        }
    }
    return CLA_OK;
}

static cla_status judge(reading *t, const reading_split *s, tally *sum)
{
    const size_t n = s->text.question_count;
    cla_answer *answers = NULL;
    size_t *found = NULL;
    cla_squad *squad = NULL;
    cla_status status = cla_squad_new(&squad);
    status = status ? status : cla_alloc(&answers, n + 1, sizeof *answers);
    status = status ? status : cla_alloc(&found, n + 1, sizeof *found);
    status = status ? status : reading_answers(t, s, 1, answers, found);
    status = status ? status : score(s, squad, answers, found, sum);
    cla_squad_free(&squad);
    free(answers);
    free(found);
    return status;
}

cla_status reading_evaluate(cla_task *task, const char *data, const char *split,
                            cla_metrics *metrics)
{
    reading *t = (reading *)task;
    reading_split s = { 0 };
    cla_reading text = { 0 };
    tally sum = { 0, 0, 0 };
    cla_status status = reading_read_split(t, data, split, &text);
    const double n = (double)text.question_count;
    status = status ? status : reading_split_build(t, &s, &text);
    status = status ? status : judge(t, &s, &sum);
    if (!status) {
        *metrics = (cla_metrics){ 4,
                                  { { "f1", 100 * sum.f1 / n },
                                    { "em", 100 * sum.exact / n },
                                    { "span", 100 * sum.span / n },
                                    { "questions", n } } };
    }
    cla_reading_free(&text);
    reading_split_free(&s);
    return status;
}
