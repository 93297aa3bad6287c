/* ct2.c - model.bin of CTranslate2, byte by byte, and read again. */
#include "exchange/ct2.h"

#include <string.h>

#include "support/support.h"

static void expect(ct2_file *file, const char *want, size_t size)
{
    cla_text out = { 0 };
    TEST_OK(cla_ct2_format(file, &out));
    cr_assert_eq(out.size, size, "%zu bytes, must be %zu", out.size, size);
    for (size_t i = 0; i < size; i++) {
        cr_assert_eq(out.data[i], want[i], "byte %zu is %d, must be %d", i, out.data[i],
                     want[i]);
    }
    cla_text_free(&out);
    cla_ct2_free(file);
}

Test(ct2, an_empty_file)
{
    ct2_file file = { 0 };
    const char want[] = "\6\0\0\0"
                        "\20\0TransformerSpec\0"
                        "\7\0\0\0"
                        "\0\0\0\0"
                        "\0\0\0";
    expect(&file, want, sizeof want);
}

/* Variables are sorted by name, scalars have no sizes, and equal tensors are stored
 * once. */
Test(ct2, variables_and_aliases)
{
    const float one[] = { 1, -2 }, same[] = { 1, -2 };
    const uint16_t half[] = { 0x3c00 };
    const cla_st_tensor b = { "b", CLA_ST_F32, 2, { 1, 2 }, 2, one },
                        d = { "d", CLA_ST_F32, 2, { 1, 2 }, 2, same },
                        c = { "c", CLA_ST_F16, 1, { 1 }, 1, half };
    const char want[] = "\6\0\0\0"
                        "\20\0TransformerSpec\0"
                        "\7\0\0\0"
                        "\5\0\0\0"
                        "\2\0a\0"
                        "\0"
                        "\2"
                        "\2\0\0\0"
                        "\376\377"
                        "\2\0b\0"
                        "\2"
                        "\1\0\0\0"
                        "\2\0\0\0"
                        "\0"
                        "\10\0\0\0"
                        "\0\0\200\77"
                        "\0\0\0\300"
                        "\2\0c\0"
                        "\1"
                        "\1\0\0\0"
                        "\4"
                        "\2\0\0\0"
                        "\0\74"
                        "\2\0f\0"
                        "\0"
                        "\1"
                        "\1\0\0\0"
                        "\1"
                        "\2\0g\0"
                        "\0"
                        "\0"
                        "\4\0\0\0"
                        "\0\0\0\77"
                        "\2\0\0\0"
                        "\2\0d\0"
                        "\2\0b\0"
                        "\2\0e\0"
                        "\2\0b";
    ct2_file file = { 0 };
    TEST_OK(cla_ct2_add_whole(&file, "f", CT2_I8, 1));
    TEST_OK(cla_ct2_add_real(&file, "g", 0.5f));
    TEST_OK(cla_ct2_add_alias(&file, "e", "b"));
    TEST_OK(cla_ct2_add_tensor(&file, &d));
    TEST_OK(cla_ct2_add_tensor(&file, &c));
    TEST_OK(cla_ct2_add_tensor(&file, &b));
    TEST_OK(cla_ct2_add_whole(&file, "a", CT2_I16, -2));
    expect(&file, want, sizeof want);
}

Test(ct2, scalars_of_32_bits)
{
    const char want[] = "\6\0\0\0"
                        "\20\0TransformerSpec\0"
                        "\7\0\0\0"
                        "\2\0\0\0"
                        "\2\0a\0"
                        "\0"
                        "\3"
                        "\4\0\0\0"
                        "\0\2\1\0"
                        "\2\0b\0"
                        "\0"
                        "\3"
                        "\4\0\0\0"
                        "\376\377\377\377"
                        "\0\0\0";
    ct2_file file = { 0 };
    TEST_OK(cla_ct2_add_whole(&file, "b", CT2_I32, -2));
    TEST_OK(cla_ct2_add_whole(&file, "a", CT2_I32, 0x10200));
    expect(&file, want, sizeof want);
}

