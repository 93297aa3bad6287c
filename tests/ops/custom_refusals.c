/* custom_refusals.c - errors of cla_custom_attention and their messages. */
#include "clattn/custom.h"
#include "support/support.h"

Test(custom_refusals, refuses)
{
    static const int lengths[] = { 2, 3 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *q = NULL, *a = NULL, *n = NULL, *none = NULL, *o = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&q, rt, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }));
    TEST_OK(cla_tensor_new(&a, rt, CLA_F32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_tensor_new(&n, rt, CLA_I32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_tensor_new(&none, rt, CLA_F32, 1, (int64_t[]){ 0 }));
    TEST_OK(cla_tape_new(&tape, rt, true));
    cla_tensor_want_grad(a, true);
#define CALL(...)                                       \
    cla_custom_attention(tape, &o, q, q, q, rows, rows, \
                         &(cla_attention_mod){ __VA_ARGS__ }, NULL)
#define READS(text, ...) CALL(.score = text, .inputs = { __VA_ARGS__ })
    TEST_FAILS(cla_custom_attention(tape, &o, q, q, q, rows, rows, NULL, NULL),
               CLA_E_USAGE, "mod is NULL");
    TEST_FAILS(CALL(.score = "s +"), CLA_E_USAGE,
               "score: the expression ends too early");
    TEST_FAILS(CALL(.score = "s + t"), CLA_E_USAGE, "name 't' is not known");
    TEST_FAILS(CALL(.score = "s; exit(1)"), CLA_E_USAGE, "an operator is needed here");
    TEST_FAILS(CALL(.score = "i < j"), CLA_E_USAGE, "this is a condition");
    TEST_FAILS(CALL(.mask = "i - j"), CLA_E_USAGE, "mask: a condition is needed");
    TEST_FAILS(CALL(.window = 4), CLA_E_USAGE, "window is 4, must be odd");
    TEST_FAILS(READS("s * a[h]", { "a", NULL }), CLA_E_USAGE, "input 'a' is NULL");
    TEST_FAILS(READS("s * a[h]", { "a", none }), CLA_E_SHAPE, "must hold numbers");
    TEST_FAILS(READS("s * a[h][i]", { "a", a }), CLA_E_USAGE, "'a' takes 1 indices");
    TEST_FAILS(READS("s * a[s]", { "a", a }), CLA_E_USAGE, "an integer is needed");
    TEST_FAILS(READS("s", { "a", a }), CLA_E_USAGE, "no expression reads 'a'");
    TEST_FAILS(READS("s", { "a b", a }), CLA_E_USAGE, "'a b' is no name");
    TEST_FAILS(READS("s", { "ni", a }), CLA_E_USAGE, "the name 'ni' is taken");
    TEST_FAILS(READS("s", { "exp", a }), CLA_E_USAGE, "the name 'exp' is taken");
    TEST_FAILS(READS("s * n[0] * a[h]", { "n", n }, { "n", a }), CLA_E_USAGE,
               "the name 'n' is taken");
    TEST_FAILS(READS("s + floor(a[h])", { "a", a }), CLA_E_USAGE, "no gradient of 'a'");
    TEST_FAILS(CALL(.mask = "a[h] > 0", .inputs = { { "a", a } }), CLA_E_USAGE,
               "no gradient of 'a': only the mask reads it");
    cla_tensor_want_grad(n, true);
    TEST_FAILS(READS("s * n[h]", { "n", n }), CLA_E_USAGE,
               "wants a gradient, but is i32");
#undef READS
#undef CALL
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_tensor_free(&none);
    cla_tensor_free(&n);
    cla_tensor_free(&a);
    cla_tensor_free(&q);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
