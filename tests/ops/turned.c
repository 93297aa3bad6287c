/* turned.c - weights that were turned into panels in their own memory: whatever reads
 * them gets the same numbers, and each is kept once. */
#include <stdlib.h>
#include <string.h>

#include "clattn/arithmetic.h"
#include "clattn/opencl.h"
#include "ops/matmul.h"
#include "ops/not_finite.h"
#include "runtime/internal.h"
#include "support/support.h"

enum { WAYS = 3 }; // all rows, half of them apart from the rest, transposed

typedef struct way {
    bool transposed;
    int64_t first;
} way;

static way way_of(int i, const int64_t *shape)
{
    return (way){ i == 2, i == 2 ? shape[1] : i == 1 ? (shape[0] + 1) / 2 : shape[0] };
}

/* Makes a tensor with room for each way. */
static cla_tensor *make(cla_runtime *rt, int rank, const int64_t *shape, const float *x)
{
    cla_tensor *t = NULL;
    int64_t room = 0;
    TEST_OK(cla_tensor_new(&t, rt, CLA_F32, rank, shape));
    for (int i = 0; rank == 2 && i < WAYS; i++) {
        const way w = way_of(i, shape);
        const int64_t size = cla_turned_size(rt, shape, false, w.transposed, w.first);
        room = size > room ? size : room;
    }
    if (room > cla_size(t)) {
        cla_memory whole;
        const size_t own = t->memory.bytes;
        cla_memory_free(&t->memory, rt);
        TEST_OK(cla_memory_new(&whole, rt, (size_t)room * 4));
        t->memory = whole;
        t->memory.bytes = own;
        cla_tensor_may_turn(t, &whole, NULL);
    }
    TEST_OK(cla_tensor_upload(t, x));
    return t;
}

/* ---- every operator ------------------------------------------------------------- */

typedef struct bed {
    cla_runtime *rt;
    kind_case c;
    float *x[CLA_OPERANDS], *dy;
    int rank, x_rank[CLA_OPERANDS];
    int64_t shape[4], x_shape[CLA_OPERANDS][4];
    int turns;
} bed;

typedef struct bytes {
    char *data;
    size_t size, cap;
} bytes;

/* Appends the numbers of a tensor. */
static void add(bytes *out, const cla_tensor *t)
{
    const size_t more = t ? (size_t)cla_size(t) * 4 : 0;
    TEST_OK(cla_grow(&out->data, &out->cap, out->size + more + 1, 1));
    TEST_OK(more ? cla_tensor_download(t, out->data + out->size) : CLA_OK);
    out->size += more;
}

/* Runs the call with input n turned (-1: none); gives the result, and of training the
 * gradients, then the inputs, as bytes. */
static void run(bed *t, bool training, int n, int turn, bytes *out)
{
    cla_tape *tape = test_tape(t->rt, training);
    cla_tensor *x[CLA_OPERANDS] = { NULL }, *y = NULL;
    for (int i = 0; i < t->c.inputs; i++) {
        x[i] = make(t->rt, t->x_rank[i], t->x_shape[i], t->x[i]);
        cla_tensor_want_grad(x[i], training);
    }
    if (n >= 0) {
        const way w = way_of(turn, t->x_shape[n]);
        TEST_OK(cla_turn(t->rt, x[n], w.transposed, w.first));
        t->turns += x[n]->turned.order.other;
    }
    TEST_OK(kind_case_device(tape, &y, x, &t->c));
    if (training) {
        cla_tensor *dy = test_tensor(tape, CLA_F32, t->rank, t->shape, t->dy);
        TEST_OK(cla_tape_seed(tape, y, dy));
        TEST_OK(cla_tape_backward(tape));
    }
    add(out, y);
    for (int i = 0; i < t->c.inputs; i++) {
        add(out, cla_tensor_grad(x[i]));
        add(out, x[i]);
    }
    TEST_OK(cla_memory_check_guards(t->rt));
    cla_tape_free(&tape);
    for (int i = 0; i < t->c.inputs; i++) {
        cla_tensor_free(&x[i]);
    }
}

static void compare(bed *t, bool training)
{
    bytes want = { 0 }, got = { 0 };
    run(t, training, -1, 0, &want);
    for (int n = 0; n < t->c.inputs; n++) {
        for (int i = 0; t->x_rank[n] == 2 && i < WAYS; i++) {
            got.size = 0;
            run(t, training, n, i, &got);
            cr_assert(got.size == want.size && !memcmp(got.data, want.data, got.size),
                      "%s %s, %s: other numbers with %s turned (way %d)",
                      t->c.lines->op, t->c.text, training ? "training" : "inference",
                      t->c.operand[t->c.input[n]].name, i);
        }
    }
    free(want.data);
    free(got.data);
}

