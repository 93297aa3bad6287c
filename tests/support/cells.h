/* cells.h - what the tests of recurrent cells share. */
#pragma once

#include "support/support.h"

enum { CELL_SEQUENCES = 30 };

typedef struct cell_case {
    int lengths[CELL_SEQUENCES], sequences;
    int in, n;
    bool reverse, first; // first: states to begin with are given
    bool alone;          // nothing is asked for but y
    int32_t *offsets;
    cla_ragged *rows;
} cell_case;

/* Runs check on packed sequences of many shapes: none, one, empty ones, more of them
 * than a work-group has items, states wider than a vector. */
void each_cell_case(void (*check)(cla_runtime *rt, const cell_case *c));

/* y of a call that asked for y alone, [N,n]; else mix [B,N] y and, added to it, the
 * last states' sum [B,n], so that all results have gradients at once. */
void cell_result(double *y, const cell_case *c, const double *all, const double *mix,
                 const double *states);

/* Names the case; its context, callbacks and result's shape stand in op. small:
 * products that slow devices get through. */
void check_cell(cla_runtime *rt, op_case *op, const cell_case *c, const char *name,
                int products, int small);

/* F(shape, s) of the models' specification: sin(0.9 k + 0.37 s), 32 numbers at most. */
void fill_sines(cla_tensor *t, double s);
