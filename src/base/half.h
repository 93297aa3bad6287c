/* half.h - numbers of 16 bits as IEEE 754 has them (binary16), for files. */
#pragma once

#include <stdint.h>

/* The nearest half, ties to even; beyond 65519 infinity, NaN stays NaN. */
uint16_t cla_half_of(float x);
float cla_half_to_float(uint16_t half); // exact
