/* exchange.c - sums of gradients over processes: bits, order, overlap, what is told.
 * The processes of these tests take turns in one. */
#include "train/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "support/support.h"
#include "tensor/tensor.h"

enum { RANKS = 3, WIDE = 8, ROWS = 4, LAYERS = 4, CALLS = 1 << 12 };

/* ---- processes in one -------------------------------------------------------- */

/* What the processes gave to the call of a number. */
typedef struct call {
    const float *from[RANKS];
    int64_t n;
    int posted;
} call;

struct cla_request {
    int rank;
    call *of;
    float *to;
    bool dealt;
};

static call dealt[CALLS], gathered[CALLS];
static int dealt_by[RANKS], gathered_by[RANKS];
static int now; // rank of the process whose turn it is

/* Process 0 has its turn first. */
static cla_status follow(void *data, size_t bytes)
{
    static char told[1 << 12];
    cr_assert_leq(bytes, sizeof told);
    memcpy(now ? data : told, now ? told : data, bytes);
    return CLA_OK;
}

static cla_status post(cla_request **request, call *c, const float *from, float *to,
                       int64_t n)
{
    cr_assert(!c->posted || c->n == n, "processes begin calls in different orders");
    c->n = n;
    c->from[now] = from;
    c->posted++;
    TEST_OK(cla_alloc(request, 1, sizeof **request));
    **request = (cla_request){ now, c, to, c < dealt + CALLS && c >= dealt };
    return CLA_OK;
}

static cla_status deal(cla_request **request, const float *numbers, float *parts,
                       int64_t n)
{
    return post(request, &dealt[dealt_by[now]++], numbers, parts, n);
}

static cla_status gather(cla_request **request, float *numbers, int64_t n)
{
    return post(request, &gathered[gathered_by[now]++], numbers, numbers, n);
}

static cla_status ended(cla_request **request)
{
    const cla_request *r = *request;
    if (r->of->posted < RANKS) {
        return CLA_OK;
    }
    for (int i = 0; i < RANKS; i++) {
        const float *from = r->of->from[i] + (r->dealt ? r->rank : i) * r->of->n;
        if (r->dealt || i != r->rank) {
            memcpy(r->to + i * r->of->n, from, (size_t)r->of->n * sizeof *from);
        }
    }
    free(*request);
    *request = NULL;
    return CLA_OK;
}

/* ---- a model for each -------------------------------------------------------- */

typedef struct process {
    cla_params params;
    cla_tensor *w[LAYERS], *unused, *x;
    cla_tape *tape;
    cla_exchange exchange;
    cla_told told;
    bool done;
} process;

static void begin(process *p, cla_runtime *rt, int rank, int64_t numbers)
{
    const int64_t shape[] = { ROWS, WIDE }, odd = 5;
    *p = (process){ .told = { (float)rank + 1, rank == 1, 0 } };
    for (int i = 0; i < LAYERS; i++) {
        TEST_OK(cla_param_matrix(&p->params, &p->w[i], WIDE, WIDE, "w%d", i));
    }
    TEST_OK(cla_param_zeros(&p->params, &p->unused, odd, "unused"));
    TEST_OK(cla_params_build(&p->params, rt, 7));
    TEST_OK(cla_params_train(&p->params));
    TEST_OK(cla_tape_new(&p->tape, rt, true));
    TEST_OK(cla_tensor_new(&p->x, rt, CLA_F32, 2, shape));
    float *x = test_random(ROWS * WIDE, 1, (uint32_t)rank);
    TEST_OK(cla_tensor_upload(p->x, x));
    free(x);
    const cla_parallel parallel = { .rank = rank,
                                    .size = RANKS,
                                    .follow = follow,
                                    .deal = deal,
                                    .gather = gather,
                                    .ended = ended };
    TEST_OK(cla_exchange_init(&p->exchange, &p->params, &parallel, numbers));
}

static void end(process *p)
{
    cla_exchange_fini(&p->exchange);
    cla_tape_free(&p->tape);
    cla_tensor_free(&p->x);
    cla_params_free(&p->params);
}

