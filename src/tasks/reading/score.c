/* score.c - scores of a reader's answers. */
#include <math.h>

#include "base/utf8.h"
#include "metrics/bleu.h"
#include "metrics/reading.h"
#include "tasks/reading/reading.h"

/* Sums of the scores so far, and the scorers. */
typedef struct judge {
    const cla_reading *text;
    bool characters; // ideographs, or no blanks: scores of characters, too
    bool overlaps;   // BLEU and ROUGE-L, too
    cla_squad *squad;
    cla_tokenizer *tokenizer;
    cla_bleu *bleu;
    cla_line *gold; // right answers to a question
    size_t cap;
    cla_text said; // the predicted answer
    double exact, f1, span, f1_characters, rouge;
    int64_t answered; // questions that have a right answer
    int64_t impossible;
    double no_answer; // impossible questions that were left without one
    cla_bleu_counts counts;
} judge;

/* Returns whether more than half of the questions have an ideograph. */
static bool has_ideographs(const cla_reading *r)
{
    size_t have = 0;
    for (size_t i = 0; i < r->question_count; i++) {
        const char *text = cla_reading_string(r, r->questions[i].text.at);
        const char *end = text + r->questions[i].text.size;
        for (bool seen = false; text < end && !seen;) {
            int32_t code = 0;
            text += cla_utf8_step(text, (size_t)(end - text), &code);
            seen = cla_utf8_kind_of(code) == CLA_UTF8_IDEOGRAPH;
            have += seen;
        }
    }
    return 2 * have > r->question_count;
}

static cla_status judge_init(judge *j, const cla_reading *text)
{
    cla_bleu_options options = cla_bleu_defaults();
    *j = (judge){ .text = text };
    j->characters = (text->free_words && !text->blanks) || has_ideographs(text);
    j->overlaps = text->free_words || j->characters;
    options.tokens = j->characters ? CLA_TOKENS_CHAR : CLA_TOKENS_13A;
    options.lowercase = !j->characters;
    CLA_TRY(cla_squad_new(&j->squad));
    CLA_TRY(cla_tokenizer_new(&j->tokenizer, options.tokens, options.lowercase));
    return cla_bleu_new(&j->bleu, &options);
}

static void judge_fini(judge *j)
{
    cla_squad_free(&j->squad);
    cla_tokenizer_free(&j->tokenizer);
    cla_bleu_free(&j->bleu);
    free(j->gold);
    cla_text_free(&j->said);
}

/* Copies the predicted answer to j->said; the empty text if there is none. */
static cla_status quote(judge *j, const cla_reading_question *q, const cla_answer *a)
{
    j->said.size = 0;
    CLA_TRY(cla_text_append(&j->said, "", 0));
    return a ? cla_reading_quote(j->text, (size_t)q->passage + (size_t)a->passage,
                                 a->first, a->last, &j->said)
             : CLA_OK;
}

/* Adds the scores of an answer to a question of SQuAD 2.0 that has none. */
static cla_status count_impossible(judge *j)
{
    double exact = 0, f1 = 0;
    CLA_TRY(cla_squad_compare_2(j->squad, j->said.data, "", &exact, &f1));
    j->impossible++;
    j->no_answer += exact;
    j->exact += exact;
    j->f1 += f1;
    j->f1_characters += f1;
    j->span += exact;
    return CLA_OK;
}

/* Adds the scores of an answer, each the best over all right answers. */
static cla_status compare(judge *j, const cla_reading_question *q, const cla_answer *a)
{
    double exact = 0, f1 = 0, span = 0, f1_characters = 0;
    for (int32_t k = 0; k < q->answers; k++) {
        const cla_reading_answer *gold = &j->text->answers[q->answer + k];
        const char *right = cla_reading_string(j->text, gold->text.at);
        double same = 0, overlap = 0, characters = 0;
        CLA_TRY(cla_squad_compare(j->squad, j->said.data, right, &same, &overlap));
        if (j->characters) {
            CLA_TRY(cla_squad_characters(j->squad, j->said.data, right, &characters));
        }
        exact = fmax(exact, same);
        f1 = fmax(f1, overlap);
        f1_characters = fmax(f1_characters, characters);
        span = fmax(span, gold->passage == q->passage + a->passage &&
                              gold->first == a->first && gold->last == a->last);
    }
    j->exact += exact;
    j->f1 += f1;
    j->f1_characters += f1_characters;
    j->span += span;
    return CLA_OK;
}

/* Adds BLEU counts and ROUGE-L against all right answers at once. A question without
 * right answers does not count. */
