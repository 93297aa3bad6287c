/* slope_call.c - the derivative of each function.
 *
 * w->at is the function's own value. A factor that is 0 times infinity has its limit,
 * and a NaN among the arguments stays one, so that a derivative is NaN only where the
 * function has none. */
#include "expr/slope.h"

static cla_status call(cla_slopes *w, int *out, cla_expr_function function, int a,
                       int b)
{
    const cla_expr_node node = {
        .kind = CLA_EXPR_CALL,
        .which = (int)function,
        .count = b >= 0 ? 2 : 1,
        .child = { a, b },
        .column = w->e->nodes[w->at].column,
    };
    return cla_expr_add(w->e, out, node);
}

/* Sets *value = condition ? 0 : *value. */
static cla_status zero_where(cla_slopes *w, int *value, int condition)
{
    int zero = 0;
    CLA_TRY(cla_slope_number(w, &zero, 0));
    return cla_slope_add(w, value, CLA_EXPR_SELECT, condition, zero, *value);
}

static cla_status is_zero(cla_slopes *w, int *out, int n)
{
    int zero = 0;
    CLA_TRY(cla_slope_number(w, &zero, 0));
    return cla_slope_add(w, out, CLA_EXPR_EQUAL, n, zero, -1);
}

/* ---- pow ------------------------------------------------------------------------- */

/* d pow(a, b) / da = b pow(a, b - 1), 0 where either factor is. */
static cla_status power_of_base(cla_slopes *w, const cla_expr_node *n, int slope)
{
    const int b = n->child[1];
    const bool constant = w->e->nodes[b].kind == CLA_EXPR_NUMBER;
    int a = n->child[0], one = 0, less = 0, factor = 0, product = 0, none = 0, flat = 0;
    if (constant && w->e->nodes[b].value == 0) {
        CLA_TRY(cla_slope_number(w, &none, 0));
        return cla_slope_give(w, n->child[0], none);
    }
    if (!constant) { // -0 + 0 is 0: b - 1 may round to -1, and 1 / -0 is -infinity
        CLA_TRY(cla_slope_number(w, &none, 0));
        CLA_TRY(cla_slope_add(w, &a, CLA_EXPR_ADD, a, none, -1));
    }
    CLA_TRY(cla_slope_number(w, &one, 1));
    CLA_TRY(cla_slope_add(w, &less, CLA_EXPR_SUBTRACT, b, one, -1));
    CLA_TRY(call(w, &factor, CLA_EXPR_POW, a, less));
    CLA_TRY(cla_slope_add(w, &product, CLA_EXPR_MULTIPLY, factor, b, -1));
    if (!constant) {
        CLA_TRY(is_zero(w, &none, b));
        CLA_TRY(is_zero(w, &flat, factor));
        CLA_TRY(cla_slope_add(w, &none, CLA_EXPR_OR, none, flat, -1));
        CLA_TRY(zero_where(w, &product, none));
    }
    return cla_slope_give_times(w, n->child[0], slope, product);
}

/* d pow(a, b) / db = pow(a, b) log(a); for a >= 0 it is 0 where pow(a, b) is, and at
 * a = b = 0. */
static cla_status power_of_exponent(cla_slopes *w, const cla_expr_node *n, int slope)
{
    int term = 0, flat = 0, none = 0, corner = 0, zero = 0;
    if (w->e->nodes[n->child[1]].kind == CLA_EXPR_NUMBER) {
        return CLA_OK;
    }
    CLA_TRY(call(w, &term, CLA_EXPR_LOG, n->child[0], -1));
    CLA_TRY(cla_slope_add(w, &term, CLA_EXPR_MULTIPLY, term, w->at, -1));
    CLA_TRY(is_zero(w, &flat, w->at));
    CLA_TRY(is_zero(w, &none, n->child[0]));
    CLA_TRY(is_zero(w, &corner, n->child[1]));
    CLA_TRY(cla_slope_add(w, &corner, CLA_EXPR_AND, corner, none, -1));
    CLA_TRY(cla_slope_add(w, &corner, CLA_EXPR_OR, corner, flat, -1));
    CLA_TRY(cla_slope_number(w, &zero, 0));
    CLA_TRY(cla_slope_add(w, &none, CLA_EXPR_GREATER_EQUAL, n->child[0], zero, -1));
    CLA_TRY(cla_slope_add(w, &corner, CLA_EXPR_AND, corner, none, -1));
    CLA_TRY(zero_where(w, &term, corner));
    return cla_slope_give_times(w, n->child[1], slope, term);
}

