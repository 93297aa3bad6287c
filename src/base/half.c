/* half.c - converts 16-bit floats by their bits: not every C compiler has the type. */
#include "base/half.h"

#include <math.h>
#include <string.h>

enum { FRACTION = 10, FLOAT_FRACTION = 23, BIAS = 15, FLOAT_BIAS = 127 };

/* Returns x / 2^shift, rounded to nearest, ties to even. */
static uint32_t shift_rounded(uint32_t x, int shift)
{
    const uint32_t half = 1U << (shift - 1), rest = x & ((1U << shift) - 1);
    const uint32_t down = x >> shift;
    return down + (rest > half || (rest == half && (down & 1)));
}

uint16_t cla_half_of(float x)
{
    const int drop = FLOAT_FRACTION - FRACTION;
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000U);
    const int exponent = (int)(bits >> FLOAT_FRACTION & 0xff) - FLOAT_BIAS + BIAS;
    const uint32_t fraction = bits & 0x7fffff;
    if (exponent > 30) {
        return sign | (isnan(x) ? 0x7e00 : 0x7c00);
    }
    if (exponent < -FRACTION) { // less than half of the smallest subnormal
        return sign;
    }
    if (exponent < 1) { // subnormal: the leading one becomes explicit
        return (uint16_t)(sign |
                          shift_rounded(fraction | 0x800000, drop + 1 - exponent));
    }
    // a carry out of the fraction increments the exponent, at the end to infinity
    return (
        uint16_t)(sign +
                  shift_rounded((uint32_t)exponent << FLOAT_FRACTION | fraction, drop));
}

float cla_half_to_float(uint16_t half)
{
    const int exponent = half >> FRACTION & 31;
    const int fraction = half & 0x3ff;
    const float sign = half & 0x8000 ? -1.0F : 1.0F;
    if (exponent == 31) {
        return fraction ? NAN : sign * INFINITY;
    }
    return exponent
               ? sign * ldexpf((float)(fraction | 0x400), exponent - BIAS - FRACTION)
               : sign * ldexpf((float)fraction, 1 - BIAS - FRACTION);
}