static cla_status count_overlaps(judge *j, const cla_reading_question *q)
{
    const cla_line said = { j->said.data, j->said.size };
    const size_t n = (size_t)q->answers;
    cla_bleu_counts counts = { 0 };
    double rouge = 0;
    if (!n) {
        return CLA_OK;
    }
    CLA_TRY(cla_grow(&j->gold, &j->cap, n, sizeof *j->gold));
    for (size_t k = 0; k < n; k++) {
        const cla_reading_text *gold = &j->text->answers[(size_t)q->answer + k].text;
        j->gold[k] = (cla_line){ cla_reading_string(j->text, gold->at), gold->size };
    }
    CLA_TRY(cla_bleu_count(j->bleu, &said, j->gold, n, &counts));
    CLA_TRY(cla_rouge_l_line(j->tokenizer, &said, j->gold, n, &rouge));
    cla_bleu_add(&j->counts, &counts);
    j->rouge += rouge;
    j->answered++;
    return CLA_OK;
}

static cla_status score(judge *j, const cla_answer *answers, const size_t *found)
{
    for (size_t i = 0; i < j->text->question_count; i++) {
        const cla_reading_question *q = &j->text->questions[i];
        const cla_answer *a = found[i] ? &answers[i] : NULL;
        CLA_TRY(quote(j, q, a));
        if (q->impossible) {
            CLA_TRY(count_impossible(j));
        } else if (a) {
            CLA_TRY(compare(j, q, a));
        }
        if (j->overlaps) {
            CLA_TRY(count_overlaps(j, q));
        }
    }
    return CLA_OK;
}

static void add(cla_metrics *m, const char *name, double value)
{
    m->row[m->count].name = name;
    m->row[m->count++].value = value;
}

/* Writes the scores. Free-form answers are seldom part of a passage: for them the
 * overlap score that the authors of the data use comes first. */
static void report(const judge *j, cla_metrics *m)
{
    const double n = (double)j->text->question_count;
    const double rouge = 100 * j->rouge / fmax(1, (double)j->answered);
    const double bleu = 100 * cla_bleu_captions(&j->counts, 4);
    const bool words = j->text->blanks;
    m->count = 0;
    if (j->text->free_words) {
        add(m, words ? "rouge_l" : "bleu4", words ? rouge : bleu);
        add(m, words ? "bleu4" : "rouge_l", words ? bleu : rouge);
        add(m, "bleu1", 100 * cla_bleu_captions(&j->counts, 1));
    }
    add(m, "f1", 100 * j->f1 / n);
    add(m, "em", 100 * j->exact / n);
    add(m, "span", 100 * j->span / n);
    if (j->characters) {
        add(m, "f1_char", 100 * j->f1_characters / n);
    }
    if (j->characters && !j->text->free_words) {
        add(m, "bleu4", bleu);
        add(m, "rouge_l", rouge);
    }
    if (j->impossible) { // SQuAD 2.0
        const double have = fmax(1, n - (double)j->impossible);
        add(m, "has_ans_f1", 100 * (j->f1 - j->no_answer) / have);
        add(m, "has_ans_em", 100 * (j->exact - j->no_answer) / have);
        add(m, "no_ans", 100 * j->no_answer / (double)j->impossible);
    }
    add(m, "questions", n);
}

static cla_status judge_split(reading *t, const reading_split *s, cla_metrics *metrics)
{
    const size_t n = s->text.question_count;
    cla_answer *answers = NULL;
    size_t *found = NULL;
    judge j;
    cla_status status = judge_init(&j, &s->text);
    status = status ? status : cla_alloc(&answers, n + 1, sizeof *answers);
    status = status ? status : cla_alloc(&found, n + 1, sizeof *found);
    status = status ? status : cla_reading_answers(t, s, 1, answers, found);
    status = status ? status : score(&j, answers, found);
    if (!status) {
        report(&j, metrics);
    }
    judge_fini(&j);
    free(answers);
    free(found);
    return status;
}

cla_status cla_reading_evaluate(cla_task *task, const char *data, const char *split,
                                cla_metrics *metrics)
{
    reading *t = (reading *)task;
    reading_split s = { 0 };
    cla_reading text = { 0 };
    cla_status status = cla_reading_read_split(t, data, split, &text);
    status = status ? status : cla_reading_split_build(t, &s, &text);
    status = status ? status : judge_split(t, &s, metrics);
    cla_reading_free(&text);
    cla_reading_split_free(&s);
    return status;
}
