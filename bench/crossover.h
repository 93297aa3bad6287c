/* crossover.h - from which size on another way of computing is the faster one. */
#pragma once

#include "bench/bench.h"

/* Measures from which size on CLBlast overtakes our group kernels, and sets that;
 * does nothing without CLBlast or where the tile kernels are in force.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status bench_cross_matmul(bench *b);
