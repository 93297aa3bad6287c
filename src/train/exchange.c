/* exchange.c - sums gradients over all processes while the backward pass still runs.
 *
 * The gradients are cut into buckets in the order in which the backward pass of process
 * 0 completed them in its first step. Each bucket goes through its stages behind the
 * one before it, so all processes begin the same calls in the same order. */
#include "train/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/platform.h"

enum {
    BUCKETS = 8, // of a small model
    LEAST = 1 << 12,
    MOST = 1 << 20, // numbers of a bucket
    SLOTS = 4,      // buckets whose parts are dealt at a time
    TOLD = sizeof(cla_told) / sizeof(float),
    SHORTEST_NS = 1000,
    LONGEST_NS = 200000,
};

/* ---- buckets ----------------------------------------------------------------- */

static int64_t usual_size(int64_t all)
{
    const int64_t size = (all + BUCKETS - 1) / BUCKETS;
    return size < LEAST ? LEAST : size > MOST ? MOST : size;
}

/* Sets the bucket behind the others of the list. */
static void cut(cla_exchange *x, int64_t from, int64_t to)
{
    const int size = x->parallel.size;
    cla_bucket *b = &x->buckets[x->count++];
    *b = (cla_bucket){ .from = from, .to = to, .at = x->parts };
    b->each = (to - from + size - 1) / size;
    x->parts += b->each * size;
    x->widest = b->each * size > x->widest ? b->each * size : x->widest;
}

cla_status cla_exchange_init(cla_exchange *x, const cla_params *params,
                             const cla_parallel *parallel, int64_t numbers)
{
    const int64_t all = params->size;
    const int64_t size = numbers ? numbers : usual_size(all);
    *x = (cla_exchange){ .params = params, .parallel = *parallel };
    CLA_TRY(cla_alloc(&x->line, params->count + 1, sizeof *x->line));
    CLA_TRY(cla_alloc(&x->buckets, (size_t)(all / size + 2), sizeof *x->buckets));
    for (int64_t from = 0; from < all; from += size) {
        cut(x, from, from + size < all ? from + size : all);
    }
    cut(x, 0, TOLD);
    const size_t bytes = (size_t)(x->parts + SLOTS * x->widest) * sizeof(float);
    CLA_TRY(cla_aside_new(&x->aside, params->rt, bytes));
    x->host = cla_aside_host(x->aside);
    return CLA_OK;
}

void cla_exchange_fini(cla_exchange *x)
{
    bool lent = false;
    for (int i = 0; i < x->count; i++) {
        lent = lent || x->buckets[i].request; // this process failed in a step
        if (x->aside) {
            cla_aside_ended(x->aside, &x->buckets[i].end, true);
        }
    }
    cla_aside_free(&x->aside, lent);
    free(x->buckets);
    free(x->line);
    *x = (cla_exchange){ .count = 0 };
}

/* The part of a parameter that lies in a bucket: numbers of the line. */
typedef struct piece {
    cla_tensor *tensor;
    int64_t first; // of the parameter
    int64_t from, to;
} piece;

/* Finds the part of the next parameter of the line from *i on; false past the last. */
static bool next_piece(const cla_exchange *x, const cla_bucket *b, size_t *i, piece *p)
{
    for (; *i < x->params->count; ++*i) {
        cla_tensor *tensor = x->params->list[x->line[*i].param].tensor;
        const int64_t first = x->line[*i].from, end = first + cla_size(tensor);
        *p = (piece){ tensor, first, first > b->from ? first : b->from,
                      end < b->to ? end : b->to };
        if (p->from < p->to) {
            ++*i;
            return true;
        }
    }
    return false;
}

/* ---- the order of the gradients ---------------------------------------------- */

/* Those that are used last stand first; of others the last parameters. */
static int by_use(const void *a_, const void *b_)
{
    const cla_place *a = a_, *b = b_;
    if (a->first_use != b->first_use) {
        return a->first_use > b->first_use ? -1 : 1;
    }
    return a->param > b->param ? -1 : 1;
}

/* Puts the gradients of all processes into the order of process 0. tape NULL: this one
 * has no examples in the first step. */
