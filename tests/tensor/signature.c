/* signature.c - signatures of operators, and the messages for wrong operands. */
#include "tensor/signature.h"

#include "support/support.h"

Test(signature, is_read)
{
    static const cla_signature s = { "op", "x:N,D w?:3,D ids:N:i32 q_rows(Nq,B) -> "
                                           "y:N,D z:*" };
    cla_operand o[CLA_OPERANDS];
    cr_assert_eq(cla_signature_read(&s, o), 6);
    cr_assert_str_eq(o[0].name, "x");
    cr_assert(o[0].rank == 2 && o[0].dtype == CLA_F32 && !o[0].optional);
    cr_assert(o[1].optional && !o[1].rows && !o[1].output);
    cr_assert_str_eq(o[1].size[0], "3");
    cr_assert(o[2].dtype == CLA_I32 && o[2].rank == 1);
    cr_assert(o[3].rows && o[3].rank == 2);
    cr_assert_str_eq(o[3].name, "q_rows");
    cr_assert_str_eq(o[3].size[0], "Nq");
    cr_assert(o[4].output && o[5].output && o[5].rank == 1);
    cr_assert_str_eq(o[5].size[0], "*");
}

/* A letter is bound where it first occurs, also when it occurs again in one operand. */
DEVICE_TEST(signature, binds_letters_and_refuses)
{
    static const cla_signature s = { "op", "x:N,D,D w?:3,D rows(N,B) -> y:N" };
    cla_tensor *x = NULL, *w = NULL, *odd = NULL;
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 4, 1 }, NULL);
    cla_ragged *other = test_ragged(rt, 2, (int[]){ 4, 2 }, NULL);
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 3, (int64_t[]){ 5, 2, 2 }));
    TEST_OK(cla_tensor_new(&odd, rt, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, (int64_t[]){ 3, 4 }));
    cla_sizes z = { 0 };
    TEST_OK(cla_signature_check(&s, (cla_given[]){ { x }, { NULL }, { .rows = rows } },
                                &z));
    cr_assert(cla_sizes_get(&z, "N") == 5 && cla_sizes_get(&z, "B") == 2);
    cr_assert(cla_sizes_get(&z, "D") == 2 && cla_sizes_get(&z, "C") == -1);
    const cla_given refused[][3] = { { { odd }, { NULL }, { .rows = rows } },
                                     { { x }, { w }, { .rows = rows } },
                                     { { x }, { NULL }, { .rows = other } },
                                     { { x }, { NULL }, { NULL } },
                                     { { NULL }, { NULL }, { .rows = rows } } };
    const char *const words[] = { "op: x is [5,2,4], must be [5,2,2]",
                                  "op: w is [3,4], must be [3,2]",
                                  "op: x is [5,2,2], must be [6,*,*]",
                                  "op: rows is NULL", "op: x is NULL" };
    for (int i = 0; i < 5; i++) {
        z = (cla_sizes){ 0 };
        TEST_FAILS(cla_signature_check(&s, refused[i], &z),
                   i < 3 ? CLA_E_SHAPE : CLA_E_USAGE, words[i]);
    }
    cla_tensor_free(&x);
    cla_tensor_free(&w);
    cla_tensor_free(&odd);
    cla_ragged_free(&rows);
    cla_ragged_free(&other);
}

/* A first size with ? may be missing, in all operands that have it or in none. */
DEVICE_TEST(signature, takes_operands_without_a_first_size)
{
    static const cla_signature s = { "op", "x:N,D a:G?,n,D b:G?,n,D -> y:N" };
    cla_operand o[CLA_OPERANDS];
    cla_tensor *x = NULL, *one = NULL, *many = NULL;
    int64_t shape[4];
    cr_assert_eq(cla_signature_read(&s, o), 4);
    cr_assert(o[1].lead && o[1].rank == 3 && !o[1].optional && !o[0].lead);
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 5, 2 }));
    TEST_OK(cla_tensor_new(&one, rt, CLA_F32, 2, (int64_t[]){ 3, 2 }));
    TEST_OK(cla_tensor_new(&many, rt, CLA_F32, 3, (int64_t[]){ 4, 3, 2 }));
    cla_sizes z = { 0 };
    TEST_OK(cla_signature_check(&s, (cla_given[]){ { x }, { one }, { one } }, &z));
    cr_assert(cla_sizes_get(&z, "G") == 0 && cla_sizes_get(&z, "n") == 3);
    cr_assert(cla_operand_shape(&o[2], &z, shape) == 2 && shape[1] == 2);
    z = (cla_sizes){ 0 };
    TEST_OK(cla_signature_check(&s, (cla_given[]){ { x }, { many }, { many } }, &z));
    cr_assert(cla_sizes_get(&z, "G") == 4 && cla_operand_missing(&o[1], &z) == 0);
    z = (cla_sizes){ 0 };
    TEST_FAILS(cla_signature_check(&s, (cla_given[]){ { x }, { many }, { one } }, &z),
               CLA_E_SHAPE, "op: b is [3,2], must be [4,3,2]");
    z = (cla_sizes){ 0 };
    TEST_FAILS(cla_signature_check(&s, (cla_given[]){ { x }, { one }, { many } }, &z),
               CLA_E_SHAPE, "op: b is [4,3,2], must be [3,2]");
    cla_tensor_free(&x);
    cla_tensor_free(&one);
    cla_tensor_free(&many);
}