/* Equal numbers of the shapes [2,1] and [1,2] are two variables. */
Test(ct2, equal_numbers_of_other_shapes_stay_apart)
{
    const float one[] = { 1, -2 };
    const cla_st_tensor a = { "a", CLA_ST_F32, 2, { 1, 2 }, 2, one },
                        b = { "b", CLA_ST_F32, 2, { 2, 1 }, 2, one };
    ct2_file file = { 0 };
    cla_text out = { 0 };
    TEST_OK(cla_ct2_add_tensor(&file, &a));
    TEST_OK(cla_ct2_add_tensor(&file, &b));
    TEST_OK(cla_ct2_format(&file, &out));
    cr_assert_eq(out.data[26], 2);
    cla_text_free(&out);
    cla_ct2_free(&file);
}

Test(ct2, refuses_4_gigabytes)
{
    const cla_st_tensor a = {
        "a", CLA_ST_F32, 2, { 1 << 15, 1 << 15 }, (int64_t)1 << 30, NULL
    };
    ct2_file file = { 0 };
    cla_text out = { 0 };
    TEST_OK(cla_ct2_add_tensor(&file, &a));
    TEST_FAILS(cla_ct2_format(&file, &out), CLA_E_INPUT,
               "tensor 'a' is larger than 4 GiB");
    cla_text_free(&out);
    cla_ct2_free(&file);
}

/* ---- reading --------------------------------------------------------------------- */

static void open_bytes(ct2_read *r, const char *bytes, size_t size, cla_status want,
                       const char *message)
{
    char *copy = NULL;
    TEST_OK(cla_alloc(&copy, size + 1, 1));
    memcpy(copy, bytes, size);
    const cla_status status = cla_ct2_open(r, "model.bin", copy, size);
    if (want) {
        TEST_FAILS(status, want, message);
        cla_ct2_close(r);
    } else {
        TEST_OK(status);
    }
}

static void expect_numbers(const ct2_read *r, const char *name, int64_t n,
                           const float *want)
{
    float got[8] = { 0 };
    ct2_variable *v = cla_ct2_find(r, name);
    cr_assert(v, "no variable %s", name);
    cr_assert_eq(v->size, n);
    TEST_OK(cla_ct2_floats(r, v, got));
    for (int64_t i = 0; i < n; i++) {
        cr_assert_eq(got[i], want[i], "%s[%lld] is %g, must be %g", name, (long long)i,
                     (double)got[i], (double)want[i]);
    }
}

#define HEAD                 \
    "\6\0\0\0"               \
    "\20\0TransformerSpec\0" \
    "\7\0\0\0"
#define NO_ALIASES "\0\0\0\0"

Test(ct2, reads_what_it_writes)
{
    const float one[] = { 1, -2 };
    const uint16_t half[] = { 0x3c00, 0xc000 };
    const cla_st_tensor a = { "a", CLA_ST_F32, 2, { 1, 2 }, 2, one },
                        b = { "b", CLA_ST_F16, 1, { 2 }, 2, half };
    ct2_file file = { 0 };
    cla_text out = { 0 };
    ct2_read r;
    double value = 0;
    TEST_OK(cla_ct2_add_tensor(&file, &a));
    TEST_OK(cla_ct2_add_tensor(&file, &b));
    TEST_OK(cla_ct2_add_whole(&file, "n", CT2_I16, -2));
    TEST_OK(cla_ct2_add_real(&file, "x", 0.5f));
    TEST_OK(cla_ct2_add_alias(&file, "z", "a"));
    TEST_OK(cla_ct2_format(&file, &out));
    open_bytes(&r, out.data, out.size, CLA_OK, NULL);
    expect_numbers(&r, "a", 2, one);
    expect_numbers(&r, "b", 2, one);
    expect_numbers(&r, "z", 2, one);
    cr_assert(cla_ct2_scalar(&r, "n", &value) && value == -2);
    cr_assert(cla_ct2_scalar(&r, "x", &value) && value == 0.5);
    cr_assert(!cla_ct2_scalar(&r, "y", &value) && value == 0.5);
    cr_assert_eq(cla_ct2_find(&r, "a")->data, cla_ct2_find(&r, "z")->data);
    cla_ct2_close(&r);
    cla_text_free(&out);
    cla_ct2_free(&file);
}