/* ---- min, max, clamp, abs -------------------------------------------------------- */

/* Adds nodes for slope[child] += condition ? slope : rest, where rest is 0, or NaN
 * where the current node is. */
static cla_status give_chosen(cla_slopes *w, int child, int slope, int condition)
{
    int zero = 0, number = 0, value = 0;
    CLA_TRY(cla_slope_number(w, &zero, 0));
    CLA_TRY(cla_slope_add(w, &number, CLA_EXPR_EQUAL, w->at, w->at, -1));
    CLA_TRY(cla_slope_add(w, &value, CLA_EXPR_SELECT, number, zero, w->at));
    CLA_TRY(cla_slope_add(w, &value, CLA_EXPR_SELECT, condition, slope, value));
    w->chosen[child] = true;
    return cla_slope_give(w, child, value);
}

/* Of min and max: the whole slope goes to the one that is the value, to the first one
 * of two equal ones. */
static cla_status smaller(cla_slopes *w, const cla_expr_node *n, int slope,
                          cla_expr_kind first, cla_expr_kind second)
{
    const int a = n->child[0], b = n->child[1];
    int condition = 0;
    CLA_TRY(cla_slope_add(w, &condition, first, a, b, -1));
    CLA_TRY(give_chosen(w, a, slope, condition));
    CLA_TRY(cla_slope_add(w, &condition, second, a, b, -1));
    return give_chosen(w, b, slope, condition);
}

/* Gives the whole slope to x inside its bounds, else to the bound that applies: to the
 * upper one where they cross. */
static cla_status clamp(cla_slopes *w, const cla_expr_node *n, int slope)
{
    const int x = n->child[0], low = n->child[1], high = n->child[2];
    int above = 0, below = 0, condition = 0, most = 0;
    CLA_TRY(cla_slope_add(w, &above, CLA_EXPR_GREATER_EQUAL, x, low, -1));
    CLA_TRY(cla_slope_add(w, &below, CLA_EXPR_LESS_EQUAL, x, high, -1));
    CLA_TRY(cla_slope_add(w, &condition, CLA_EXPR_AND, above, below, -1));
    CLA_TRY(give_chosen(w, x, slope, condition));
    CLA_TRY(cla_slope_add(w, &below, CLA_EXPR_LESS, x, low, -1));
    CLA_TRY(cla_slope_add(w, &above, CLA_EXPR_LESS_EQUAL, low, high, -1));
    CLA_TRY(cla_slope_add(w, &condition, CLA_EXPR_AND, below, above, -1));
    CLA_TRY(give_chosen(w, low, slope, condition));
    CLA_TRY(call(w, &most, CLA_EXPR_MAX, x, low));
    CLA_TRY(cla_slope_add(w, &condition, CLA_EXPR_GREATER, most, high, -1));
    return give_chosen(w, high, slope, condition);
}

/* The slope's own sign, or the other one, or 0, or NaN where x or the slope is. */
static cla_status absolute(cla_slopes *w, const cla_expr_node *n, int slope)
{
    const int x = n->child[0];
    int zero = 0, above = 0, below = 0, number = 0, value = 0, minus = 0;
    CLA_TRY(cla_slope_number(w, &zero, 0));
    CLA_TRY(cla_slope_add(w, &above, CLA_EXPR_GREATER, x, zero, -1));
    CLA_TRY(cla_slope_add(w, &below, CLA_EXPR_LESS, x, zero, -1));
    CLA_TRY(cla_slope_add(w, &number, CLA_EXPR_EQUAL, slope, slope, -1));
    CLA_TRY(cla_slope_add(w, &minus, CLA_EXPR_NEGATE, slope, -1, -1));
    CLA_TRY(cla_slope_add(w, &value, CLA_EXPR_SELECT, number, x, slope));
    CLA_TRY(cla_slope_add(w, &value, CLA_EXPR_SELECT, below, minus, value));
    CLA_TRY(cla_slope_add(w, &value, CLA_EXPR_SELECT, above, slope, value));
    w->chosen[x] = true;
    return cla_slope_give(w, x, value);
}

/* ---- functions of one argument --------------------------------------------------- */

