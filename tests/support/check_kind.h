/* check_kind.h - an operator from its kind: values, gradients and refusals. */
#pragma once

#include "oracle/kind.h"
#include "support/support.h"

/* A row of the table is a case: letters, attributes and lengths of rows, such as "N=5
 * D=7 eps=1e-6" or "rows=3,0,5". Operands behind a minus are absent: "N=3 V=9 -factor".
 * "medium" is not for tiny implementations, "large" not for small ones either. */
typedef struct kind_table {
    const op_kind *kind;
    const char *const *rows;   // up to a NULL
    const char *all;           // what all rows say besides; or NULL
    double bar;                // of the result: derive it in a comment
    float scale[CLA_OPERANDS]; // deviations of inputs; 0 means 1
    const char *constant;      // an input without gradient; or NULL
    /* Numbers of an I32 input, by its place in the signature. */
    void (*fill)(int32_t *ids, int64_t n, const op_call *c, int operand);
} kind_table;

/* Each row as check_op does it. */
void check_kind(cla_runtime *rt, const kind_table *t);

/* From the first row: each input missing, of the wrong type, of another rank, and of
 * another size wherever the signature ties it to one. */
void check_refusals(cla_runtime *rt, const kind_table *t);
