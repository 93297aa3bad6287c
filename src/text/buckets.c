/* buckets.c - batches of pairs of similar length, limited by the number of pieces. */
#include "text/buckets.h"

#include <string.h>

#include "base/rng.h"

/* Keys that keep these draws apart from others under the same seed and each other. */
enum { DRAW_ORDER = 0x6275636b, PAIRS = 1, BATCHES = 2 };

void cla_buckets_free(cla_buckets *b)
{
    free(b->pair);
    free(b->first);
    *b = (cla_buckets){ 0 };
}

static int64_t source_size(const cla_bitext *t, int64_t pair)
{
    return t->source_at[pair + 1] - t->source_at[pair];
}

static int64_t target_size(const cla_bitext *t, int64_t pair)
{
    return t->target_at[pair + 1] - t->target_at[pair];
}

/* A pair and the numbers by which it is sorted. */
typedef struct place {
    int64_t target, source, rank, pair;
} place;

static int shorter_first(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->target != y->target) {
        return x->target < y->target ? -1 : 1;
    }
    if (x->source != y->source) {
        return x->source < y->source ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorts pairs by length; equal ones stay in their shuffled order. */
static cla_status order_by_length(const cla_bitext *t, int64_t *pair)
{
    place *places = NULL;
    CLA_TRY(cla_alloc(&places, (size_t)t->count, sizeof *places));
    for (int64_t i = 0; i < t->count; i++) {
        places[i] =
            (place){ target_size(t, pair[i]), source_size(t, pair[i]), i, pair[i] };
    }
    qsort(places, (size_t)t->count, sizeof *places, shorter_first);
    for (int64_t i = 0; i < t->count; i++) {
        pair[i] = places[i].pair;
    }
    free(places);
    return CLA_OK;
}

/* Cuts pairs into batches: writes the start of each, and the end of all, to first
 * [pairs+1]; returns the number of batches. */
static int64_t cut(const cla_bitext *t, const int64_t *pair, int64_t tokens,
                   int64_t *first)
{
    int64_t count = 0, source = 0, target = 0;
    for (int64_t i = 0; i < t->count; i++) {
        source += source_size(t, pair[i]);
        target += target_size(t, pair[i]);
        if (!i || source > tokens || target > tokens) {
            first[count++] = i;
            source = source_size(t, pair[i]);
            target = target_size(t, pair[i]);
        }
    }
    first[count] = t->count;
    return count;
}

/* Copies the batches in the given order. */
static void arrange(const cla_buckets *from, const int64_t *order, cla_buckets *to)
{
    int64_t at = 0;
    for (int64_t k = 0; k < from->count; k++) {
        const int64_t begin = from->first[order[k]];
        const int64_t n = from->first[order[k] + 1] - begin;
        to->first[k] = at;
        memcpy(to->pair + at, from->pair + begin, (size_t)n * sizeof *to->pair);
        at += n;
    }
    to->first[from->count] = at;
    to->count = from->count;
}

static cla_status alloc_buckets(cla_buckets *b, int64_t pairs)
{
    CLA_TRY(cla_alloc(&b->pair, (size_t)pairs, sizeof *b->pair));
    CLA_TRY(cla_alloc(&b->first, (size_t)pairs + 1, sizeof *b->first));
    for (int64_t i = 0; i < pairs; i++) {
        b->pair[i] = i;
    }
    return CLA_OK;
}

static cla_status build(const cla_bitext *t, int64_t tokens, uint32_t seed,
                        uint32_t epoch, cla_buckets *sorted, cla_buckets *out)
{
    const uint32_t key[] = { seed, DRAW_ORDER };
    CLA_TRY(alloc_buckets(sorted, t->count));
    CLA_TRY(alloc_buckets(out, t->count));
    cla_shuffle(sorted->pair, t->count, 1, key, epoch, PAIRS);
    CLA_TRY(order_by_length(t, sorted->pair));
    sorted->count = cut(t, sorted->pair, tokens, sorted->first);
    int64_t *order = NULL;
    CLA_TRY(cla_alloc(&order, (size_t)sorted->count, sizeof *order));
    for (int64_t k = 0; k < sorted->count; k++) {
        order[k] = k;
    }
    cla_shuffle(order, sorted->count, 1, key, epoch, BATCHES);
    arrange(sorted, order, out);
    free(order);
    return CLA_OK;
}

cla_status cla_buckets_make(cla_buckets *b, const cla_bitext *t, int64_t tokens,
                            uint32_t seed, uint32_t epoch)
{
    cla_buckets sorted = { 0 };
    *b = (cla_buckets){ 0 };
    if (tokens < 1) {
        return cla_fail(CLA_E_USAGE, "batches of %lld tokens", (long long)tokens);
    }
    const cla_status status = build(t, tokens, seed, epoch, &sorted, b);
    cla_buckets_free(&sorted);
    if (status) {
        cla_buckets_free(b);
    }
    return status;
}

/* ---- packing ----------------------------------------------------------------- */

void cla_pair_batch_free(cla_pair_batch *batch)
{
    free(batch->source); // the whole block
    *batch = (cla_pair_batch){ 0 };
}

static cla_status alloc_batch(cla_pair_batch *b)
{
    const int64_t s = b->source_count, t = b->target_count, n = b->pairs;
    int32_t *block = NULL;
    if (s > INT32_MAX || t > INT32_MAX) {
        return cla_fail(CLA_E_USAGE, "a batch of %lld and %lld pieces", (long long)s,
                        (long long)t);
    }
    CLA_TRY(cla_alloc(&block, (size_t)(2 * s + 3 * t + 2 * (n + 1)), sizeof *block));
    b->source = block;
    b->source_position = b->source + s;
    b->source_offsets = b->source_position + s;
    b->input = b->source_offsets + n + 1;
    b->target = b->input + t;
    b->target_position = b->target + t;
    b->target_offsets = b->target_position + t;
    return CLA_OK;
}

static void put_source(cla_pair_batch *b, const int32_t *ids, int64_t n, int64_t at)
{
    for (int64_t i = 0; i < n; i++) {
        b->source[at + i] = ids[i];
        b->source_position[at + i] = (int32_t)i;
    }
}

static void put_target(cla_pair_batch *b, const int32_t *ids, int64_t n, int64_t at)
{
    for (int64_t i = 0; i < n; i++) {
        b->input[at + i] = i ? ids[i - 1] : -1;
        b->target[at + i] = ids[i];
        b->target_position[at + i] = (int32_t)i;
    }
}

cla_status cla_pair_batch_make(cla_pair_batch *b, const cla_bitext *t,
                               const int64_t *pair, int64_t n)
{
    int64_t source = 0, target = 0;
    *b = (cla_pair_batch){ .pairs = n };
    for (int64_t k = 0; k < n; k++) {
        b->source_count += source_size(t, pair[k]);
        b->target_count += target_size(t, pair[k]);
    }
    CLA_TRY(alloc_batch(b));
    for (int64_t k = 0; k < n; k++) {
        put_source(b, t->source + t->source_at[pair[k]], source_size(t, pair[k]),
                   source);
        put_target(b, t->target + t->target_at[pair[k]], target_size(t, pair[k]),
                   target);
        source += source_size(t, pair[k]);
        target += target_size(t, pair[k]);
        b->source_offsets[k + 1] = (int32_t)source;
        b->target_offsets[k + 1] = (int32_t)target;
    }
    return CLA_OK;
}
