/* tensor.c - shapes, transfers, ragged batches, and their errors. */
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

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
