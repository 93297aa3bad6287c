/* block.c - blocks of a tape give the gradients that the same steps give without them;
 * held in 16 bits, they are near; and less memory is in use. */
#include "tensor/block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/block.h"
#include "support/support.h"

enum {
    N = 37,
    H = 2,
    W = 8,
    D = H * W,
    INNER = 3 * D,
    LAYERS = 3,
    MORE = 9,
    PARAMETERS = 7
};

static const int64_t shapes[PARAMETERS][2] = { { D, 3 * D }, { D, D },     { D, INNER },
                                               { INNER, D }, { 1, INNER }, { 1, D },
                                               { 1, D } };

typedef struct net {
    int layers;
    cla_runtime *rt;
    cla_tape *tape;
    cla_ragged *rows;
    cla_tensor *x, *p[PARAMETERS];
} net;

static void net_init(net *n, cla_schedule schedule, cla_precision precision)
{
    static const int32_t offsets[] = { 0, 20, 20, N };
    n->layers = LAYERS;
    n->rt = test_runtime_at("none", precision);
    cla_runtime_set_schedule(n->rt, schedule);
    TEST_OK(cla_tape_new(&n->tape, n->rt, true));
    TEST_OK(cla_ragged_new(&n->rows, n->rt, 3, offsets));
    TEST_OK(cla_tensor_new(&n->x, n->rt, CLA_F32, 2, (int64_t[]){ N, D }));
    for (int i = 0; i < PARAMETERS; i++) {
        const int64_t *shape = shapes[i], size = shape[0] * shape[1];
        const int vector = shape[0] == 1;
        float *numbers = test_random(size, 0.3f, (uint32_t)i);
        TEST_OK(cla_tensor_new(&n->p[i], n->rt, CLA_F32, 2 - vector, shape + vector));
        TEST_OK(cla_tensor_upload(n->p[i], numbers));
        cla_tensor_want_grad(n->p[i], true);
        free(numbers);
    }
    float *numbers = test_random((int64_t)N * D, 1, 99);
    TEST_OK(cla_tensor_upload(n->x, numbers));
    cla_tensor_want_grad(n->x, true);
    free(numbers);
}

static void net_fini(net *n)
{
    cla_tensor_free(&n->x);
    for (int i = 0; i < PARAMETERS; i++) {
        cla_tensor_free(&n->p[i]);
    }
    cla_tape_free(&n->tape);
    cla_ragged_free(&n->rows);
    cla_runtime_free(&n->rt);
}

/* Attention of columns of one product, and its sum with x. */
static cla_status attend(net *n, cla_tensor **x)
{
    cla_tensor *qkv = NULL, *part[3], *o = NULL, *flat = NULL, *y = NULL;
    CLA_TRY(cla_linear(n->tape, &qkv, *x, n->p[0], NULL, CLA_NONE, NULL));
    for (int i = 0; i < 3; i++) {
        CLA_TRY(cla_tensor_columns(n->tape, &part[i], qkv, (int64_t)i * D, H, W));
    }
    CLA_TRY(
        cla_attention(n->tape, &o, part[0], part[1], part[2], n->rows, n->rows, NULL));
    CLA_TRY(cla_tensor_reshape(n->tape, &flat, o, 2, (int64_t[]){ N, D }));
    CLA_TRY(cla_linear(n->tape, &y, flat, n->p[1], NULL, CLA_NONE, NULL));
    CLA_TRY(cla_dropout_add(n->tape, x, *x, y, 0.2f, false));
    return cla_layer_norm(n->tape, x, *x, n->p[5], n->p[6], 1e-6f);
}

static cla_status feed(net *n, cla_tensor **x)
{
    cla_tensor *u = NULL;
    CLA_TRY(cla_linear(n->tape, &u, *x, n->p[2], n->p[4], CLA_GELU, NULL));
    return cla_linear(n->tape, x, u, n->p[3], NULL, CLA_NONE, *x);
}

/* How blocks are held. */
typedef enum holding { AS_IT_IS, PACKED, KEPT } holding;

/* Copies of floats beside the 16 bits, so that blocks lose nothing. */
typedef struct copy {
    const void *of;
    cla_memory floats;
} copy;
static copy copies[64];
static int copy_count;

static cla_status keep_floats(cla_runtime *rt, const cla_memory *to,
                              const cla_memory *from, int64_t n, bool back)
{
    const size_t bytes = (size_t)n * sizeof(float);
    copy *c = &copies[copy_count];
    for (int i = 0; back && i < copy_count; i++) {
        c = copies[i].of == from->mem ? &copies[i] : c;
    }
    if (back) {
        cr_assert(c != &copies[copy_count], "this was never packed");
        return cla_memory_copy(rt, to, 0, &c->floats, 0, bytes);
    }
    cr_assert_lt(copy_count, 64);
    c->of = to->mem;
    CLA_TRY(cla_memory_new(&c->floats, rt, bytes));
    copy_count++;
    return cla_memory_copy(rt, &c->floats, 0, from, 0, bytes);
}

static cla_status begin(net *n, holding how)
{
    return how == KEPT     ? cla_tape_begin_block(n->tape)
           : how == PACKED ? cla_block_begin(n->tape)
                           : CLA_OK;
}

