/* reading.c - passages, questions and answers as words. */
#include "text/reading.h"

#include <stdio.h>
#include <string.h>

void cla_reading_free(cla_reading *r)
{
    cla_text_free(&r->bytes);
    cla_words_free(&r->words);
    free(r->passages);
    free(r->questions);
    free(r->answers);
    *r = (cla_reading){ 0 };
}

const char *cla_reading_string(const cla_reading *r, size_t at)
{
    return r->bytes.data + at;
}

const cla_reading_answer *cla_reading_gold(const cla_reading *r,
                                           const cla_reading_question *question)
{
    for (int32_t i = 0; i < question->answers; i++) { // there may be none at all
        const cla_reading_answer *answer = &r->answers[question->answer + i];
        if (answer->passage >= 0) {
            return answer;
        }
    }
    return NULL;
}

cla_status cla_reading_place(const cla_reading *r, size_t passage, int32_t first,
                             int32_t last, cla_span *place)
{
    if (passage >= r->passage_count || first < 0 || last < first ||
        (size_t)last >= r->passages[passage].count) {
        return cla_fail(CLA_E_SHAPE, "passage %zu has no words %d to %d", passage,
                        first, last);
    }
    const cla_reading_text *text = &r->passages[passage];
    *place = cla_words_join(r->words.word + text->first, (size_t)first, (size_t)last);
    return CLA_OK;
}

cla_status cla_reading_quote(const cla_reading *r, size_t passage, int32_t first,
                             int32_t last, cla_text *out)
{
    cla_span place = { 0 };
    CLA_TRY(cla_reading_place(r, passage, first, last, &place));
    const char *text = r->bytes.data + r->passages[passage].at;
    return cla_text_append(out, text + place.at, (size_t)place.size);
}

/* ---- ids --------------------------------------------------------------------- */

/* Receives one word of a text. */
typedef cla_status take_word(void *to, size_t word, const char *form);

static cla_status give_text(const cla_reading *r, const cla_reading_text *text,
                            bool lower, cla_text *form, take_word *take, void *to)
{
    for (size_t i = text->first; i < text->first + text->count; i++) {
        form->size = 0;
        CLA_TRY(
            cla_words_form(r->bytes.data + text->at, &r->words.word[i], lower, form));
        CLA_TRY(take(to, i, form->data));
    }
    return CLA_OK;
}

static cla_status give_words(const cla_reading *r, bool lower, take_word *take,
                             void *to)
{
    cla_text form = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < r->passage_count && !status; i++) {
        status = give_text(r, &r->passages[i], lower, &form, take, to);
    }
    for (size_t i = 0; i < r->question_count && !status; i++) {
        status = give_text(r, &r->questions[i].text, lower, &form, take, to);
    }
    cla_text_free(&form);
    return status;
}

const char *cla_reading_id(const json_t *id, char digits[CLA_READING_DIGITS])
{
    if (!json_is_integer(id)) {
        return json_string_value(id);
    }
    snprintf(digits, CLA_READING_DIGITS, "%" JSON_INTEGER_FORMAT,
             json_integer_value(id));
    return digits;
}

static cla_status count_word(void *to, size_t word, const char *form)
{
    (void)word;
    return cla_vocab_add(to, form, 1, NULL);
}

cla_status cla_reading_vocab(const cla_reading *r, int64_t min_count, bool lower,
                             size_t limit, cla_vocab *vocab)
{
    cla_vocab all = { 0 };
    cla_status status = give_words(r, lower, count_word, &all);
    status = status ? status : cla_vocab_take(vocab, &all, min_count, limit);
    cla_vocab_free(&all);
    return status;
}

typedef struct numbers {
    const cla_vocab *vocab;
    int32_t *ids;
} numbers;

static cla_status number_word(void *to, size_t word, const char *form)
{
    const numbers *n = to;
    n->ids[word] = cla_vocab_number(n->vocab, form);
    return CLA_OK;
}

cla_status cla_reading_ids(const cla_reading *r, const cla_vocab *vocab, bool lower,
                           int32_t *ids)
{
    numbers n = { .vocab = vocab };
    n.ids = ids;
    return give_words(r, lower, number_word, &n);
}

/* ---- growing ----------------------------------------------------------------- */

cla_status cla_reading_add_text(cla_reading *r, const char *bytes, size_t size,
                                cla_reading_text *text)
{
    *text = (cla_reading_text){ r->bytes.size, size, r->words.count, 0 };
    CLA_TRY(cla_text_append(&r->bytes, bytes, size));
    return cla_text_append(&r->bytes, "", 1);
}

cla_status cla_reading_cut(cla_reading *r, cla_reading_text *text, int64_t limit,
                           bool *was_cut)
{
    text->first = r->words.count;
    CLA_TRY(cla_words_cut(&r->words, r->bytes.data + text->at, text->size));
    text->count = r->words.count - text->first;
    *was_cut = limit > 0 && text->count > (size_t)limit;
    if (*was_cut) {
        text->count = (size_t)limit;
        r->words.count = text->first + text->count;
    }
    return CLA_OK;
}

cla_status cla_reading_add_passage(cla_reading *r, const cla_reading_text *text)
{
    CLA_TRY(cla_grow(&r->passages, &r->passage_cap, r->passage_count + 1,
                     sizeof *r->passages));
    r->passages[r->passage_count++] = *text;
    return CLA_OK;
}

cla_status cla_reading_add_question(cla_reading *r, const cla_reading_question *one)
{
    CLA_TRY(cla_grow(&r->questions, &r->question_cap, r->question_count + 1,
                     sizeof *r->questions));
    r->questions[r->question_count++] = *one;
    return CLA_OK;
}

cla_status cla_reading_add_answer(cla_reading *r, const cla_reading_answer *one)
{
    CLA_TRY(
        cla_grow(&r->answers, &r->answer_cap, r->answer_count + 1, sizeof *r->answers));
    r->answers[r->answer_count++] = *one;
    return CLA_OK;
}
