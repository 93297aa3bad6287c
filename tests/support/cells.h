/* cells.h - shared by the tests of recurrent cells. */
#pragma once

#include "support/check_kind.h"

/* Cases with packed sequences of many shapes, up to a NULL: no tokens, one token, empty
 * sequences, one sequence, more sequences than a work-group takes, states wider than a
 * vector, as wide as a work-group walks with, and wider. A cell ignores the operands
 * that it does not have. */
extern const char *const cell_rows[];

/* Runs check_kind on cells with a launch for each token, in large tiles and then in
 * small ones. */
void check_steps(const kind_table *t);

/* Sets the k-th number of t to sin(0.9 k + 0.37 s). t has at most 32 numbers. */
void fill_sines(cla_tensor *t, double s);
