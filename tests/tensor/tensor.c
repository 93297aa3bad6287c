/* tensor.c - shapes, transfers, ragged batches, and their errors. */
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/support.h"

DEVICE_TEST(tensor, round_trip)
{
    cla_tensor *t = NULL;
    float *x = test_random(2 * 3 * 5 * 7, 1, 1), *y = malloc(2 * 3 * 5 * 7 * 4);
    TEST_OK(cla_tensor_new(&t, rt, CLA_F32, 4, (int64_t[]){ 2, 3, 5, 7 }));
    cr_assert_eq(cla_tensor_size(t), 210);
    cr_assert_eq(cla_tensor_dim(t, 2), 5);
    cr_assert_eq(cla_tensor_dim(t, 4), 1);
    TEST_OK(cla_tensor_upload(t, x));
    TEST_OK(cla_tensor_download(t, y));
    cr_assert_eq(memcmp(x, y, 210 * 4), 0);
    TEST_OK(cla_tensor_fill(t, -2.5f));
    TEST_OK(cla_tensor_download(t, y));
    cr_assert(y[0] == -2.5f && y[209] == -2.5f);
    cla_tensor_free(&t);
    cr_assert_null(t);
    cla_tensor_free(&t); // freeing nothing is fine
    TEST_OK(cla_tensor_new(&t, rt, CLA_I32, 2, (int64_t[]){ 0, 9 }));
    TEST_OK(cla_tensor_download(t, y));
    TEST_FAILS(cla_tensor_fill(t, 0), CLA_E_SHAPE, "must hold f32");
    cla_tensor_free(&t);
    free(x);
    free(y);
}

/* Parts of a tensor are written and read in their place; the rest does not change. */
DEVICE_TEST(tensor, parts)
{
    cla_tensor *t = NULL;
    const float x[6] = { 1, 2, 3, 4, 5, 6 }, part[2] = { 7, 8 };
    const float want[6] = { 1, 2, 3, 7, 8, 6 };
    float y[6] = { 0 };
    TEST_OK(cla_tensor_new(&t, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_write(t, 0, 6, x));
    TEST_OK(cla_tensor_write(t, 3, 2, part));
    TEST_OK(cla_tensor_download(t, y));
    cr_assert_eq(memcmp(y, want, sizeof y), 0);
    memset(y, 0, sizeof y);
    TEST_OK(cla_tensor_read(t, 4, 2, y + 1));
    cr_assert(y[0] == 0 && y[1] == 8 && y[2] == 6 && y[3] == 0);
    TEST_OK(cla_tensor_write(t, 6, 0, NULL)); // no elements, at the end
    TEST_OK(cla_tensor_read(t, 6, 0, NULL));
    TEST_FAILS(cla_tensor_write(t, 0, 7, x), CLA_E_SHAPE,
               "tensor_write: 7 elements from 0 on of [2,3]");
    TEST_FAILS(cla_tensor_read(t, 5, 2, y), CLA_E_SHAPE,
               "tensor_read: 2 elements from 5 on of [2,3]");
    TEST_FAILS(cla_tensor_write(t, -1, 2, x), CLA_E_SHAPE, "2 elements from -1 on");
    TEST_FAILS(cla_tensor_read(t, 0, -1, y), CLA_E_SHAPE, "-1 elements from 0 on");
    TEST_FAILS(cla_tensor_read(t, 1, INT64_MAX, y), CLA_E_SHAPE, "tensor_read");
    TEST_FAILS(cla_tensor_read(t, INT64_MAX, 1, y), CLA_E_SHAPE, "tensor_read");
    TEST_FAILS(cla_tensor_read(t, INT64_MIN, 1, y), CLA_E_SHAPE, "tensor_read");
    cla_tensor_free(&t);
}

/* Returns how many bytes commands of a name moved since profiling began. */
static uint64_t moved(cla_runtime *rt, const char *name)
{
    int count = 0;
    uint64_t bytes = 0;
    const cla_profile_row *rows = cla_profile_rows(rt, &count);
    for (int i = 0; i < count; i++) {
        bytes += strcmp(rows[i].kernel, name) == 0 ? (uint64_t)rows[i].bytes : 0;
    }
    return bytes;
}

/* Writes the attention of each row of x [n,2,8] to the rows around it, and the gradient
 * of its sum, to y [2,n,2,8]. */
static void attend(cla_runtime *rt, cla_tensor *x, int n, float *y)
{
    cla_tape *tape = NULL;
    cla_tensor *o = NULL;
    cla_ragged *rows = test_ragged(rt, 1, &n, NULL);
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(cla_band_attention(tape, &o, x, x, x, rows, 3, NULL));
    TEST_OK(cla_tensor_download(o, y));
    TEST_OK(cla_tape_seed(tape, o, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), y + (ptrdiff_t)n * 16));
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}

/* Numbers that end where memory ends: what reads behind them does not survive. They lie
 * on lines of the cache, or between them, where a CPU gets a copy. */
