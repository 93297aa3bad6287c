/* kind_case.h - a call of an operator from a line of text: what its tests and its bench
 * are tables of. */
#pragma once

#include "oracle/kind.h"

/* Numbers of an I32 input, by its place in the signature. */
typedef void (*kind_fill)(int32_t *ids, int64_t n, const op_call *c, int operand);

/* What is the same in all lines of a table. A line has letters, attributes, and lengths
 * of rows: "N=5 D=7 eps=1e-6", "rows=3,0,5", "rows=400x20" for 400 of 20, "...=7,9" for
 * a shape. Operands behind a minus are absent, "N=3 V=9 -factor"; those behind a plus
 * are results that a caller may do without, "+map"; an output behind a minus is not
 * looked at. */
typedef struct kind_lines {
    const char *op;
    const char *all; // what all lines say besides; or NULL
    kind_fill fill;
} kind_lines;

/* All but the numbers: those are the caller's, for input[i] of inputs operands. */
typedef struct kind_case {
    const kind_lines *lines;
    const op_kind *kind;
    const char *text;
    cla_operand operand[CLA_OPERANDS];
    int operands, outputs; // outputs: where they begin
    op_call call;
    int32_t *ids[CLA_OPERANDS];
    cla_ragged *rows[CLA_OPERANDS];
    int input[CLA_OPERANDS], inputs;
} kind_case;

/* Errors: CLA_E_USAGE (a line that lacks something), CLA_E_NOMEM, CLA_E_DEVICE. close
 * takes a half-opened one, too. */
cla_status kind_case_open(kind_case *c, cla_runtime *rt, const kind_lines *lines,
                          const char *text);
void kind_case_close(kind_case *c);

/* Whether the case's line, or the part that all lines share, holds sign and name. */
bool kind_case_says(const kind_case *c, char sign, const char *name);

/* The shape of the result: of one output, or [1,n] of all that are wanted in a row. */
int kind_case_result(const kind_case *c, int64_t shape[4]);

/* As op_case and bench_op want them; context is the case. */
cla_status kind_case_device(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                            void *context);
void kind_case_oracle(double *y, double *const *x, void *context);
