/* parse.h - the state of the expression parser, shared by its two files. */
#pragma once

#include "expr/expr.h"

typedef enum pending_kind {
    UNARY,
    BINARY,
    QUESTION, // c ? x, waiting for ':'
    COLON,    // c ? x : y
    PAREN,
    CALL,
    INDEX, // of an input
} pending_kind;

/* Precedences, loosest first. */
enum { TERNARY = 1, EITHER, BOTH, EQUALITY, ORDER, SUM, PRODUCT, PREFIX };

/* An operator or an open bracket whose right side is not parsed yet. */
typedef struct pending {
    pending_kind what;
    cla_expr_kind kind;
    int precedence, column;
    int which; // a function or an input
    int count; // complete arguments or indices
} pending;

typedef struct parser {
    cla_expr *e;
    const char *at;
    pending open[CLA_EXPR_DEEPEST];
    int opened;
    int value[CLA_EXPR_DEEPEST]; // nodes of complete operands
    int values;
    bool operand; // the next token must begin an operand
} parser;

/* Returns the column of the next character, from 0. */
int cla_expr_column(const parser *p);
const char *cla_expr_skip_space(const char *at);
cla_status cla_expr_push_value(parser *p, cla_expr_node node);
cla_status cla_expr_push_open(parser *p, pending open);

/* Parses the start of an operand: a number, a name, a prefix operator or an opening
 * bracket. */
cla_status cla_expr_operand(parser *p);
