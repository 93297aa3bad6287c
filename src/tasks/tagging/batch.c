/* batch.c - packs chunks of a split into one batch. */
#include <string.h>

#include "tasks/tagging/tagging.h"

static cla_status alloc_batch(tagging_batch *b, int64_t tokens, int64_t sequences,
                              int64_t letters)
{
    int32_t *block = NULL;
    CLA_TRY(cla_alloc(&block, (size_t)(4 * tokens + letters + sequences + 1),
                      sizeof *block));
    b->word = block;
    b->position = block + tokens;
    b->spelling = block + 2 * tokens;
    b->tag = block + 3 * tokens;
    b->offsets = block + 4 * tokens;
    b->letters = b->offsets + sequences + 1;
    return CLA_OK;
}

void cla_tagging_batch_free(tagging_batch *b)
{
    cla_ragged_free(&b->rows);
    free(b->word);
    *b = (tagging_batch){ 0 };
}

/* Returns the batch's row of a spelling; adds the row at its first occurrence. */
static int32_t local_spelling(tagging *t, const tagging_split *s, tagging_batch *b,
                              int32_t spelling)
{
    const int64_t length = t->config.char_length;
    if (t->stamp[spelling] != t->stamp_now) {
        t->stamp[spelling] = t->stamp_now;
        t->local[spelling] = (int32_t)b->ids.spellings++;
        memcpy(b->letters + t->local[spelling] * length, s->letters + spelling * length,
               (size_t)length * sizeof *b->letters);
    }
    return t->local[spelling];
}

/* Writes a chunk to the rows from n on: its words, then padding up to length. */
static void put_chunk(tagging *t, const tagging_split *s, const chunk *c,
                      tagging_batch *b, int64_t n, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        const bool real = i < c->count;
        const int64_t at = c->first + i;
        const bool counts = real && at >= c->keep_first && at < c->keep_end;
        b->word[n + i] = real ? s->word[at] : TAGGING_PAD;
        b->position[n + i] = (int32_t)i;
        b->spelling[n + i] = local_spelling(t, s, b, real ? s->spelling[at] : 0);
        b->tag[n + i] = counts && s->tag[at] != TAGGING_OOV ? s->tag[at] : -1;
    }
}

bool cla_tagging_padded(const tagging *t)
{
    return !t->mask_pad;
}

cla_status cla_tagging_batch_make(tagging *t, const tagging_split *s,
                                  const int64_t *examples, int64_t n, tagging_batch *b)
{
    *b = (tagging_batch){ 0 };
    const int64_t t_max = t->config.length;
    int64_t tokens = 0, at = 0;
    for (int64_t i = 0; i < n; i++) {
        tokens += cla_tagging_padded(t) ? t_max : s->chunks[examples[i]].count;
    }
    CLA_TRY(alloc_batch(b, tokens, n, (tokens + 1) * t->config.char_length));
    t->stamp_now++;
    for (int64_t i = 0; i < n; i++) {
        const chunk *c = &s->chunks[examples[i]];
        const int64_t length = cla_tagging_padded(t) ? t_max : c->count;
        put_chunk(t, s, c, b, at, length);
        at += length;
        b->offsets[i + 1] = (int32_t)at;
    }
    CLA_TRY(cla_ragged_new(&b->rows, t->task.rt, n, b->offsets));
    b->ids = (tagger_batch){ tokens,      b->ids.spellings, b->word, b->position,
                             b->spelling, b->letters,       b->tag,  b->rows };
    return CLA_OK;
}

/* Allocates the marks for the distinct words of a split's batches. */
cla_status cla_tagging_use(tagging *t, const tagging_split *s)
{
    free(t->stamp);
    free(t->local);
    t->stamp = t->local = NULL;
    t->stamp_now = 0;
    CLA_TRY(cla_alloc(&t->stamp, s->spellings.count + 1, sizeof *t->stamp));
    return cla_alloc(&t->local, s->spellings.count + 1, sizeof *t->local);
}