/* The last layer shares the weights of the first. */
static void forward(process *p)
{
    cla_tensor *y = p->x;
    cla_params_clear_gradients(&p->params);
    cla_tape_reset(p->tape);
    for (int i = 0; i <= LAYERS; i++) {
        TEST_OK(cla_linear(p->tape, &y, y, p->w[i % LAYERS], NULL, CLA_TANH, NULL));
    }
    TEST_OK(cla_tape_seed(p->tape, y, NULL));
}

static float *gradients_of(const process *p, int64_t *n)
{
    const cla_memory *block = &p->params.gradients;
    *n = (int64_t)(block->bytes / sizeof(float));
    float *numbers = malloc(block->bytes);
    TEST_OK(cla_memory_read(p->params.rt, block, 0, numbers, block->bytes));
    return numbers;
}

/* Lets the processes go on in a random order until all sums have ended. */
static void take_turns(process *p, uint32_t seed)
{
    for (int left = RANKS; left;) {
        seed = seed * 1664525u + 1013904223u;
        now = (int)((seed >> 16) % RANKS);
        if (!p[now].done) {
            cla_exchange *x = &p[now].exchange;
            TEST_OK(cla_exchange_advance(x, &p[now].told, &p[now].done));
            left -= p[now].done;
        }
    }
    for (now = 0; now < RANKS; now++) {
        TEST_OK(cla_exchange_finish(&p[now].exchange, &p[now].told));
        p[now].done = false;
    }
}

static void step(process *p, uint32_t seed)
{
    for (now = 0; now < RANKS; now++) {
        forward(&p[now]);
        TEST_OK(cla_exchange_watch(&p[now].exchange, p[now].tape));
        TEST_OK(cla_tape_backward(p[now].tape));
        TEST_OK(cla_exchange_rest(&p[now].exchange, p[now].tape));
    }
    take_turns(p, seed);
}

/* The sums of gradients that each process computed by itself, in the order of ranks. */
static float *plain_sums(process *p, int64_t *n)
{
    float *sums = NULL;
    for (int rank = 0; rank < RANKS; rank++) {
        forward(&p[rank]);
        TEST_OK(cla_tape_backward(p[rank].tape));
        TEST_OK(cla_params_fill_gradients(&p[rank].params));
        float *mine = gradients_of(&p[rank], n);
        for (int64_t i = 0; sums && i < *n; i++) {
            sums[i] += mine[i];
        }
        if (sums) {
            free(mine);
        } else {
            sums = mine;
        }
    }
    return sums;
}

static cla_runtime *open_all(process *p, int64_t numbers)
{
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false); // parameters are parts of a block
    memset(dealt, 0, sizeof dealt);
    memset(gathered, 0, sizeof gathered);
    memset(dealt_by, 0, sizeof dealt_by);
    memset(gathered_by, 0, sizeof gathered_by);
    for (int rank = 0; rank < RANKS; rank++) {
        begin(&p[rank], rt, rank, numbers);
    }
    return rt;
}

static void close_all(process *p, cla_runtime *rt)
{
    for (int rank = 0; rank < RANKS; rank++) {
        end(&p[rank]);
    }
    cla_runtime_free(&rt);
}

/* ---- tests ------------------------------------------------------------------- */

/* The bits are those of plain sums, for each cut of the block, in each step, whatever
 * process is late, and the same everywhere. */
Test(exchange, sums_do_not_depend_on_cuts_or_time)
{
    static const int64_t cuts[] = { 0, 1 << 20, 64, 50, 7 };
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        process p[RANKS];
        cla_runtime *rt = open_all(p, cuts[c]);
        int64_t n = 0;
        float *want = plain_sums(p, &n);
        for (uint32_t again = 0; again < 2; again++) {
            step(p, test_seed() + again);
            for (int rank = 0; rank < RANKS; rank++) {
                float *got = gradients_of(&p[rank], &n);
                cr_assert_arr_eq(got, want, (size_t)n * sizeof *got,
                                 "cut %lld, process %d", (long long)cuts[c], rank);
                free(got);
            }
        }
        free(want);
        close_all(p, rt);
    }
}

