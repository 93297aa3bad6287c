/* kind.h - cases of an operator from its kind. */
#pragma once

#include "bench/bench.h"
#include "oracle/kind_case.h"

/* A case is named "op direction name"; one with "forward" in its line has no other. */
typedef struct bench_shape {
    const char *name; // "N2048 D512"
    const char *line; // "N=2048 D=512", as kind_lines has it
} bench_shape;

enum { BENCH_BOTH, BENCH_FORWARD, BENCH_BACKWARD }; // directions

typedef struct bench_table {
    const char *suite;
    kind_lines lines;
    const bench_shape *shapes; // up to one without a name
    int quick;                 // so many of them in a quick run; 0: all
    int directions;
    bool no_oracle;            // too slow
    float scale[CLA_OPERANDS]; // deviations of inputs; 0 means 1
    const char *constant;      // an input without gradient; or NULL
} bench_table;

/* Runs a case of each shape, direction and line. Errors: those of the operator. */
cla_status bench_table_run(bench *b, const bench_table *t);