static cla_status order(cla_exchange *x, const cla_tape *tape)
{
    const size_t n = x->params->count;
    for (size_t i = 0; i < n; i++) {
        const cla_tensor *t = x->params->list[i].tensor;
        x->line[i] = (cla_place){ .param = i,
                                  .first_use = tape ? cla_tape_first_use(tape, t) : 0 };
    }
    qsort(x->line, n, sizeof *x->line, by_use);
    CLA_TRY(x->parallel.follow(x->line, n * sizeof *x->line));
    int64_t from = 0;
    for (size_t i = 0; i < n; i++) {
        x->line[i].from = from;
        from += cla_size(x->params->list[x->line[i].param].tensor);
    }
    x->ordered = true;
    return CLA_OK;
}

/* ---- the backward pass ------------------------------------------------------- */

/* Says that the next bucket is complete; gradients that no loss reached are 0. */
static cla_status close_next(cla_exchange *x)
{
    piece p;
    cla_bucket *b = &x->buckets[x->next++];
    for (size_t i = 0; next_piece(x, b, &i, &p);) {
        CLA_TRY(p.tensor->grad_filled ? CLA_OK : cla_tensor_fill(p.tensor->grad, 0));
        p.tensor->grad_filled = true;
    }
    b->stage = CLA_BUCKET_COMPUTED;
    return cla_aside_launches(x->aside, &x->params->gradients, &b->end);
}

/* Returns whether none of the steps that are left writes the gradients of b. */
static bool is_complete(const cla_exchange *x, const cla_bucket *b,
                        const cla_tape *tape)
{
    piece p;
    bool complete = true;
    for (size_t i = 0; complete && next_piece(x, b, &i, &p);) {
        complete = cla_tape_mark(tape) <= cla_tape_first_use(tape, p.tensor);
    }
    return complete;
}

static cla_status seen(void *watcher, cla_tape *tape)
{
    cla_exchange *x = watcher;
    bool done = false;
    while (x->next < x->count - 1 && is_complete(x, &x->buckets[x->next], tape)) {
        x->early += cla_tape_mark(tape) > 0;
        CLA_TRY(close_next(x));
    }
    return x->next ? cla_exchange_advance(x, NULL, &done) : CLA_OK;
}

cla_status cla_exchange_watch(cla_exchange *x, cla_tape *tape)
{
    x->early = 0;
    CLA_TRY(x->ordered ? CLA_OK : order(x, tape));
    cla_tape_watch(tape, seen, x);
    return CLA_OK;
}

cla_status cla_exchange_rest(cla_exchange *x, cla_tape *tape)
{
    cla_tape_watch(tape, NULL, NULL);
    CLA_TRY(x->ordered ? CLA_OK : order(x, NULL));
    while (x->next < x->count - 1) {
        CLA_TRY(close_next(x));
    }
    x->buckets[x->count - 1].stage = CLA_BUCKET_READ;
    return CLA_OK;
}

/* ---- the stages of a bucket -------------------------------------------------- */

static cla_status copy(cla_exchange *x, cla_bucket *b, bool read)
{
    piece p;
    for (size_t i = 0; next_piece(x, b, &i, &p);) {
        const size_t at = (size_t)(b->at + p.from - b->from) * sizeof(float);
        const size_t offset = (size_t)(p.from - p.first) * sizeof(float);
        const size_t bytes = (size_t)(p.to - p.from) * sizeof(float);
        const cla_memory *memory = &p.tensor->grad->memory;
        CLA_TRY((read ? cla_aside_read : cla_aside_write)(x->aside, at, memory, offset,
                                                          bytes, &b->end));
    }
    return CLA_OK;
}

static float *parts_of(const cla_exchange *x, int i)
{
    return x->host + x->parts + i % SLOTS * x->widest;
}

/* Returns how many numbers are infinite or NaN: all bits of their exponents are 1. */
static int64_t count_broken(const float *numbers, int64_t n)
{
    const uint32_t exponent = 0x7f800000;
    int64_t broken = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = 0;
        memcpy(&bits, &numbers[i], sizeof bits);
        broken += (bits & exponent) == exponent;
    }
    return broken;
}

/* Sums this process's part of a bucket, in the order of the ranks. */
static void sum(cla_exchange *x, const cla_bucket *b, const float *parts)
{
    float *restrict to = x->host + b->at + x->parallel.rank * b->each;
    memcpy(to, parts, (size_t)b->each * sizeof *to);
    for (int rank = 1; rank < x->parallel.size; rank++) {
        const float *restrict from = parts + rank * b->each;
        for (int64_t i = 0; i < b->each; i++) {
            to[i] += from[i];
        }
    }
    x->broken += count_broken(to, b->each);
}