static int check_call(cla_runtime *rt, const small_call *call)
{
    bed t = { .rt = rt };
    TEST_OK(kind_case_open(&t.c, rt, &call->lines, call->text));
    t.rank = kind_case_result(&t.c, t.shape);
    t.dy = test_random(op_size(t.rank, t.shape), 1, 100);
    for (int n = 0; n < t.c.inputs; n++) {
        t.x_rank[n] = cla_operand_shape(&t.c.operand[t.c.input[n]], &t.c.call.sizes,
                                        t.x_shape[n]);
        t.x[n] = test_random(op_size(t.x_rank[n], t.x_shape[n]), 1, (uint32_t)n + 1);
    }
    compare(&t, false);
    compare(&t, true);
    for (int n = 0; n < t.c.inputs; n++) {
        free(t.x[n]);
    }
    free(t.dy);
    kind_case_close(&t.c);
    return t.turns;
}

Test(turned, every_kind_reads_turned_inputs)
{
    cla_runtime *rt = test_runtime();
    const op_kind *kind = NULL;
    int turns = 0;
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_TILE);
    for (size_t i = 0; (kind = op_kind_at(i)) != NULL; i++) {
        bool seen = false;
        for (const small_call *call = small_calls; call->text && !seen; call++) {
            seen = strcmp(call->lines.op, op_kind_name(kind)) == 0;
            turns += seen && test_takes(i, false) ? check_call(rt, call) : 0;
        }
        cr_assert(seen, "%s: no call", op_kind_name(kind));
    }
    cr_assert_gt(turns, 0);
    cla_runtime_free(&rt);
}

/* ---- one layer ------------------------------------------------------------------ */

enum { ROWS = 20, IN = 64, OUT = 96, SIZE = IN * OUT, BYTES = SIZE * 4 };

typedef struct layer {
    cla_runtime *rt;
    cla_tape *tape;
    cla_tensor *x, *w;
    float plain[SIZE], first[ROWS * OUT], y[ROWS * OUT];
} layer;

static void multiply(layer *l, float *y)
{
    cla_tensor *out = NULL;
    cla_tape_reset(l->tape);
    TEST_OK(cla_linear(l->tape, &out, l->x, l->w, NULL, CLA_NONE, NULL));
    TEST_OK(cla_tensor_download(out, y));
}

/* Makes a layer whose panels need no more room than its weights. */
static layer *open_layer(void)
{
    layer *l = calloc(1, sizeof *l);
    float *x = test_random((int64_t)ROWS * IN, 1, 1), *w = test_random(SIZE, 1, 2);
    l->rt = test_runtime();
    cla_runtime_set_schedule(l->rt, CLA_SCHEDULE_TILE);
    TEST_OK(cla_tape_new(&l->tape, l->rt, false));
    TEST_OK(cla_tensor_new(&l->x, l->rt, CLA_F32, 2, (int64_t[]){ ROWS, IN }));
    TEST_OK(cla_tensor_new(&l->w, l->rt, CLA_F32, 2, (int64_t[]){ IN, OUT }));
    TEST_OK(cla_tensor_upload(l->x, x));
    TEST_OK(cla_tensor_upload(l->w, w));
    memcpy(l->plain, w, BYTES);
    multiply(l, l->first);
    free(x);
    free(w);
    return l;
}

static void close_layer(layer *l)
{
    TEST_OK(cla_memory_check_guards(l->rt));
    cla_tape_free(&l->tape);
    cla_tensor_free(&l->x);
    cla_tensor_free(&l->w);
    cla_runtime_free(&l->rt);
    free(l);
}

static void check_same(layer *l)
{
    multiply(l, l->y);
    cr_assert(!memcmp(l->y, l->first, sizeof l->y));
}

static void check_elements(const layer *l)
{
    float host[SIZE];
    TEST_OK(cla_tensor_download(l->w, host));
    cr_assert(!memcmp(host, l->plain, BYTES));
}

/* The second product turns the weights; no more memory is then in use. Reading brings
 * the elements back. After the second time panels lie beside the weights. */
