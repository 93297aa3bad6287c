/* node.c - nodes of expressions and their types. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "expr/expr.h"

typedef struct function_row {
    const char *name;
    cla_expr_function function;
    int arity;
} function_row;

/* A function may have several names: those of OpenCL, C and NumPy. */
static const function_row FUNCTIONS[] = {
    { "exp", CLA_EXPR_EXP, 1 },     { "log", CLA_EXPR_LOG, 1 },
    { "tanh", CLA_EXPR_TANH, 1 },   { "sqrt", CLA_EXPR_SQRT, 1 },
    { "abs", CLA_EXPR_ABS, 1 },     { "fabs", CLA_EXPR_ABS, 1 },
    { "min", CLA_EXPR_MIN, 2 },     { "fmin", CLA_EXPR_MIN, 2 },
    { "max", CLA_EXPR_MAX, 2 },     { "fmax", CLA_EXPR_MAX, 2 },
    { "clamp", CLA_EXPR_CLAMP, 3 }, { "clip", CLA_EXPR_CLAMP, 3 },
    { "pow", CLA_EXPR_POW, 2 },     { "floor", CLA_EXPR_FLOOR, 1 },
    { "int", CLA_EXPR_TO_INT, 1 },  { "exp2", CLA_EXPR_EXP2, 1 },
    { "sin", CLA_EXPR_SIN, 1 },     { "cos", CLA_EXPR_COS, 1 },
    { "erf", CLA_EXPR_ERF, 1 },     { "sigmoid", CLA_EXPR_SIGMOID, 1 },
    { "round", CLA_EXPR_ROUND, 1 },
};
enum { ROWS = sizeof FUNCTIONS / sizeof *FUNCTIONS };

int cla_expr_function_find(const char *name, size_t size)
{
    for (int i = 0; i < ROWS; i++) {
        if (strlen(FUNCTIONS[i].name) == size &&
            !memcmp(FUNCTIONS[i].name, name, size)) {
            return (int)FUNCTIONS[i].function;
        }
    }
    return -1;
}

static const function_row *row_of(int function)
{
    const function_row *row = FUNCTIONS;
    while ((int)row->function != function) {
        row++;
    }
    return row;
}

const char *cla_expr_function_name(int function)
{
    return row_of(function)->name;
}

int cla_expr_function_arity(int function)
{
    return row_of(function)->arity;
}

cla_status cla_expr_fail(const cla_expr *e, int column, const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return cla_fail_at(CLA_E_USAGE, e->text, column, "%s: %s", e->what, why);
}

/* ---- types ----------------------------------------------------------------------- */

static const char *type_name(cla_expr_type type)
{
    static const char *const names[] = { "a condition", "an integer", "a float" };
    return names[type];
}

static cla_expr_type type_of(const cla_expr *e, int node)
{
    return e->nodes[node].type;
}

static cla_status append(cla_expr *e, int *out, const cla_expr_node *node)
{
    CLA_TRY(cla_grow(&e->nodes, &e->cap, e->count + 1, sizeof *e->nodes));
    e->nodes[e->count] = *node;
    *out = (int)e->count++;
    return CLA_OK;
}

cla_status cla_expr_to_float(cla_expr *e, int *node)
{
    if (type_of(e, *node) == CLA_EXPR_FLOAT) {
        return CLA_OK;
    }
    const cla_expr_node cast = {
        .kind = CLA_EXPR_FLOAT_OF,
        .type = CLA_EXPR_FLOAT,
        .count = 1,
        .child = { *node },
        .column = e->nodes[*node].column,
    };
    return append(e, node, &cast);
}

/* Refuses conditions among the children from `first` on. */
static cla_status need_numbers(const cla_expr *e, const cla_expr_node *n, int first)
{
    for (int i = first; i < n->count; i++) {
        if (type_of(e, n->child[i]) == CLA_EXPR_BOOL) {
            return cla_expr_fail(e, e->nodes[n->child[i]].column,
                                 "a number is needed here, this is a condition");
        }
    }
    return CLA_OK;
}

