/* crossover.h - finds the size from which another provider is faster. */
#pragma once

#include "bench/bench.h"

/* Measures the size of square products from which CLBlast is faster than clattn's group
 * kernels and sets it in the tuning. Does nothing without CLBlast or when the tile
 * schedule is in force.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status bench_cross_matmul(bench *b);
