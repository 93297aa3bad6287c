/* slope.h - the state of a differentiation, shared by its two files. */
#pragma once

#include "expr/expr.h"

typedef struct cla_slopes {
    cla_expr *e;
    int *slope;   // [root + 1] node of d root / d n, -1 for zero
    bool *chosen; // [root + 1] a condition decides whether the slope is 0
    int at;       // the current node: new nodes get its column
} cla_slopes;

/* Add a node with children a, b and c (-1: none), and a float. *out is its index. */
cla_status cla_slope_add(cla_slopes *w, int *out, cla_expr_kind kind, int a, int b,
                         int c);
cla_status cla_slope_number(cla_slopes *w, int *out, double value);

/* Add nodes for slope[child] += value. */
cla_status cla_slope_give(cla_slopes *w, int child, int value);

/* Adds nodes for slope[child] += slope * factor. */
cla_status cla_slope_give_times(cla_slopes *w, int child, int slope, int factor);

/* Adds the contributions of the current node, a call n with a slope, to the slopes of
 * its arguments. */
cla_status cla_slope_of_call(cla_slopes *w, const cla_expr_node *n, int slope);