static cla_status end(net *n, holding how, cla_tensor *x)
{
    return how == KEPT     ? cla_tape_end_block(n->tape, x, keep_floats)
           : how == PACKED ? cla_block_end(n->tape, x)
                           : CLA_OK;
}

/* Trains once; returns the result, and the gradients of x and all parameters. */
static float *run(net *n, holding how, int64_t *size)
{
    cla_tensor *x = n->x;
    for (int i = 0; i < n->layers; i++) {
        TEST_OK(begin(n, how));
        TEST_OK(attend(n, &x));
        TEST_OK(end(n, how, x));
        TEST_OK(begin(n, how));
        TEST_OK(feed(n, &x));
        TEST_OK(end(n, how, x));
    }
    *size = 2 * N * D;
    for (int i = 0; i < PARAMETERS; i++) {
        *size += shapes[i][0] * shapes[i][1];
    }
    float *all = malloc((size_t)*size * sizeof *all), *at = all;
    TEST_OK(cla_tensor_download(x, at));
    at += N * D;
    TEST_OK(cla_tape_seed(n->tape, x, NULL));
    TEST_OK(cla_tape_backward(n->tape));
    TEST_OK(cla_tensor_download(n->x->grad, at));
    at += N * D;
    for (int i = 0; i < PARAMETERS; i++) {
        TEST_OK(cla_tensor_download(n->p[i]->grad, at));
        at += cla_tensor_size(n->p[i]);
    }
    return all;
}

static float *run_new(cla_schedule schedule, cla_precision precision, holding how,
                      int64_t *size)
{
    net n;
    copy_count = 0;
    net_init(&n, schedule, precision);
    float *all = run(&n, how, size);
    for (int i = 0; i < copy_count; i++) {
        cla_memory_free(&copies[i].floats, n.rt);
    }
    net_fini(&n);
    return all;
}

static void check_kept(cla_schedule schedule)
{
    int64_t size = 0;
    float *want = run_new(schedule, CLA_PRECISION_HIGHEST, AS_IT_IS, &size);
    float *got = run_new(schedule, CLA_PRECISION_HIGHEST, KEPT, &size);
    cr_assert(!memcmp(want, got, (size_t)size * sizeof *got), "schedule %d: other bits",
              (int)schedule);
    free(want);
    free(got);
}

/* Nothing is read after it was moved: with floats instead of 16 bits, gradients have
 * the same bits. */
Test(block, moves_all_that_is_read)
{
    check_kept(CLA_SCHEDULE_TILE);
    check_kept(CLA_SCHEDULE_GROUP);
}

/* Packing rounds what medium's products round anyway, and the inputs of norms: each
 * number by at most 2^-9 of itself. */
static void check_packed(cla_schedule schedule)
{
    int64_t size = 0;
    double error = 0, power = 0;
    float *want = run_new(schedule, CLA_PRECISION_MEDIUM, AS_IT_IS, &size);
    float *got = run_new(schedule, CLA_PRECISION_MEDIUM, PACKED, &size);
    const size_t result = (size_t)N * D;
    cr_assert(!memcmp(want, got, result * sizeof *got), "the result depends on blocks");
    for (int64_t i = N * D; i < size; i++) {
        error += pow((double)got[i] - (double)want[i], 2);
        power += pow((double)want[i], 2);
    }
    cr_assert(error > 0 && sqrt(error / power) < 2 * LAYERS * ldexp(1, -9), "%g",
              sqrt(error / power));
    free(want);
    free(got);
}

Test(block, holds_16_bits)
{
    check_packed(CLA_SCHEDULE_TILE);
    check_packed(CLA_SCHEDULE_GROUP);
}

/* Returns the most memory of a step. */
static size_t memory_of(holding how, int layers)
{
    net n;
    int64_t size = 0;
    net_init(&n, CLA_SCHEDULE_TILE, CLA_PRECISION_MEDIUM);
    n.layers = layers;
    free(run(&n, how, &size));
    const size_t peak = cla_runtime_peak_bytes(n.rt);
    net_fini(&n);
    return peak;
}

/* Layers share their parameters here, so that a further one costs activations and their
 * gradients alone. */
Test(block, memory_falls)
{
    size_t layer[PACKED + 1];
    for (holding how = AS_IT_IS; how <= PACKED; how++) {
        layer[how] = memory_of(how, MORE) - memory_of(how, LAYERS);
    }
    cr_assert(layer[PACKED] < layer[AS_IT_IS] * 55 / 100, "%zu of %zu bytes",
              layer[PACKED], layer[AS_IT_IS]);
}

/* A reset within a block forgets it; the next step is as if there had been none. */
Test(block, reset_within)
{
    net n;
    int64_t size = 0;
    net_init(&n, CLA_SCHEDULE_TILE, CLA_PRECISION_MEDIUM);
    cla_tensor *x = n.x;
    TEST_OK(cla_block_begin(n.tape));
    TEST_OK(attend(&n, &x));
    cla_tape_reset(n.tape);
    float *got = run(&n, PACKED, &size);
    float *want = run_new(CLA_SCHEDULE_TILE, CLA_PRECISION_MEDIUM, PACKED, &size);
    cr_assert(!memcmp(want, got, (size_t)size * sizeof *got), "other bits");
    free(want);
    free(got);
    net_fini(&n);
}
