/* exchange.c - sums gradients over all processes while the backward pass still runs.
 *
 * The block of gradients is cut into buckets, from its end, because the backward pass
 * reaches the last layers first. Each bucket goes through its stages behind the one
 * before it, so all processes begin the same calls in the same order. */
#include "train/exchange.h"

#include <string.h>
#include <time.h>

enum {
    BUCKETS = 8, // of a small model
    LEAST = 1 << 14,
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
    const int64_t all = (int64_t)(params->gradients.bytes / sizeof(float));
    const int64_t size = numbers ? numbers : usual_size(all);
    *x = (cla_exchange){ .params = params, .parallel = *parallel };
    CLA_TRY(cla_alloc(&x->buckets, (size_t)(all / size + 2), sizeof *x->buckets));
    for (int64_t to = all; to > 0; to -= size) {
        cut(x, to > size ? to - size : 0, to);
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
    *x = (cla_exchange){ .count = 0 };
}

/* The part of a parameter that lies in a bucket: numbers of the block. */
typedef struct piece {
    cla_tensor *tensor;
    int64_t first; // of the parameter
    int64_t from, to;
} piece;

/* Finds the part of the next parameter from *i on; false past the last. */
static bool next_piece(const cla_exchange *x, const cla_bucket *b, size_t *i, piece *p)
{
    for (; *i < x->params->count; ++*i) {
        const cla_param *param = &x->params->list[*i];
        const int64_t first = (int64_t)(param->offset / sizeof(float));
        const int64_t end = first + cla_size(param->tensor);
        *p = (piece){ param->tensor, first, first > b->from ? first : b->from,
                      end < b->to ? end : b->to };
        if (p->from < p->to) {
            ++*i;
            return true;
        }
    }
    return false;
}

/* ---- the backward pass ------------------------------------------------------- */

/* Says that the gradients of a bucket are complete; those that no loss reached are 0. */
static cla_status close_bucket(cla_exchange *x, cla_bucket *b)
{
    piece p;
    for (size_t i = 0; next_piece(x, b, &i, &p);) {
        CLA_TRY(p.tensor->grad_filled ? CLA_OK : cla_tensor_fill(p.tensor->grad, 0));
        p.tensor->grad_filled = true;
    }
    b->stage = CLA_BUCKET_COMPUTED;
    return cla_aside_launches(x->aside, &x->params->gradients, &b->end);
}

/* Returns the number of steps of the tape that do not write the gradients of b. */
static size_t steps_before(const cla_exchange *x, const cla_bucket *b,
                           const cla_tape *tape)
{
    size_t least = SIZE_MAX;
    piece p;
    for (size_t i = 0; next_piece(x, b, &i, &p);) {
        const size_t first = cla_tape_first_use(tape, p.tensor);
        least = first < least ? first : least;
    }
    return least;
}

cla_status cla_exchange_backward(cla_exchange *x, cla_tape *tape)
{
    x->early = 0;
    for (int i = 0; i < x->count - 1; i++) {
        bool done = false;
        CLA_TRY(cla_tape_backward_to(tape, steps_before(x, &x->buckets[i], tape)));
        x->early += cla_tape_mark(tape) > 0;
        CLA_TRY(close_bucket(x, &x->buckets[i]));
        CLA_TRY(cla_exchange_advance(x, NULL, &done));
    }
    return cla_tape_backward(tape);
}

cla_status cla_exchange_rest(cla_exchange *x)
{
    for (int i = 0; i < x->count - 1; i++) {
        CLA_TRY(x->buckets[i].stage ? CLA_OK : close_bucket(x, &x->buckets[i]));
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
    nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
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
    x->broken = 0;
    return CLA_OK;
}