DEVICE_TEST(tensor, borrows_host_memory)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *wall = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(wall != MAP_FAILED);
    cr_assert_eq(mprotect(wall + 2 * page, page, PROT_NONE), 0);
    cla_memory_guard(rt, false);
    cla_profile_enable(rt, true);
    for (int shift = 0; shift < 2; shift++) {
        const int n = 33, size = n * 16;
        cla_tensor *own = NULL, *lent = NULL;
        float *x = test_random(size, 1, 1), *want = calloc(4 * (size_t)size, 4);
        float *got = want + (ptrdiff_t)2 * size;
        float *host = (float *)(wall + 2 * page) - size - shift;
        memcpy(host, x, (size_t)size * 4);
        TEST_OK(cla_tensor_new(&own, rt, CLA_F32, 3, (int64_t[]){ n, 2, 8 }));
        TEST_OK(cla_tensor_upload(own, x));
        const uint64_t before = moved(rt, "(write)");
        TEST_OK(cla_tensor_borrow(&lent, rt, CLA_F32, 3, (int64_t[]){ n, 2, 8 }, host));
        const bool in_place =
            cla_runtime_device(rt)->kind == CLA_DEVICE_CPU && shift == 0;
        cr_assert_eq(moved(rt, "(write)") - before, in_place ? 0 : (uint64_t)size * 4);
        attend(rt, own, n, want);
        attend(rt, lent, n, got);
        cr_assert_eq(memcmp(want, got, 2 * (size_t)size * 4), 0);
        cr_assert_eq(memcmp(host, x, (size_t)size * 4), 0); // operators only read
        cla_tensor_free(&lent);
        cla_tensor_free(&own);
        free(want);
        free(x);
    }
    munmap(wall, 3 * page);
}

/* A gradient comes into lent memory: in place on a line of the cache, without a copy
 * from the device, else with one. */
DEVICE_TEST(tensor, borrows_memory_of_a_gradient)
{
    enum { N = 33, SIZE = N * 16 };
    cla_memory_guard(rt, false);
    cla_profile_enable(rt, true);
    float *x = test_random(SIZE, 1, 1), *want = calloc(4 * (size_t)SIZE, 4);
    float *got = want + (ptrdiff_t)2 * SIZE;
    float *host = aligned_alloc(64, ((size_t)SIZE + 32) * 4);
    for (int shift = 0; shift < 2; shift++) {
        cla_tensor *own = NULL, *lent = NULL;
        for (int i = 0; i < SIZE + 32; i++) {
            host[i] = 7;
        }
        TEST_OK(cla_tensor_new(&own, rt, CLA_F32, 3, (int64_t[]){ N, 2, 8 }));
        TEST_OK(cla_tensor_new(&lent, rt, CLA_F32, 3, (int64_t[]){ N, 2, 8 }));
        TEST_OK(cla_tensor_upload(own, x));
        TEST_OK(cla_tensor_upload(lent, x));
        TEST_OK(cla_tensor_borrow_grad(lent, host + shift));
        attend(rt, own, N, want);
        attend(rt, lent, N, got);
        cr_assert_eq(memcmp(want, got, 2 * (size_t)SIZE * 4), 0);
        const uint64_t before = moved(rt, "(read)");
        TEST_OK(cla_tensor_download(cla_tensor_grad(lent), host + shift));
        const bool in_place =
            cla_runtime_device(rt)->kind == CLA_DEVICE_CPU && shift == 0;
        cr_assert_eq(moved(rt, "(read)") - before, in_place ? 0 : (uint64_t)SIZE * 4);
        cr_assert_eq(memcmp(want + SIZE, host + shift, (size_t)SIZE * 4), 0);
        cr_assert(host[SIZE + shift] == 7 && (!shift || host[0] == 7));
        if (in_place) {
            TEST_FAILS(cla_tensor_borrow_grad(lent, host), CLA_E_USAGE,
                       "[33,2,8] is a result, or has a gradient already");
        }
        cla_tensor_free(&lent);
        cla_tensor_free(&own);
    }
    free(host);
    free(want);
    free(x);
}

/* With guard bands on, a tensor is a copy between bands. */
DEVICE_TEST(tensor, borrows_a_copy)
{
    _Alignas(64) float x[16] = { 1, 2, 3 };
    float y[16];
    cla_tensor *t = NULL;
    TEST_OK(cla_tensor_borrow(&t, rt, CLA_F32, 1, (int64_t[]){ 16 }, x));
    TEST_OK(cla_runtime_finish(rt));
    x[0] = 5; // allowed here alone: the test knows that there is a copy
    TEST_OK(cla_tensor_download(t, y));
    cr_assert(y[0] == 1 && y[1] == 2 && y[15] == 0);
    cla_tensor_free(&t);
    TEST_OK(cla_tensor_borrow(&t, rt, CLA_I32, 2, (int64_t[]){ 0, 9 }, x));
    cr_assert_eq(cla_tensor_size(t), 0);
    cla_tensor_free(&t);
    TEST_FAILS(cla_tensor_borrow(&t, rt, CLA_F32, 5, (int64_t[]){ 1 }, x), CLA_E_SHAPE,
               "rank 5");
    TEST_FAILS(cla_tensor_borrow(&t, rt, CLA_F32, 1, (int64_t[]){ 1 }, NULL),
               CLA_E_USAGE, "tensor_borrow: host is NULL");
    cr_assert_null(t);
}

