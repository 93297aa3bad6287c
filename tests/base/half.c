/* half.c - all halves, and the floats between two of them. */
#include "base/half.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/safetensors.h"

/* All 65,536 halves are restored from their floats. */
Test(half, round_trip)
{
    for (uint32_t h = 0; h < 1U << 16; h++) {
        const float x = cla_half_to_float((uint16_t)h);
        const uint16_t back = cla_half_of(x);
        if (isnan(x)) {
            cr_assert((back & 0x7fff) > 0x7c00, "%x", (unsigned)h);
        } else {
            cr_assert_eq(back, h, "%x became %x", (unsigned)h, (unsigned)back);
        }
    }
}

/* From IEEE 754, table 3.5: its largest, its smallest normal and subnormal numbers. */
Test(half, knows_its_limits)
{
    cr_assert_eq(cla_half_to_float(0x7bff), 65504);
    cr_assert_eq(cla_half_to_float(0x0400), 0x1p-14F);
    cr_assert_eq(cla_half_to_float(0x0001), 0x1p-24F);
    cr_assert_eq(cla_half_to_float(0x3c00), 1);
    cr_assert_eq(cla_half_to_float(0xc000), -2);
    cr_assert_eq(cla_half_of(65519.996F), 0x7bff);
    cr_assert_eq(cla_half_of(65520), 0x7c00);
    cr_assert_eq(cla_half_of(-1e30F), 0xfc00);
    cr_assert_eq(cla_half_of(0x1p-25F), 0); // a tie, to even
    cr_assert_eq(cla_half_of(0x1.8p-25F), 1);
    cr_assert_eq(cla_half_of(-0x1p-26F), 0x8000);
}

/* The middle of two neighbours goes to the even one, anything else to the nearer. */
Test(half, rounds_to_nearest_even)
{
    for (uint32_t h = 0; h < 0x7bff; h++) {
        const float low = cla_half_to_float((uint16_t)h);
        const float high = cla_half_to_float((uint16_t)(h + 1));
        const float middle = (low + high) / 2; // exact: 11 bits and one more
        cr_assert_eq(cla_half_of(middle), h % 2 ? h + 1 : h, "%x", (unsigned)h);
        cr_assert_eq(cla_half_of(nextafterf(middle, 0)), h);
        cr_assert_eq(cla_half_of(nextafterf(middle, INFINITY)), h + 1);
        cr_assert_eq(cla_half_of(-middle), 0x8000U | (h % 2 ? h + 1 : h));
    }
}

/* Halves of both kinds; 1, -2, the smallest and the largest number of each. */
Test(half, in_a_file)
{
    static const uint16_t half[] = { 0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00 };
    static const uint16_t brain[] = { 0x3f80, 0xc000, 0x0001, 0x7f7f, 0xff80 };
    static const float want[][4] = { { 1, -2, 0x1p-24f, 65504 },
                                     { 1, -2, 0x1p-133f, 0x1.fep127f } };
    const cla_st_tensor tensors[] = {
        { .name = "a", .dtype = CLA_ST_F16, .rank = 1, .shape = { 5 }, .data = half },
        { .name = "b", .dtype = CLA_ST_BF16, .rank = 1, .shape = { 5 }, .data = brain },
    };
    char path[] = "/tmp/clattn-half-XXXXXX";
    cla_st_file f;
    close(mkstemp(path));
    cr_assert_eq(cla_st_save(path, tensors, 2, NULL), CLA_OK);
    cr_assert_eq(cla_st_open(&f, path), CLA_OK, "%s", cla_error());
    for (int i = 0; i < 2; i++) {
        cla_st_tensor t = *cla_st_find(&f, tensors[i].name);
        float got[5];
        cla_st_floats(&t, got);
        cr_expect_arr_eq(got, want[i], sizeof want[i]);
        cr_expect(!cla_st_finite(&t));
        t.size = 4;
        cr_expect(cla_st_finite(&t));
    }
    cla_st_close(&f);
    unlink(path);
}
