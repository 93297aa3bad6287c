/* check_kind.h - an operator from its kind: values, gradients and refusals. */
#pragma once

#include "oracle/kind_case.h"
#include "support/support.h"

/* Each line is a case. "medium" is not for tiny implementations, "large" not for small
 * ones either, "tiny" for tiny ones alone; "columns" cuts what may be columns out of
 * wider tensors; "const=NAME" is an input without gradient. */
typedef struct kind_table {
    kind_lines lines;
    const char *const *rows;   // up to a NULL
    double bar;                // of the result: derive it in a comment
    double gradient_bar;       // as op_case has it
    float scale[CLA_OPERANDS]; // deviations of inputs; 0 means 1;
                               // below 0: divided by the root of the first size
    float shift[CLA_OPERANDS]; // their means
    const char *constant;      // an input without gradient, "*" for all; or NULL
} kind_table;

/* Each row as check_op does it. */
void check_kind(cla_runtime *rt, const kind_table *t);

/* From the first row: each input missing, of the wrong type, of another rank, and of
 * another size wherever the signature ties it to one; batches missing and with a token
 * too many. */
void check_refusals(cla_runtime *rt, const kind_table *t);

/* Both, on a runtime of their own. */
void check_kind_cases(const kind_table *t);
void check_kind_refuses(const kind_table *t);
