/* reading_batch.c - some questions and their passages, packed. */
#include <string.h>

#include "train/reading.h"

/* ---- order ----------------------------------------------------------------------- */

typedef struct entry {
    int64_t length, at, question;
} entry;

static int longest_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->length != y->length) {
        return x->length < y->length ? 1 : -1;
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

cla_status reading_sort(const reading_split *s, int64_t *questions, int64_t n)
{
    entry *list = NULL;
    CLA_TRY(cla_alloc(&list, (size_t)n + 1, sizeof *list));
    for (int64_t i = 0; i < n; i++) {
        list[i] = (entry){ reading_length(s, questions[i]), i, questions[i] };
    }
    qsort(list, (size_t)n, sizeof *list, longest_first);
    for (int64_t i = 0; i < n; i++) {
        questions[i] = list[i].question;
    }
    free(list);
    return CLA_OK;
}

/* ---- traits ---------------------------------------------------------------------- */

enum { NOT_SHARED, ROOT_SHARED, WORD_SHARED };

static void mark(const reading_split *s, const cla_reading_text *text, uint8_t value)
{
    for (size_t i = text->first; i < text->first + text->count; i++) {
        s->shared[s->form[i]] = s->shared[s->forms + (size_t)s->root[i]] = value;
    }
}

/* Traits of one text's words beside the other. */
static void put_traits(const reading_split *s, const cla_reading_text *text,
                       const cla_reading_text *other, int32_t *out)
{
    mark(s, other, 1);
    for (size_t k = 0; k < text->count; k++) {
        const size_t i = text->first + k;
        const int shared = s->shared[s->form[i]]                      ? WORD_SHARED
                           : s->shared[s->forms + (size_t)s->root[i]] ? ROOT_SHARED
                                                                      : NOT_SHARED;
        out[k] = shared * READER_SHAPES * READER_RANKS + s->look[i];
    }
    mark(s, other, 0);
}

/* ---- batches --------------------------------------------------------------------- */

/* Where things stand in the block that a batch's numbers are. */
typedef struct layout {
    int32_t *question, *passage, *question_trait, *passage_trait;
    int32_t *question_spelling, *passage_spelling; // one behind the other
    int32_t *question_offsets, *passage_offsets, *first, *last;
} layout;

static cla_status allocate(reading_batch *b, layout *l, int64_t questions,
                           int64_t passages)
{
    const int64_t n = b->n;
    CLA_TRY(cla_alloc(&b->block, (size_t)(3 * (questions + passages) + 4 * n + 2),
                      sizeof *b->block));
    l->question = b->block;
    l->passage = l->question + questions;
    l->question_trait = l->passage + passages;
    l->passage_trait = l->question_trait + questions;
    l->question_spelling = l->passage_trait + passages;
    l->passage_spelling = l->question_spelling + questions;
    l->question_offsets = l->passage_spelling + passages;
    l->passage_offsets = l->question_offsets + n + 1;
    l->first = l->passage_offsets + n + 1;
    l->last = l->first + n;
    return CLA_OK;
}

static void put_question(const reading_split *s, layout *l, int64_t i, int64_t number)
{
    const cla_reading_question *q = &s->text.questions[number];
    const cla_reading_text *passage = &s->text.passages[q->passage];
    const int32_t at = l->question_offsets[i], from = l->passage_offsets[i];
    memcpy(l->question + at, s->id + q->text.first, q->text.count * sizeof *s->id);
    memcpy(l->passage + from, s->id + passage->first, passage->count * sizeof *s->id);
    if (s->spellings.word) {
        const int32_t *spelling = s->spellings.word;
        memcpy(l->question_spelling + at, spelling + q->text.first,
               q->text.count * sizeof *spelling);
        memcpy(l->passage_spelling + from, spelling + passage->first,
               passage->count * sizeof *spelling);
    }
    put_traits(s, &q->text, passage, l->question_trait + at);
    put_traits(s, passage, &q->text, l->passage_trait + from);
    l->question_offsets[i + 1] = at + (int32_t)q->text.count;
    l->passage_offsets[i + 1] = from + (int32_t)passage->count;
    const cla_reading_answer *gold = cla_reading_gold(&s->text, q);
    l->first[i] = gold ? gold->first : -1;
    l->last[i] = gold ? gold->last : -1;
}

static cla_status fill(const reading *t, const reading_split *s, reading_batch *b)
{
    layout l = { NULL };
    int64_t questions = 0, passages = 0;
    for (int64_t i = 0; i < b->n; i++) {
        questions += (int64_t)s->text.questions[b->question[i]].text.count;
        passages += reading_length(s, b->question[i]);
    }
    CLA_TRY(allocate(b, &l, questions, passages));
    for (int64_t i = 0; i < b->n; i++) {
        put_question(s, &l, i, b->question[i]);
    }
    cla_runtime *rt = t->task.rt;
    CLA_TRY(cla_ragged_new(&b->question_rows, rt, b->n, l.question_offsets));
    CLA_TRY(cla_ragged_new(&b->passage_rows, rt, b->n, l.passage_offsets));
    b->ids = (reader_batch){
        .question_rows = b->question_rows,
        .passage_rows = b->passage_rows,
        .question = l.question,
        .passage = l.passage,
        .question_trait = l.question_trait,
        .passage_trait = l.passage_trait,
        .first = l.first,
        .last = l.last,
        .chars = { NULL, NULL, l.question_spelling, l.passage_spelling },
    };
    return s->spellings.word
               ? reading_batch_spell(t, &s->spellings, l.question_spelling,
                                     questions + passages, b)
               : CLA_OK;
}

cla_status reading_batch_make(const reading *t, const reading_split *s,
                              const int64_t *questions, int64_t n, reading_batch *b)
{
    *b = (reading_batch){ .n = n };
    cla_status status = cla_alloc(&b->question, (size_t)n + 1, sizeof *b->question);
    if (!status) {
        memcpy(b->question, questions, (size_t)n * sizeof *questions);
        status = reading_sort(s, b->question, n);
    }
    status = status ? status : fill(t, s, b);
    if (status) {
        reading_batch_free(b);
    }
    return status;
}

void reading_batch_free(reading_batch *b)
{
    cla_ragged_free(&b->question_rows);
    cla_ragged_free(&b->passage_rows);
    cla_ragged_free(&b->letter_rows);
    free(b->letters);
    free(b->question);
    free(b->block);
    *b = (reading_batch){ 0 };
}
