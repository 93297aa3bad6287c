/* cells.h - what the tests of recurrent cells share. */
#pragma once

#include "support/check_kind.h"

/* Packed sequences of many shapes: none, one, empty ones, more of them than a
 * work-group has items, states wider than a vector. What a cell has not is not looked
 * at. */
extern const char *const cell_rows[];

/* sin(0.9 k + 0.37 s) for the k-th number, 32 numbers at most. */
void fill_sines(cla_tensor *t, double s);
