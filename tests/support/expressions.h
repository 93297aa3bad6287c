/* expressions.h - random expressions over the names of custom attention, valid by
 * construction, and damaged ones. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "expr/expr.h"

/* The names in the expressions: the value, the other variables of custom attention,
 * then the inputs. */
enum {
    EXPRESSION_VALUE,
    EXPRESSION_I,
    EXPRESSION_J,
    EXPRESSION_H,
    EXPRESSION_B,
    EXPRESSION_VARIABLES,
    EXPRESSION_RATE = EXPRESSION_VARIABLES, // float [3]
    EXPRESSION_TABLE,                       // float [3][4]
    EXPRESSION_DOC,                         // int [5]
    EXPRESSION_NAMES
};
enum { EXPRESSION_ROWS = 3, EXPRESSION_COLUMNS = 4, EXPRESSION_DOCS = 5 };

typedef struct expressions {
    uint64_t state;    // of the generator; first the seed
    const char *value; // name of the value: "s" or "w"
    bool bounded;      // few operators, whose values stay in the range of float32
} expressions;

/* Fills in the names for cla_expr_parse; value is the name of the value. */
void expression_names(cla_expr_name names[EXPRESSION_NAMES], const char *value);

/* Draws a number below n. */
unsigned expression_draw(expressions *x, unsigned n);

/* Writes an expression of a type to text [size]. */
void expression_make(expressions *x, char *text, size_t size, cla_expr_type type);

/* Changes, removes, inserts or swaps characters, one to three times. text must have
 * room for three more. */
void expression_damage(expressions *x, char *text);
