/* half.c - all halves, and the floats between two of them. */
#include "base/half.h"

#include <math.h>

#include <criterion/criterion.h>

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
