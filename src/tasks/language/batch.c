/* batch.c - windows of a text, packed: documents are sequences of their own. */
#include "tasks/language/language.h"

int64_t cla_language_windows(int64_t n, int64_t shift, int64_t context)
{
    const int64_t targets = n - 1 - shift;
    return targets > 0 ? (targets + context - 1) / context : 0;
}

void cla_language_batch_free(language_batch *b)
{
    free(b->id);
    *b = (language_batch){ 0 };
}

/* Adds the pieces of a window, and a sequence for it and for each document that begins
 * in it. */
static void add_window(language_batch *b, const language_cut *cut, int64_t window)
{
    const int64_t from = cut->shift + window * cut->context;
    const int64_t last = (int64_t)cut->ids->count - 1;
    const int64_t to = from + cut->context < last ? from + cut->context : last;
    int32_t position = 0;
    for (int64_t i = from; i < to; i++) {
        const int32_t id = cut->ids->id[i];
        if (i == from || id == cut->start) {
            b->offsets[b->sequences++] = (int32_t)b->count;
            position = 0;
        }
        b->id[b->count] = id;
        b->position[b->count] = position++;
        b->target[b->count++] = cut->ids->id[i + 1];
    }
}

cla_status cla_language_batch_make(language_batch *b, const language_cut *cut,
                                   const int64_t *window, int64_t first, int64_t n)
{
    const size_t most = (size_t)(n * cut->context) + 1;
    *b = (language_batch){ 0 };
    CLA_TRY(cla_alloc(&b->id, 4 * most, sizeof *b->id));
    b->position = b->id + most;
    b->target = b->position + most;
    b->offsets = b->target + most;
    for (int64_t i = 0; i < n; i++) {
        add_window(b, cut, window ? window[i] : first + i);
    }
    b->offsets[b->sequences] = (int32_t)b->count;
    return CLA_OK;
}