static cla_status deal(cla_exchange *x, int i, const cla_told *told)
{
    cla_bucket *b = &x->buckets[i];
    if (i == x->count - 1) {
        const cla_told mine = { told->loss, told->stop, (float)x->broken };
        memcpy(x->host + b->at, &mine, sizeof mine);
    }
    return x->parallel.deal(&b->request, x->host + b->at, parts_of(x, i), b->each);
}

/* Begins the stage after the one that has ended. */
static cla_status begin_next(cla_exchange *x, int i, cla_told *told)
{
    const bool last = i == x->count - 1;
    cla_bucket *b = &x->buckets[i];
    switch (b->stage++) {
    case CLA_BUCKET_COMPUTED:
        return copy(x, b, true);
    case CLA_BUCKET_READ:
        return deal(x, i, told);
    case CLA_BUCKET_DEALT:
        sum(x, b, parts_of(x, i));
        return x->parallel.gather(&b->request, x->host + b->at, b->each);
    case CLA_BUCKET_GATHERED:
        if (last) {
            memcpy(told, x->host + b->at, sizeof *told);
        }
        return last ? CLA_OK : copy(x, b, false);
    default:
        return CLA_OK;
    }
}

/* Returns whether the bucket may begin its next stage. The last one tells of the sums
 * of all others; parts wait for room. */
static bool may_begin(const cla_exchange *x, int i)
{
    const cla_bucket *b = &x->buckets[i];
    if (b->stage == CLA_BUCKET_OPEN || b->stage == CLA_BUCKET_DONE) {
        return false;
    }
    if (i && x->buckets[i - 1].stage <= b->stage) {
        return false;
    }
    const int room = i == x->count - 1 ? 1 : SLOTS;
    return b->stage != CLA_BUCKET_READ || i < room ||
           x->buckets[i - room].stage > CLA_BUCKET_DEALT;
}

/* Moves one bucket on as far as it can go. */
static cla_status move(cla_exchange *x, int i, cla_told *told)
{
    cla_bucket *b = &x->buckets[i];
    while (may_begin(x, i)) {
        CLA_TRY(cla_aside_ended(x->aside, &b->end, false));
        CLA_TRY(b->request ? x->parallel.ended(&b->request) : CLA_OK);
        if (b->end || b->request) {
            return CLA_OK;
        }
        CLA_TRY(begin_next(x, i, told));
    }
    return CLA_OK;
}

cla_status cla_exchange_advance(cla_exchange *x, cla_told *told, bool *done)
{
    for (int i = 0; i < x->count; i++) {
        CLA_TRY(move(x, i, told));
    }
    *done = x->buckets[x->count - 1].stage == CLA_BUCKET_DONE;
    return CLA_OK;
}

/* Waits for the device where the oldest bucket does; for other processes a moment. */
static cla_status pause_for(cla_exchange *x, long pause_ns)
{
    for (int i = 0; i < x->count; i++) {
        cla_bucket *b = &x->buckets[i];
        if (b->stage != CLA_BUCKET_DONE && b->end) {
            return cla_aside_ended(x->aside, &b->end, true);
        }
        if (b->request) {
            break;
        }
    }
    cla_os_sleep_ns(pause_ns);
    return CLA_OK;
}

static int stages_begun(const cla_exchange *x)
{
    int stages = 0;
    for (int i = 0; i < x->count; i++) {
        stages += (int)x->buckets[i].stage;
    }
    return stages;
}

cla_status cla_exchange_finish(cla_exchange *x, cla_told *told)
{
    bool done = false;
    long pause_ns = SHORTEST_NS;
    CLA_TRY(cla_exchange_advance(x, told, &done));
    while (!done) {
        const int before = stages_begun(x);
        CLA_TRY(pause_for(x, pause_ns));
        CLA_TRY(cla_exchange_advance(x, told, &done));
        const long longer = pause_ns * 2 < LONGEST_NS ? pause_ns * 2 : LONGEST_NS;
        pause_ns = stages_begun(x) > before ? SHORTEST_NS : longer;
    }
    for (int i = 0; i < x->count; i++) {
        x->buckets[i].stage = CLA_BUCKET_OPEN;
    }
    x->broken = x->next = 0;
    return CLA_OK;
}