/* Sets *out = 1 - value^2 (of tanh) or value (1 - value) (of sigmoid). */
static cla_status bent(cla_slopes *w, int *out, bool sigmoid)
{
    int one = 0, part = 0;
    CLA_TRY(cla_slope_number(w, &one, 1));
    if (sigmoid) {
        CLA_TRY(cla_slope_add(w, &part, CLA_EXPR_SUBTRACT, one, w->at, -1));
        return cla_slope_add(w, out, CLA_EXPR_MULTIPLY, part, w->at, -1);
    }
    CLA_TRY(cla_slope_add(w, &part, CLA_EXPR_MULTIPLY, w->at, w->at, -1));
    return cla_slope_add(w, out, CLA_EXPR_SUBTRACT, one, part, -1);
}

/* Sets *out = factor exp(-x^2). */
static cla_status bell(cla_slopes *w, int *out, int x, double factor)
{
    int square = 0, scale = 0;
    CLA_TRY(cla_slope_add(w, &square, CLA_EXPR_MULTIPLY, x, x, -1));
    CLA_TRY(cla_slope_add(w, &square, CLA_EXPR_NEGATE, square, -1, -1));
    CLA_TRY(call(w, &square, CLA_EXPR_EXP, square, -1));
    CLA_TRY(cla_slope_number(w, &scale, factor));
    return cla_slope_add(w, out, CLA_EXPR_MULTIPLY, square, scale, -1);
}

/* Sets *factor to the derivative of a function of x other than log. */
static cla_status factor_of(cla_slopes *w, int *factor, cla_expr_function function,
                            int x)
{
    const double two_by_root_pi = 1.1283791670955126, log_2 = 0.6931471805599453;
    int constant = 0, value = 0;
    switch (function) {
    case CLA_EXPR_EXP:
        *factor = w->at;
        return CLA_OK;
    case CLA_EXPR_EXP2:
        CLA_TRY(cla_slope_number(w, &constant, log_2));
        return cla_slope_add(w, factor, CLA_EXPR_MULTIPLY, w->at, constant, -1);
    case CLA_EXPR_SQRT:
        CLA_TRY(cla_slope_number(w, &constant, 0)); // -0 + 0 is 0
        CLA_TRY(cla_slope_add(w, &value, CLA_EXPR_ADD, w->at, constant, -1));
        CLA_TRY(cla_slope_number(w, &constant, 0.5));
        return cla_slope_add(w, factor, CLA_EXPR_DIVIDE, constant, value, -1);
    case CLA_EXPR_TANH:
        return bent(w, factor, false);
    case CLA_EXPR_SIGMOID:
        return bent(w, factor, true);
    case CLA_EXPR_SIN:
        return call(w, factor, CLA_EXPR_COS, x, -1);
    case CLA_EXPR_COS:
        CLA_TRY(call(w, factor, CLA_EXPR_SIN, x, -1));
        return cla_slope_add(w, factor, CLA_EXPR_NEGATE, *factor, -1, -1);
    default:
        return bell(w, factor, x, two_by_root_pi); // erf
    }
}

cla_status cla_slope_of_call(cla_slopes *w, const cla_expr_node *n, int slope)
{
    const cla_expr_function function = (cla_expr_function)n->which;
    int factor = 0;
    switch (function) {
    case CLA_EXPR_ABS:
        return absolute(w, n, slope);
    case CLA_EXPR_MIN:
        return smaller(w, n, slope, CLA_EXPR_LESS_EQUAL, CLA_EXPR_GREATER);
    case CLA_EXPR_MAX:
        return smaller(w, n, slope, CLA_EXPR_GREATER_EQUAL, CLA_EXPR_LESS);
    case CLA_EXPR_CLAMP:
        return clamp(w, n, slope);
    case CLA_EXPR_POW:
        CLA_TRY(power_of_base(w, n, slope));
        return power_of_exponent(w, n, slope);
    case CLA_EXPR_FLOOR:
    case CLA_EXPR_ROUND:
    case CLA_EXPR_TO_INT:
        return CLA_OK; // constant between their steps
    case CLA_EXPR_LOG:
        CLA_TRY(cla_slope_add(w, &factor, CLA_EXPR_DIVIDE, slope, n->child[0], -1));
        return cla_slope_give(w, n->child[0], factor);
    default:
        CLA_TRY(factor_of(w, &factor, function, n->child[0]));
        return cla_slope_give_times(w, n->child[0], slope, factor);
    }
}
