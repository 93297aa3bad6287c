/* ragged.c - where each sequence of a packed batch begins and ends. */
#include <string.h>

#include "tensor/tensor.h"

static cla_status check_offsets(int64_t sequences, const int32_t *offsets)
{
    if (sequences < 0 || sequences >= INT32_MAX) {
        return cla_fail(CLA_E_SHAPE, "ragged: %lld sequences", (long long)sequences);
    }
    if (offsets[0] != 0) {
        return cla_fail(CLA_E_SHAPE, "ragged: offsets[0] is %d, must be 0", offsets[0]);
    }
    for (int64_t b = 0; b < sequences; b++) {
        if (offsets[b + 1] < offsets[b]) {
            return cla_fail(CLA_E_SHAPE,
                            "ragged: offsets[%lld] is %d, below offsets[%lld], %d",
                            (long long)b + 1, offsets[b + 1], (long long)b, offsets[b]);
        }
    }
    return CLA_OK;
}

static cla_status describe(cla_ragged *r, int64_t sequences, const int32_t *offsets)
{
    CLA_TRY(check_offsets(sequences, offsets));
    CLA_TRY(cla_alloc(&r->offsets, (size_t)sequences + 1, sizeof *offsets));
    memcpy(r->offsets, offsets, ((size_t)sequences + 1) * sizeof *offsets);
    r->sequences = sequences;
    r->tokens = offsets[sequences];
    for (int64_t b = 0; b < sequences; b++) {
        const int64_t length = offsets[b + 1] - offsets[b];
        r->longest = length > r->longest ? length : r->longest;
    }
    return CLA_OK;
}

/* Sorts the sequences into order: longest first, those of one length as they come. This
 * is a counting sort. */
static cla_status sort_sequences(const cla_ragged *r, int32_t *order)
{
    int32_t *place = NULL; // [longest+1] of the next sequence of each length
    CLA_TRY(cla_alloc(&place, (size_t)r->longest + 2, sizeof *place));
    for (int64_t b = 0; b < r->sequences; b++) {
        place[r->offsets[b + 1] - r->offsets[b]]++;
    }
    int32_t next = 0;
    for (int64_t length = r->longest; length >= 0; length--) {
        const int32_t count = place[length];
        place[length] = next;
        next += count;
    }
    for (int64_t b = 0; b < r->sequences; b++) {
        order[place[r->offsets[b + 1] - r->offsets[b]]++] = (int32_t)b;
    }
    free(place);
    return CLA_OK;
}

static cla_status write_offsets(const cla_ragged *r)
{
    const size_t count = (size_t)r->sequences;
    int32_t *all = NULL;
    CLA_TRY(cla_alloc(&all, 2 * count + 1, sizeof *all));
    memcpy(all, r->offsets, (count + 1) * sizeof *all);
    cla_status status = sort_sequences(r, all + count + 1);
    status = status ? status
                    : cla_memory_write(r->rt, &r->device_offsets, 0, all,
                                       (2 * count + 1) * sizeof *all);
    free(all);
    return status;
}

static cla_status write_spans(const cla_ragged *r)
{
    int32_t *spans = NULL;
    CLA_TRY(cla_alloc(&spans, (size_t)r->tokens + 1, 2 * sizeof *spans));
    for (int64_t b = 0; b < r->sequences; b++) {
        for (int64_t n = r->offsets[b]; n < r->offsets[b + 1]; n++) {
            spans[2 * n] = r->offsets[b];
            spans[2 * n + 1] = r->offsets[b + 1];
        }
    }
    const cla_status status = cla_memory_write(r->rt, &r->device_spans, 0, spans,
                                               (size_t)r->tokens * 2 * sizeof *spans);
    free(spans);
    return status;
}

static cla_status build(cla_ragged *r, int64_t sequences, const int32_t *offsets)
{
    CLA_TRY(describe(r, sequences, offsets));
    CLA_TRY(cla_memory_new(&r->device_offsets, r->rt, (2 * (size_t)sequences + 1) * 4));
    CLA_TRY(cla_memory_new(&r->device_spans, r->rt, (size_t)r->tokens * 8));
    CLA_TRY(write_offsets(r));
    return write_spans(r);
}

cla_status cla_ragged_new(cla_ragged **out, cla_runtime *rt, int64_t sequences,
                          const int32_t *offsets)
{
    CLA_NEED(out, rt, offsets);
    CLA_HOLD(rt);
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->rt = rt;
    const cla_status status = build(*out, sequences, offsets);
    if (status) {
        cla_ragged_free(out);
    }
    return status;
}

void cla_ragged_free(cla_ragged **ragged)
{
    if (!ragged || !*ragged) {
        return;
    }
    if ((*ragged)->kept) { // cla_tape_keep
        *ragged = NULL;
        return;
    }
    CLA_HOLD_WAIT((*ragged)->rt);
    cla_memory_free(&(*ragged)->device_spans, (*ragged)->rt);
    cla_memory_free(&(*ragged)->device_offsets, (*ragged)->rt);
    free((*ragged)->offsets);
    free(*ragged);
    *ragged = NULL;
}

int64_t cla_ragged_sequences(const cla_ragged *ragged)
{
    return ragged ? ragged->sequences : 0;
}

int64_t cla_ragged_tokens(const cla_ragged *ragged)
{
    return ragged ? ragged->tokens : 0;
}

int64_t cla_ragged_longest(const cla_ragged *ragged)
{
    return ragged ? ragged->longest : 0;
}
