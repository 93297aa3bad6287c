/* kind.h - cases of an operator from its kind. */
#pragma once

#include "bench/bench.h"
#include "oracle/kind_case.h"

/* Named "op fwd name" and "op fwd+bwd name". The line is one of kind_case.h; the word
 * forward or train in it leaves one of the two out, full leaves both out of a quick
 * run. */
typedef struct bench_shape {
    const char *suite, *op;
    const char *name; // "N2048 D512"
    const char *line; // "N=2048 D=512 eps=1e-6"
} bench_shape;

/* Inputs of an operator that are not n(0,1). */
typedef struct bench_inputs {
    const char *op;            // NULL: of all others
    kind_fill fill;            // of whole numbers
    float scale[CLA_OPERANDS]; // deviations; 0 means 1
} bench_inputs;

/* Runs the directions of a case. inputs: up to the one of all others.
 * Errors: those of the operator. */
cla_status bench_kind_run(bench *b, const bench_shape *shape,
                          const bench_inputs *inputs);
