/* chars.c - characters of words: their vocabulary, and batches of them. */
#include <string.h>

#include "base/utf8.h"
#include "tasks/reading/reading.h"

/* ---- characters of a word -------------------------------------------------------- */

typedef struct letter {
    char bytes[8];
} letter;

/* Copies the first character of word, which is not empty; returns what follows it. */
static const char *next(const char *word, letter *out)
{
    int32_t code = 0;
    const size_t size = strlen(word);
    const int n = cla_utf8_step(word, size, &code);
    memcpy(out->bytes, word, (size_t)n);
    out->bytes[n] = 0;
    return word + n;
}

static cla_status count_chars(const cla_vocab *words, cla_vocab *chars)
{
    for (size_t i = CLA_SPECIALS; i < words->count; i++) {
        for (const char *at = words->tokens[i]; *at;) {
            letter c;
            at = next(at, &c);
            CLA_TRY(cla_vocab_add(chars, c.bytes, words->counts[i], NULL));
        }
    }
    return CLA_OK;
}

/* Collects the distinct words in their original case, after the special tokens. */
static cla_status distinct(const cla_reading *text, cla_vocab *words)
{
    return cla_reading_vocab(text, 1, false, 0, words);
}

cla_status cla_reading_count_chars(reading *t, const cla_reading *text)
{
    cla_vocab words = { 0 }, all = { 0 };
    cla_status status = distinct(text, &words);
    status = status ? status : count_chars(&words, &all);
    status = status ? status : cla_vocab_take(&t->chars, &all, t->min_count, 0);
    cla_vocab_free(&words);
    cla_vocab_free(&all);
    return status;
}

/* ---- spellings of a file --------------------------------------------------------- */

/* Writes the ids of a word's characters, at most limit; returns their number. */
static int32_t number(const cla_vocab *chars, const char *word, int limit, int32_t *out)
{
    int32_t n = 0;
    while (*word && n < limit) {
        letter c;
        word = next(word, &c);
        out[n++] = cla_vocab_number(chars, c.bytes);
    }
    return n;
}

static cla_status fill(const reading *t, reading_split *s, const cla_vocab *words)
{
    reading_spellings *p = &s->spellings;
    const size_t all = s->text.words.count, limit = (size_t)t->char_limit;
    size_t most = 0;
    for (size_t i = CLA_SPECIALS; i < words->count; i++) {
        const size_t bytes = strlen(words->tokens[i]);
        most += bytes < limit ? bytes : limit;
    }
    p->count = words->count;
    CLA_TRY(cla_alloc(&p->word, all + 2 * p->count + most + 2, sizeof *p->word));
    p->at = p->word + all;
    p->local = p->at + p->count + 1;
    p->letters = p->local + p->count;
    for (size_t i = 0; i < p->count; i++) {
        p->local[i] = -1;
        p->at[i + 1] = p->at[i];
        if (i >= CLA_SPECIALS) {
            p->at[i + 1] += number(&t->chars, words->tokens[i], t->char_limit,
                                   p->letters + p->at[i]);
        }
    }
    return cla_reading_ids(&s->text, words, false, p->word);
}

cla_status cla_reading_spell(const reading *t, reading_split *s)
{
    cla_vocab words = { 0 };
    cla_status status = distinct(&s->text, &words);
    status = status ? status : fill(t, s, &words);
    cla_vocab_free(&words);
    return status;
}

void cla_reading_spellings_free(reading_spellings *s)
{
    free(s->word); // one block
    *s = (reading_spellings){ 0 };
}

/* ---- batches --------------------------------------------------------------------- */

/* Replaces words [n], numbers of spellings, by numbers of the batch's distinct words,
 * in order of first occurrence. spelling [*count] lists the spellings of these. */
static void find_distinct(const reading_spellings *s, int32_t *words, int64_t n,
                          int32_t *spelling, int32_t *count)
{
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t *local = &s->local[words[i]];
        if (*local < 0) {
            *local = *count;
            spelling[(*count)++] = words[i];
        }
        words[i] = *local;
    }
    for (int32_t i = 0; i < *count; i++) {
        s->local[spelling[i]] = -1;
    }
}

/* Copies the characters of the spellings to b->letters, their offsets to ends
 * [count+1]. */
static cla_status put_letters(const reading_spellings *s, const int32_t *spelling,
                              int32_t count, int32_t *ends, reading_batch *b)
{
    for (int32_t i = 0; i < count; i++) {
        const int32_t *at = s->at + spelling[i];
        ends[i + 1] = ends[i] + at[1] - at[0];
    }
    CLA_TRY(cla_alloc(&b->letters, (size_t)ends[count] + 1, sizeof *b->letters));
    for (int32_t i = 0; i < count; i++) {
        memcpy(b->letters + ends[i], s->letters + s->at[spelling[i]],
               (size_t)(ends[i + 1] - ends[i]) * sizeof *b->letters);
    }
    b->ids.chars.id = b->letters;
    return CLA_OK;
}

cla_status cla_reading_batch_spell(const reading *t, const reading_spellings *s,
                                   int32_t *words, int64_t n, reading_batch *b)
{
    int32_t *ends = NULL, count = 0;
    CLA_TRY(cla_alloc(&ends, 2 * (size_t)n + 1, sizeof *ends));
    int32_t *const spelling = ends + n + 1;
    find_distinct(s, words, n, spelling, &count);
    cla_status status = put_letters(s, spelling, count, ends, b);
    status = status ? status : cla_ragged_new(&b->letter_rows, t->task.rt, count, ends);
    free(ends);
    b->ids.chars.rows = b->letter_rows;
    return status;
}