/* Rows of 8 bits have a scale each, a matrix of 16 bits one in all; an alias has those
 * of its variable. */
Test(ct2, divides_by_scales)
{
    static const char bytes[] = HEAD "\4\0\0\0"
                                     "\2\0b\0\2\2\0\0\0\1\0\0\0\1\2\0\0\0\6\375"
                                     "\10\0b_scale\0\1\2\0\0\0\0\10\0\0\0"
                                     "\0\0\0\100\0\0\200\100"
                                     "\2\0s\0\1\1\0\0\0\2\2\0\0\0\0\1"
                                     "\10\0s_scale\0\0\0\4\0\0\0\0\0\0\101"
                                     "\1\0\0\0\2\0z\0\2\0b";
    ct2_read r;
    open_bytes(&r, bytes, sizeof bytes, CLA_OK, NULL);
    expect_numbers(&r, "b", 2, (const float[]){ 3, -0.75f });
    expect_numbers(&r, "z", 2, (const float[]){ 3, -0.75f });
    expect_numbers(&r, "s", 1, (const float[]){ 32 });
    cr_assert(cla_ct2_find(&r, "b_scale")->used);
    cla_ct2_close(&r);
}

Test(ct2, refuses_what_is_damaged)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
#define CASE(bytes, message) { bytes, sizeof(bytes) - 1, message }
        CASE("", "is cut off or damaged at byte 0"),
        CASE("\5\0\0\0", "is no model of binary version 6 (it says 5)"),
        CASE("\6\0\0\0\3\0ab", "is cut off or damaged"),
        CASE("\6\0\0\0\3\0abc\0\0\0\0", "is cut off or damaged"),
        CASE("\6\0\0\0\2\0a\0\7\0\0\0", "holds a a of revision 7"),
        CASE(HEAD "\377\377\377\377", "is cut off or damaged"),
        CASE(HEAD "\1\0\0\0\2\0a\0\11", "is cut off or damaged"),
        CASE(HEAD "\1\0\0\0\2\0a\0\1\2\0\0\0\0\4\0\0\0abcd" NO_ALIASES,
             "variable 'a' has a type or a size that does not fit"),
        CASE(HEAD "\1\0\0\0\2\0a\0\1\1\0\0\0\6\4\0\0\0abcd" NO_ALIASES,
             "variable 'a' has a type or a size that does not fit"),
        CASE(HEAD "\2\0\0\0\2\0a\0\0\1\1\0\0\0x\2\0a\0\0\1\1\0\0\0x" NO_ALIASES,
             "has two variables 'a'"),
        CASE(HEAD "\0\0\0\0\1\0\0\0\2\0a\0\2\0b\0", "'a' is an alias of nothing"),
        CASE(HEAD "\0\0\0\0" NO_ALIASES "x", "is cut off or damaged"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ct2_read r;
        open_bytes(&r, cases[i].bytes, cases[i].size, CLA_E_INPUT, cases[i].message);
    }
}

Test(ct2, refuses_numbers_that_it_cannot_use)
{
    static const char whole[] = HEAD "\1\0\0\0\2\0a\0\1\1\0\0\0\1\1\0\0\0x\0\0\0";
    static const char infinite[] =
        HEAD "\1\0\0\0\2\0a\0\1\1\0\0\0\4\2\0\0\0\0\174\0\0\0";
    float number = 0;
    ct2_read r;
    open_bytes(&r, whole, sizeof whole, CLA_OK, NULL);
    TEST_FAILS(cla_ct2_floats(&r, cla_ct2_find(&r, "a"), &number), CLA_E_INPUT,
               "'a' holds whole numbers without their scales");
    cla_ct2_close(&r);
    open_bytes(&r, infinite, sizeof infinite, CLA_OK, NULL);
    TEST_FAILS(cla_ct2_floats(&r, cla_ct2_find(&r, "a"), &number), CLA_E_NUMERIC,
               "'a' holds numbers that are not finite");
    cla_ct2_close(&r);
}
