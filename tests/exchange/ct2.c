/* ct2.c - model.bin of CTranslate2, byte by byte. */
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
