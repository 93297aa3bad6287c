/* batch.c - packs questions and their passages into a batch. */
#include <string.h>

#include "tasks/reading/reading.h"

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

cla_status cla_reading_sort(const reading_split *s, int64_t *questions, int64_t n)
{
    entry *list = NULL;
    CLA_TRY(cla_alloc(&list, (size_t)n + 1, sizeof *list));
    for (int64_t i = 0; i < n; i++) {
        list[i] = (entry){ cla_reading_length(s, questions[i]), i, questions[i] };
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

/* Writes the traits of a text's words to out [text->count]: whether the n other texts
 * share the word or its root, and its look. */
static void put_traits(const reading_split *s, const cla_reading_text *text,
                       const cla_reading_text *others, int32_t n, int32_t *out)
{
    for (int32_t i = 0; i < n; i++) {
        mark(s, &others[i], 1);
    }
    for (size_t k = 0; k < text->count; k++) {
        const size_t i = text->first + k;
        const int shared = s->shared[s->form[i]]                      ? WORD_SHARED
                           : s->shared[s->forms + (size_t)s->root[i]] ? ROOT_SHARED
                                                                      : NOT_SHARED;
        out[k] = shared * READER_SHAPES * READER_RANKS + s->look[i];
    }
    for (int32_t i = 0; i < n; i++) {
        mark(s, &others[i], 0);
    }
}

/* ---- batches --------------------------------------------------------------------- */

/* Sizes of a batch. */
typedef struct sizes {
    int64_t question_words, passage_words, passages;
} sizes;

/* Pointers into the block of a batch's numbers. */
typedef struct layout {
    int32_t *question, *passage, *question_trait, *passage_trait;
    int32_t *question_spelling, *passage_spelling; // adjacent
    int32_t *question_offsets, *passage_offsets, *asked_offsets, *asker;
    int32_t *first, *last;
    int32_t passages; // number of those put so far
} layout;

static cla_status allocate(reading_batch *b, layout *l, const sizes *size)
{
    const int64_t n = b->n, words = size->question_words + size->passage_words;
    CLA_TRY(cla_alloc(&b->block, (size_t)(3 * words + 2 * size->passages + 4 * n + 3),
                      sizeof *b->block));
    l->question = b->block;
    l->passage = l->question + size->question_words;
    l->question_trait = l->passage + size->passage_words;
    l->passage_trait = l->question_trait + size->question_words;
    l->question_spelling = l->passage_trait + size->passage_words;
    l->passage_spelling = l->question_spelling + size->question_words;
    l->question_offsets = l->passage_spelling + size->passage_words;
    l->asked_offsets = l->question_offsets + n + 1;
    l->passage_offsets = l->asked_offsets + n + 1;
    l->asker = l->passage_offsets + size->passages + 1;
    l->first = l->asker + size->passages;
    l->last = l->first + n;
    return CLA_OK;
}

/* Writes the ids of a text's words and, with characters, their spellings. */
static void put_words(const reading_split *s, const cla_reading_text *text, int32_t *id,
                      int32_t *spelling)
{
    memcpy(id, s->id + text->first, text->count * sizeof *id);
    if (s->spellings.word) {
        memcpy(spelling, s->spellings.word + text->first,
               text->count * sizeof *spelling);
    }
}

/* Puts the next passage, which belongs to question i of the batch. */
static void put_passage(const reading_split *s, layout *l, int64_t i,
                        const cla_reading_text *passage,
                        const cla_reading_text *question)
{
    const int32_t p = l->passages++, from = l->passage_offsets[p];
    put_words(s, passage, l->passage + from, l->passage_spelling + from);
    put_traits(s, passage, question, 1, l->passage_trait + from);
    l->passage_offsets[p + 1] = from + (int32_t)passage->count;
    l->asker[p] = (int32_t)i;
}

static void put_question(const reading_split *s, layout *l, int64_t i, int64_t number)
{
    const cla_reading_question *q = &s->text.questions[number];
    const cla_reading_text *passage = &s->text.passages[q->passage];
    const cla_reading_answer *gold = cla_reading_gold(&s->text, q);
    const int32_t at = l->question_offsets[i];
    put_words(s, &q->text, l->question + at, l->question_spelling + at);
    put_traits(s, &q->text, passage, q->passages, l->question_trait + at);
    l->question_offsets[i + 1] = at + (int32_t)q->text.count;
    l->first[i] = l->last[i] = -1;
    for (int32_t k = 0; k < q->passages; k++) {
        if (gold && gold->passage == q->passage + k) {
            const int32_t before =
                l->passage_offsets[l->passages] - l->asked_offsets[i];
            l->first[i] = before + gold->first;
            l->last[i] = before + gold->last;
        }
        put_passage(s, l, i, &passage[k], &q->text);
    }
    l->asked_offsets[i + 1] = l->passage_offsets[l->passages];
}

static sizes measure(const reading_split *s, const reading_batch *b)
{
    sizes size = { 0, 0, 0 };
    for (int64_t i = 0; i < b->n; i++) {
        const cla_reading_question *q = &s->text.questions[b->question[i]];
        size.question_words += (int64_t)q->text.count;
        size.passage_words += cla_reading_length(s, b->question[i]);
        size.passages += q->passages;
    }
    return size;
}

static cla_status fill(const reading *t, const reading_split *s, reading_batch *b)
{
    layout l = { 0 };
    const sizes size = measure(s, b);
    const bool several = size.passages > b->n;
    CLA_TRY(allocate(b, &l, &size));
    for (int64_t i = 0; i < b->n; i++) {
        put_question(s, &l, i, b->question[i]);
    }
    cla_runtime *rt = t->task.rt;
    CLA_TRY(cla_ragged_new(&b->question_rows, rt, b->n, l.question_offsets));
    CLA_TRY(cla_ragged_new(&b->passage_rows, rt, size.passages, l.passage_offsets));
    if (several) {
        CLA_TRY(cla_ragged_new(&b->asked_rows, rt, b->n, l.asked_offsets));
    }
    b->ids = (reader_batch){
        .question_rows = b->question_rows,
        .passage_rows = b->passage_rows,
        .asked_rows = b->asked_rows,
        .asker = several ? l.asker : NULL,
        .question = l.question,
        .passage = l.passage,
        .question_trait = l.question_trait,
        .passage_trait = l.passage_trait,
        .first = l.first,
        .last = l.last,
        .chars = { NULL, NULL, l.question_spelling, l.passage_spelling },
    };
    return s->spellings.word
               ? cla_reading_batch_spell(t, &s->spellings, l.question_spelling,
                                         size.question_words + size.passage_words, b)
               : CLA_OK;
}

cla_status cla_reading_batch_make(const reading *t, const reading_split *s,
                                  const int64_t *questions, int64_t n, reading_batch *b)
{
    *b = (reading_batch){ .n = n };
    cla_status status = cla_alloc(&b->question, (size_t)n + 1, sizeof *b->question);
    if (!status) {
        memcpy(b->question, questions, (size_t)n * sizeof *questions);
        status = cla_reading_sort(s, b->question, n);
    }
    status = status ? status : fill(t, s, b);
    if (status) {
        cla_reading_batch_free(b);
    }
    return status;
}

void cla_reading_batch_free(reading_batch *b)
{
    cla_ragged_free(&b->question_rows);
    cla_ragged_free(&b->passage_rows);
    cla_ragged_free(&b->asked_rows);
    cla_ragged_free(&b->letter_rows);
    free(b->letters);
    free(b->question);
    free(b->block);
    *b = (reading_batch){ 0 };
}
