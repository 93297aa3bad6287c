/* half.h - 16-bit floats (IEEE 754 binary16) in files. */
#pragma once

#include <stdint.h>

/* Returns the nearest half, ties to even. Magnitudes of 65520 and more become infinity;
 * NaN stays NaN. */
uint16_t cla_half_of(float x);
float cla_half_to_float(uint16_t half); // exact
