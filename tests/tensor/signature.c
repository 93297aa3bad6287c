/* signature.c - operands as they are written, and what a caller is told. */
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

/* Letters are bound by the first operand that has them, also twice in one. */
Test(signature, binds_letters_and_refuses)
{
    static const cla_signature s = { "op", "x:N,D,D w?:3,D rows(N,B) -> y:N" };
    cla_runtime *rt = test_runtime();
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
    z = (cla_sizes){ 0 };
    TEST_FAILS(cla_signature_check(&s, (cla_given[]){ { odd } }, &z), CLA_E_SHAPE,
               "op: x is [5,2,4], must be [5,2,2]");
    z = (cla_sizes){ 0 };
    TEST_FAILS(cla_signature_check(&s, (cla_given[]){ { x }, { w } }, &z), CLA_E_SHAPE,
               "op: w is [3,4], must be [3,2]");
    TEST_FAILS(cla_signature_check(
                   &s, (cla_given[]){ { x }, { NULL }, { .rows = other } }, &z),
               CLA_E_SHAPE, "op: rows has 6 tokens, must have 5");
    TEST_FAILS(cla_signature_check(&s, (cla_given[]){ { x }, { NULL }, { NULL } }, &z),
               CLA_E_USAGE, "op: rows is NULL");
    TEST_FAILS(cla_signature_check(&s, (cla_given[]){ { NULL } }, &z), CLA_E_SHAPE,
               "op: x is missing");
    cla_tensor_free(&x);
    cla_tensor_free(&w);
    cla_tensor_free(&odd);
    cla_ragged_free(&rows);
    cla_ragged_free(&other);
    cla_runtime_free(&rt);
}
