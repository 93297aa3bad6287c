/* kind.h - benchmark cases of an operator from its kind. */
#pragma once

#include "bench/bench.h"
#include "oracle/kind_case.h"

/* A shape gives two cases, "op fwd name" and "op fwd+bwd name". The line is one of
 * kind_case.h. The word forward in it drops the second case, train drops the first, and
 * full drops both from a quick run. */
typedef struct bench_shape {
    const char *suite, *op;
    const char *name; // "N2048 D512"
    const char *line; // "N=2048 D=512 eps=1e-6"
} bench_shape;

/* How to fill an operator's inputs when n(0,1) numbers do not suit. */
typedef struct bench_inputs {
    const char *op;            // NULL: all other operators
    kind_fill fill;            // fills I32 inputs
    float scale[CLA_OPERANDS]; // standard deviations; 0 means 1
} bench_inputs;

/* Runs the cases of a shape. The table inputs ends with the entry whose op is NULL.
 * Errors: those of the operator. */
cla_status bench_kind_run(bench *b, const bench_shape *shape,
                          const bench_inputs *inputs);
