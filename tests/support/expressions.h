/* expressions.h - random expressions over the names of custom attention, valid by their
 * making, and what becomes of them by a few changed characters. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "expr/expr.h"

/* The names that expressions are over: the value, then the other variables of custom
 * attention, then inputs. */
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
    uint64_t state;    // the seed at first
    const char *value; // name of the value: "s" or "w"
    bool bounded;      // few operators, and none that leaves what float32 can show
} expressions;

/* The names, for cla_expr_parse. */
void expression_names(cla_expr_name names[EXPRESSION_NAMES], const char *value);

/* A number below n. */
unsigned expression_draw(expressions *x, unsigned n);

/* Writes an expression of a type into text; shorter than size. */
void expression_make(expressions *x, char *text, size_t size, cla_expr_type type);

/* Changes, removes, adds or swaps one to three characters. Text has room for three
 * more. */
void expression_damage(expressions *x, char *text);
