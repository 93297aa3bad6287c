/* check_kind.h - tests an operator by its kind: values, gradients and errors. */
#pragma once

#include "oracle/kind_case.h"
#include "support/support.h"

/* A table of cases, a line each. test_tiny skips lines with "medium" or "large",
 * test_small skips "large", and only test_tiny runs "tiny". "columns" makes each input
 * that may be columns a part of a wider tensor. "const=NAME" is an input without
 * gradient. */
typedef struct kind_table {
    kind_lines lines;
    const char *const *rows;   // up to a NULL
    double bar;                // of the result: derive it in a comment
    double gradient_bar;       // as in op_case
    float scale[CLA_OPERANDS]; // standard deviations of the inputs; 0 means 1;
                               // below 0: -scale / sqrt(first size)
    float shift[CLA_OPERANDS]; // means of the inputs
    const char *constant;      // an input without gradient, "*" for all; or NULL
} kind_table;

/* Runs check_op on each row. */
void check_kind(cla_runtime *rt, const kind_table *t);

/* Checks that wrong variants of the first row's call fail: a required input missing; an
 * input of the wrong type, of another rank, or of another size where the signature
 * fixes these; a batch missing or with one token too many. */
void check_refusals(cla_runtime *rt, const kind_table *t);

/* Run check_kind and check_refusals on a runtime of their own. */
void check_kind_cases(const kind_table *t);
void check_kind_refuses(const kind_table *t);