static cla_status need(const cla_expr *e, const cla_expr_node *n, cla_expr_type type)
{
    for (int i = 0; i < n->count; i++) {
        const cla_expr_type got = type_of(e, n->child[i]);
        if (got != type) {
            return cla_expr_fail(e, e->nodes[n->child[i]].column,
                                 "%s is needed here, this is %s", type_name(type),
                                 type_name(got));
        }
    }
    return CLA_OK;
}

/* Gives children from `first` on one type: float if one of them is, else int. */
static cla_status unify(cla_expr *e, cla_expr_node *n, int first)
{
    CLA_TRY(need_numbers(e, n, first));
    n->type = CLA_EXPR_INT;
    for (int i = first; i < n->count; i++) {
        if (type_of(e, n->child[i]) == CLA_EXPR_FLOAT) {
            n->type = CLA_EXPR_FLOAT;
        }
    }
    for (int i = first; i < n->count && n->type == CLA_EXPR_FLOAT; i++) {
        CLA_TRY(cla_expr_to_float(e, &n->child[i]));
    }
    return CLA_OK;
}

static cla_status all_floats(cla_expr *e, cla_expr_node *n)
{
    CLA_TRY(need_numbers(e, n, 0));
    for (int i = 0; i < n->count; i++) {
        CLA_TRY(cla_expr_to_float(e, &n->child[i]));
    }
    n->type = CLA_EXPR_FLOAT;
    return CLA_OK;
}

static cla_status type_call(cla_expr *e, cla_expr_node *n)
{
    switch ((cla_expr_function)n->which) {
    case CLA_EXPR_ABS:
    case CLA_EXPR_MIN:
    case CLA_EXPR_MAX:
    case CLA_EXPR_CLAMP:
        return unify(e, n, 0);
    case CLA_EXPR_TO_INT:
        CLA_TRY(all_floats(e, n));
        n->type = CLA_EXPR_INT;
        return CLA_OK;
    default:
        return all_floats(e, n);
    }
}

static cla_status type_select(cla_expr *e, cla_expr_node *n)
{
    if (type_of(e, n->child[0]) != CLA_EXPR_BOOL) {
        return cla_expr_fail(e, e->nodes[n->child[0]].column,
                             "a condition is needed before '?', this is %s",
                             type_name(type_of(e, n->child[0])));
    }
    if (type_of(e, n->child[1]) == CLA_EXPR_BOOL &&
        type_of(e, n->child[2]) == CLA_EXPR_BOOL) {
        n->type = CLA_EXPR_BOOL;
        return CLA_OK;
    }
    return unify(e, n, 1);
}

static cla_status type_node(cla_expr *e, cla_expr_node *n)
{
    switch (n->kind) {
    case CLA_EXPR_READ:
        n->type = e->names[n->which].type;
        return need(e, n, CLA_EXPR_INT);
    case CLA_EXPR_NEGATE:
    case CLA_EXPR_ADD:
    case CLA_EXPR_SUBTRACT:
    case CLA_EXPR_MULTIPLY:
        return unify(e, n, 0);
    case CLA_EXPR_DIVIDE:
        return all_floats(e, n);
    case CLA_EXPR_MODULO:
        n->type = CLA_EXPR_INT;
        return need(e, n, CLA_EXPR_INT);
    case CLA_EXPR_NOT:
    case CLA_EXPR_AND:
    case CLA_EXPR_OR:
        n->type = CLA_EXPR_BOOL;
        return need(e, n, CLA_EXPR_BOOL);
    case CLA_EXPR_SELECT:
        return type_select(e, n);
    case CLA_EXPR_CALL:
        return type_call(e, n);
    case CLA_EXPR_LESS:
    case CLA_EXPR_LESS_EQUAL:
    case CLA_EXPR_GREATER:
    case CLA_EXPR_GREATER_EQUAL:
    case CLA_EXPR_EQUAL:
    case CLA_EXPR_NOT_EQUAL:
        CLA_TRY(unify(e, n, 0));
        n->type = CLA_EXPR_BOOL;
        return CLA_OK;
    default:
        return CLA_OK; // numbers, names and casts have their type
    }
}

cla_status cla_expr_add(cla_expr *e, int *out, cla_expr_node node)
{
    CLA_TRY(type_node(e, &node));
    return append(e, out, &node);
}