/* The weights in the middle are complete before those that the first and the last
 * layer share; these wait for the end. */
Test(exchange, begins_before_the_backward_pass_ends)
{
    process p[RANKS];
    cla_runtime *rt = open_all(p, WIDE * WIDE);
    step(p, test_seed());
    const int buckets = p[0].exchange.count - 1; // one of them is told
    cr_assert_geq(p[0].exchange.early, LAYERS - 1);
    cr_assert_lt(p[0].exchange.early, buckets);
    forward(&p[0]);
    cr_assert_eq(cla_tape_first_use(p[0].tape, p[0].w[0]), 0);
    for (size_t i = 1; i < LAYERS; i++) {
        cr_assert_eq(cla_tape_first_use(p[0].tape, p[0].w[i]), i);
    }
    cr_assert_eq(cla_tape_first_use(p[0].tape, p[0].unused), SIZE_MAX);
    close_all(p, rt);
}

/* A process without examples in the first step takes the order of process 0, and adds
 * zeros. */
Test(exchange, a_process_may_have_no_examples)
{
    process p[RANKS];
    cla_runtime *rt = open_all(p, 64);
    int64_t n = 0;
    float *want = plain_sums(p, &n), *other = gradients_of(&p[2], &n);
    for (now = 0; now < RANKS; now++) {
        cla_params_clear_gradients(&p[now].params);
        cla_tape_reset(p[now].tape);
        if (now < 2) {
            forward(&p[now]);
            TEST_OK(cla_exchange_watch(&p[now].exchange, p[now].tape));
            TEST_OK(cla_tape_backward(p[now].tape));
        }
        TEST_OK(cla_exchange_rest(&p[now].exchange, p[now].tape));
    }
    take_turns(p, test_seed());
    for (int rank = 0; rank < RANKS; rank++) {
        float *got = gradients_of(&p[rank], &n);
        for (int64_t i = 0; i < n; i++) {
            cr_assert_float_eq(got[i], want[i] - other[i], 1e-3);
        }
        free(got);
    }
    free(want);
    free(other);
    close_all(p, rt);
}

/* Losses and wishes to stop are summed, and a number that is not finite is told to all:
 * in that step alone. */
Test(exchange, tells_all_of_loss_stop_and_numbers)
{
    process p[RANKS];
    cla_runtime *rt = open_all(p, 50);
    const float bad[] = { NAN, INFINITY };
    float *x = test_random(ROWS * WIDE, 1, 1), good = x[0];
    for (int i = 0; i < 3; i++) {
        x[0] = i < 2 ? bad[i] : good;
        TEST_OK(cla_tensor_upload(p[1].x, x));
        for (int rank = 0; rank < RANKS; rank++) {
            p[rank].told = (cla_told){ (float)rank + 1, rank == 1, 0 };
        }
        step(p, test_seed());
        for (int rank = 0; rank < RANKS; rank++) {
            cr_assert_eq(p[rank].told.loss, 6);
            cr_assert_eq(p[rank].told.stop, 1);
            cr_assert_eq(p[rank].told.broken > 0, i < 2, "step %d", i);
        }
    }
    free(x);
    close_all(p, rt);
}

/* A process that fails leaves sums that others still work at: their memory stays. */
Test(exchange, a_failure_leaves_sums_behind)
{
    process p[RANKS];
    cla_runtime *rt = open_all(p, 64);
    bool done = false;
    now = 0;
    forward(&p[0]);
    TEST_OK(cla_exchange_watch(&p[0].exchange, p[0].tape));
    TEST_OK(cla_tape_backward(p[0].tape));
    TEST_OK(cla_exchange_rest(&p[0].exchange, p[0].tape));
    while (!p[0].exchange.buckets[0].request) {
        TEST_OK(cla_exchange_advance(&p[0].exchange, &p[0].told, &done));
    }
    const float *host = p[0].exchange.host + p[0].exchange.buckets[0].at;
    const float before = *host;
    cla_request *left = p[0].exchange.buckets[0].request;
    close_all(p, rt);
    cr_assert_eq(*host, before);
    free(left);
}