/* A copy of a result outlives its tape, and changes of one leave the other alone. */
DEVICE_TEST(tensor, copies_on_the_device)
{
    const float x[6] = { 1, 2, 3, 4, 5, 6 };
    float y[6] = { 0 };
    cla_tensor *t = NULL, *part = NULL, *copy = NULL, *again = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&t, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_upload(t, x));
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(cla_tensor_reshape(tape, &part, t, 1, (int64_t[]){ 6 }));
    TEST_OK(cla_tensor_copy(&copy, part));
    cla_tape_free(&tape);
    TEST_OK(cla_tensor_fill(t, 7));
    TEST_OK(cla_tensor_copy(&again, copy));
    TEST_OK(cla_tensor_fill(copy, 8));
    cr_assert(cla_tensor_rank(again) == 1 && cla_tensor_dim(again, 0) == 6);
    TEST_OK(cla_tensor_download(again, y));
    cr_assert_arr_eq(x, y, sizeof x);
    cla_tensor_free(&again);
    cla_tensor_free(&copy);
    cla_tensor_free(&t);

    TEST_OK(cla_tensor_new(&t, rt, CLA_I32, 2, (int64_t[]){ 0, 3 }));
    TEST_OK(cla_tensor_copy(&copy, t));
    cr_assert(cla_tensor_dtype(copy) == CLA_I32 && !cla_tensor_size(copy));
    cla_tensor_free(&copy);
    cla_tensor_free(&t);
    TEST_OK(cla_tensor_new(&t, rt, CLA_F32, 2, (int64_t[]){ 2, 6 }));
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(cla_tensor_columns(tape, &part, t, 3, 1, 3));
    TEST_FAILS(cla_tensor_copy(&copy, part), CLA_E_SHAPE, "column view");
    cr_assert_null(copy);
    cla_tape_free(&tape);
    cla_tensor_free(&t);
}

DEVICE_TEST(tensor, refuses_impossible_shapes)
{
    cla_tensor *t = NULL;
    TEST_FAILS(cla_tensor_new(&t, rt, CLA_F32, 0, NULL), CLA_E_SHAPE, "rank 0");
    TEST_FAILS(cla_tensor_new(&t, rt, CLA_F32, 5, (int64_t[]){ 1, 1, 1, 1, 1 }),
               CLA_E_SHAPE, "rank 5");
    TEST_FAILS(cla_tensor_new(&t, rt, CLA_F32, 2, (int64_t[]){ 3, -1 }), CLA_E_SHAPE,
               "-1");
    TEST_FAILS(cla_tensor_new(&t, rt, CLA_F32, 2, (int64_t[]){ 65536, 32768 }),
               CLA_E_SHAPE, "[65536,32768] has more than 2147483647 elements");
    /* A product that would wrap to something small. */
    TEST_FAILS(
        cla_tensor_new(&t, rt, CLA_F32, 3, (int64_t[]){ 1ll << 32, 1ll << 32, 16 }),
        CLA_E_SHAPE, "more than");
    cr_assert_null(t);
}

DEVICE_TEST(ragged, describes_a_batch)
{
    const int lengths[] = { 3, 0, 5, 1 };
    cla_ragged *r = test_ragged(rt, 4, lengths, NULL);
    cr_assert_eq(cla_ragged_sequences(r), 4);
    cr_assert_eq(cla_ragged_tokens(r), 9);
    cr_assert_eq(cla_ragged_longest(r), 5);
    int32_t spans[18];
    TEST_OK(cla_memory_read(rt, &r->device_spans, 0, spans, sizeof spans));
    cr_assert(spans[0] == 0 && spans[1] == 3 && spans[6] == 3 && spans[7] == 8);
    cr_assert(spans[16] == 8 && spans[17] == 9);
    cla_ragged_free(&r);
    TEST_OK(cla_ragged_new(&r, rt, 0, (int32_t[]){ 0 }));
    cr_assert_eq(cla_ragged_tokens(r), 0);
    cla_ragged_free(&r);
    TEST_FAILS(cla_ragged_new(&r, rt, 2, (int32_t[]){ 1, 2, 3 }), CLA_E_SHAPE,
               "offsets[0] is 1");
    TEST_FAILS(cla_ragged_new(&r, rt, 3, (int32_t[]){ 0, 4, 2, 5 }), CLA_E_SHAPE,
               "offsets[2] is 2, below offsets[1], 4");
}