Test(turned, inference_keeps_weights_once)
{
    layer *l = open_layer();
    const uint64_t before = l->rt->in_use_bytes;
    cr_assert(!l->w->turned.order.other, "turned for one small product");
    for (int i = 0; i < 2; i++) {
        check_same(l);
        check_same(l);
        cr_assert(l->w->turned.order.other);
        cr_assert_eq(l->rt->in_use_bytes, before);
        check_elements(l);
        cr_assert(!l->w->turned.order.other);
        cr_assert_eq(l->rt->in_use_bytes, before);
    }
    check_same(l);
    check_elements(l);
    cr_assert(l->w->form[0].memory.mem && !l->w->turned.order.other, "turned again");
    check_same(l);
    close_layer(l);
}

/* What writes some elements, or all of them, changes these and no others. */
Test(turned, writers_change_what_they_write)
{
    layer *l = open_layer();
    const float some[] = { 1, 2, 3 };
    check_same(l);
    cr_assert(l->w->turned.order.other);
    TEST_OK(cla_tensor_write(l->w, 70, 3, some));
    memcpy(l->plain + 70, some, sizeof some);
    check_elements(l);
    multiply(l, l->first);
    check_same(l);
    cr_assert(l->w->turned.order.other);
    TEST_OK(cla_tensor_fill(l->w, 2));
    for (int i = 0; i < SIZE; i++) {
        l->plain[i] = 2;
    }
    check_elements(l);
    multiply(l, l->first);
    check_same(l);
    close_layer(l);
}

/* Kernels of the other schedule, applications, and backward passes of other tapes want
 * the elements. */
Test(turned, others_find_the_elements)
{
    layer *l = open_layer();
    check_same(l);
    cr_assert(l->w->turned.order.other);
    cla_runtime_set_schedule(l->rt, CLA_SCHEDULE_GROUP);
    multiply(l, l->y);
    cr_assert(!l->w->turned.order.other);
    check_elements(l);
    cla_runtime_set_schedule(l->rt, CLA_SCHEDULE_TILE);
    check_same(l);
    cr_assert(l->w->turned.order.other);
    cla_tensor *view = NULL, *out = NULL;
    TEST_OK(cla_tensor_reshape(l->tape, &view, l->w, 1, (int64_t[]){ SIZE }));
    TEST_OK(cla_scale_by(l->tape, &out, view, 1));
    TEST_OK(cla_tensor_download(out, l->plain));
    cr_assert_not_null(cla_tensor_buffer(view));
    check_elements(l);
    check_same(l);
    check_same(l);
    cr_assert(!l->w->turned.order.other, "turned, though an application has it");
    close_layer(l);
}

/* A product of weights with themselves reads them in both orders. */
Test(turned, weights_on_both_sides)
{
    cla_runtime *rt = test_runtime();
    cla_tape *tape = NULL;
    cla_tensor *w = NULL;
    float *x = test_random((int64_t)IN * IN, 1, 1), y[2][IN * IN];
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_TILE);
    TEST_OK(cla_tape_new(&tape, rt, false));
    for (int i = 0; i < 3; i++) {
        cla_tensor *out = NULL;
        TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, (int64_t[]){ IN, IN }));
        TEST_OK(cla_tensor_upload(w, x));
        TEST_OK(i ? cla_turn(rt, w, i == 2, IN) : CLA_OK);
        cr_assert_eq(w->turned.order.other, i > 0);
        TEST_OK(cla_linear(tape, &out, w, w, NULL, CLA_NONE, w));
        TEST_OK(cla_tensor_download(out, y[i > 0]));
        cr_assert(!memcmp(y[0], y[i > 0], sizeof y[0]));
        cla_tensor_free(&w);
    }
    cla_tape_free(&tape);
    cla_runtime_free(&rt);
    free(x);
}

/* Without memory to turn them, weights stay as they are; without memory to turn them
 * back, reading fails, and succeeds when there is memory again. */
Test(turned, refused_memory_loses_nothing)
{
    layer *l = open_layer();
    const uint64_t all = l->rt->device.memory_bytes;
    l->rt->device.memory_bytes = l->rt->in_use_bytes + BYTES / 2;
    check_same(l);
    cr_assert(!l->w->turned.order.other);
    l->rt->device.memory_bytes = all;
    check_same(l);
    cr_assert(l->w->turned.order.other);
    l->rt->device.memory_bytes = l->rt->in_use_bytes + BYTES / 2;
    float host[SIZE];
    TEST_FAILS(cla_tensor_download(l->w, host), CLA_E_NOMEM, "device memory");
    check_same(l);
    l->rt->device.memory_bytes = all;
    check_elements(l);
    check_same(l);
    close_layer(l);
}