/* A size determines one unknown letter of a sum; multiples come before sums. */
DEVICE_TEST(signature, solves_sums)
{
    static const cla_signature s = { "op", "x?:N,in w:in+n,4n r?:2R+1 -> y:N,n" };
    cla_tensor *x = NULL, *w = NULL, *odd = NULL, *five = NULL, *four = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 7, 3 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, (int64_t[]){ 5, 8 }));
    TEST_OK(cla_tensor_new(&odd, rt, CLA_F32, 2, (int64_t[]){ 5, 6 }));
    TEST_OK(cla_tensor_new(&five, rt, CLA_F32, 1, (int64_t[]){ 5 }));
    TEST_OK(cla_tensor_new(&four, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    cla_sizes z = { 0 };
    TEST_OK(cla_signature_check(&s, (cla_given[]){ { x }, { w }, { five } }, &z));
    cr_assert(cla_sizes_get(&z, "n") == 2 && cla_sizes_get(&z, "R") == 2);
    z = (cla_sizes){ 0 };
    TEST_OK(cla_signature_check(&s, (cla_given[]){ { NULL }, { w }, { NULL } }, &z));
    cr_assert(cla_sizes_get(&z, "n") == 2 && cla_sizes_get(&z, "in") == 3);
    const cla_given refused[][3] = { { { x }, { odd } },
                                     { { w }, { w } },
                                     { { x }, { w }, { four } } };
    const char *const words[] = { "op: w is [5,6], must be [in+n,4n]",
                                  "op: w is [5,8], must be [10,8]",
                                  "op: r is [4], must be [2R+1]" };
    for (int i = 0; i < 3; i++) {
        z = (cla_sizes){ 0 };
        TEST_FAILS(cla_signature_check(&s, refused[i], &z), CLA_E_SHAPE, words[i]);
    }
    cla_tensor_free(&x);
    cla_tensor_free(&w);
    cla_tensor_free(&odd);
    cla_tensor_free(&five);
    cla_tensor_free(&four);
}

/* Operands of any shape, which must only be equal; columns of a wider tensor. */
DEVICE_TEST(signature, takes_any_shape_and_columns)
{
    static const cla_signature same = { "op", "a:... b:... -> y:..." };
    static const cla_signature columns = { "op", "q~:N,H,d k:N,H,d -> y:N" };
    cla_tensor *a = NULL, *b = NULL, *wide = NULL, *view = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tensor_new(&a, rt, CLA_F32, 3, (int64_t[]){ 4, 1, 2 }));
    TEST_OK(cla_tensor_new(&b, rt, CLA_F32, 2, (int64_t[]){ 4, 2 }));
    TEST_OK(cla_tensor_new(&wide, rt, CLA_F32, 2, (int64_t[]){ 4, 9 }));
    TEST_OK(cla_tensor_columns(tape, &view, wide, 3, 1, 2));
    cla_sizes z = { 0 };
    TEST_OK(cla_signature_check(&same, (cla_given[]){ { a }, { a } }, &z));
    cr_assert(z.rank == 3 && z.shape[0] == 4 && z.shape[2] == 2);
    z = (cla_sizes){ 0 };
    TEST_FAILS(cla_signature_check(&same, (cla_given[]){ { a }, { b } }, &z),
               CLA_E_SHAPE, "op: b is [4,2], must be [4,1,2]");
    z = (cla_sizes){ 0 };
    TEST_OK(cla_signature_check(&columns, (cla_given[]){ { view }, { a } }, &z));
    z = (cla_sizes){ 0 };
    TEST_FAILS(cla_signature_check(&columns, (cla_given[]){ { a }, { view } }, &z),
               CLA_E_SHAPE, "op: k is a column view");
    cla_tape_free(&tape);
    cla_tensor_free(&a);
    cla_tensor_free(&b);
    cla_tensor_free(&wide);
}
