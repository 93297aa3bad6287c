/* evaluate.c - evaluates an expression in double precision. */
#include <math.h>

#include "expr/expr.h"

/* Wraps an integer around to 32 bits, as the device does. */
static double wrap(int64_t x)
{
    return (double)(int32_t)(uint32_t)(uint64_t)x;
}

/* Returns x modulo y, with the sign of y; 0 for y = 0. */
static double modulo(int64_t x, int64_t y)
{
    if (!y) {
        return 0;
    }
    const int64_t rest = x % y;
    return (double)(rest && (rest < 0) != (y < 0) ? rest + y : rest);
}

static double to_int(double x)
{
    if (isnan(x)) {
        return 0;
    }
    return trunc(fmin(fmax(x, INT32_MIN), INT32_MAX));
}

/* Return NaN where an argument is NaN, unlike fmin and fmax. */
static double smallest(double a, double b)
{
    return a < b || isnan(a) ? a : b;
}
static double largest(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

static double call(const cla_expr_node *n, const double *x)
{
    switch ((cla_expr_function)n->which) {
    case CLA_EXPR_EXP:
        return exp(x[0]);
    case CLA_EXPR_LOG:
        return log(x[0]);
    case CLA_EXPR_TANH:
        return tanh(x[0]);
    case CLA_EXPR_SQRT:
        return sqrt(x[0]);
    case CLA_EXPR_ABS:
        return n->type == CLA_EXPR_INT ? wrap((int64_t)fabs(x[0])) : fabs(x[0]);
    case CLA_EXPR_MIN:
        return smallest(x[0], x[1]);
    case CLA_EXPR_MAX:
        return largest(x[0], x[1]);
    case CLA_EXPR_CLAMP:
        return smallest(largest(x[0], x[1]), x[2]);
    case CLA_EXPR_POW:
        return pow(x[0], x[1]);
    case CLA_EXPR_FLOOR:
        return floor(x[0]);
    case CLA_EXPR_TO_INT:
        return to_int(x[0]);
    case CLA_EXPR_EXP2:
        return exp2(x[0]);
    case CLA_EXPR_SIN:
        return sin(x[0]);
    case CLA_EXPR_COS:
        return cos(x[0]);
    case CLA_EXPR_SIGMOID:
        return 1 / (1 + exp(-x[0]));
    case CLA_EXPR_ERF:
        return erf(x[0]);
    case CLA_EXPR_ROUND:
        return round(x[0]);
    case CLA_EXPR_FUNCTIONS:
        break;
    }
    return NAN;
}

static double compare(cla_expr_kind kind, double a, double b)
{
    switch (kind) {
    case CLA_EXPR_LESS:
        return a < b;
    case CLA_EXPR_LESS_EQUAL:
        return a <= b;
    case CLA_EXPR_GREATER:
        return a > b;
    case CLA_EXPR_GREATER_EQUAL:
        return a >= b;
    case CLA_EXPR_EQUAL:
        return a == b;
    default:
        return a != b;
    }
}

static double arithmetic(const cla_expr_node *n, const double *x)
{
    const bool whole = n->type == CLA_EXPR_INT;
    switch (n->kind) {
    case CLA_EXPR_NEGATE:
        return whole ? wrap(-(int64_t)x[0]) : -x[0];
    case CLA_EXPR_ADD:
        return whole ? wrap((int64_t)x[0] + (int64_t)x[1]) : x[0] + x[1];
    case CLA_EXPR_SUBTRACT:
        return whole ? wrap((int64_t)x[0] - (int64_t)x[1]) : x[0] - x[1];
    case CLA_EXPR_MULTIPLY:
        return whole ? wrap((int64_t)x[0] * (int64_t)x[1]) : x[0] * x[1];
    case CLA_EXPR_DIVIDE:
        return x[0] / x[1];
    case CLA_EXPR_MODULO:
        return modulo((int64_t)x[0], (int64_t)x[1]);
    case CLA_EXPR_NOT:
        return x[0] == 0;
    case CLA_EXPR_AND:
        return x[0] != 0 && x[1] != 0;
    case CLA_EXPR_OR:
        return x[0] != 0 || x[1] != 0;
    case CLA_EXPR_SELECT:
        return x[0] != 0 ? x[1] : x[2];
    case CLA_EXPR_FLOAT_OF:
        return x[0];
    default:
        return compare(n->kind, x[0], x[1]);
    }
}

static double value_of(const cla_expr_node *n, const double *x,
                       const cla_expr_values *values)
{
    int index[CLA_EXPR_CHILDREN] = { 0 };
    switch (n->kind) {
    case CLA_EXPR_NUMBER:
        return n->value;
    case CLA_EXPR_NAME:
        return values->variable[n->which];
    case CLA_EXPR_READ:
        for (int i = 0; i < n->count; i++) {
            index[i] = (int)x[i];
        }
        return values->read(values->context, n->which, index);
    case CLA_EXPR_CALL:
        return call(n, x);
    default:
        return arithmetic(n, x);
    }
}

cla_status cla_expr_evaluate(const cla_expr *e, int node, const cla_expr_values *values,
                             double *out)
{
    double *all = NULL;
    CLA_TRY(cla_alloc(&all, (size_t)node + 1, sizeof *all));
    for (int i = 0; i <= node; i++) {
        const cla_expr_node *n = &e->nodes[i];
        double x[CLA_EXPR_CHILDREN] = { 0 };
        for (int c = 0; c < n->count; c++) {
            x[c] = all[n->child[c]];
        }
        all[i] = value_of(n, x, values);
    }
    *out = all[node];
    free(all);
    return CLA_OK;
}
