/* functions.c - every function and operator of expressions: derivatives where a factor
 * is 0 or infinite, at ties and kinks, and NaN among the arguments. The functions come
 * from the parser's own table. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include <criterion/criterion.h>

#include "expr/expr.h"

static const cla_expr_name NAMES[] = { { "x", CLA_EXPR_FLOAT, 0 },
                                       { "y", CLA_EXPR_FLOAT, 0 },
                                       { "z", CLA_EXPR_FLOAT, 0 } };
enum { ARGUMENTS = 3 };
static const double VALUES[] = { 0,    -0.0, 1,       -1,       0.5,       -0.5,  2,
                                 -2,   3,    1e-45,   -1e-45,   1e30,      -1e30, 88.5,
                                 -104, 200,  FLT_MAX, INFINITY, -INFINITY, NAN };
enum { COUNT = sizeof VALUES / sizeof *VALUES };
enum { NOT_KNOWN, FINITE, INFINITE };

typedef struct function {
    cla_expr *e;
    int which, arity; // which: -1 for an operator
    int slope[ARGUMENTS];
} function;

static double evaluate(const function *f, int node, const double *x)
{
    const cla_expr_values values = { x, NULL, NULL };
    double value = 0;
    cr_assert_eq(cla_expr_evaluate(f->e, node, &values, &value), CLA_OK);
    return value;
}

static function make(const char *text, int which, int arity)
{
    function f = { .which = which, .arity = arity };
    cr_assert_eq(cla_expr_parse(&f.e, "score", text, NAMES, ARGUMENTS), CLA_OK, "%s",
                 cla_error());
    cr_assert_eq(cla_expr_to_float(f.e, &f.e->root), CLA_OK);
    for (int n = 0; n < ARGUMENTS; n++) {
        cla_expr_gradient g;
        cr_assert_eq(cla_expr_differentiate(f.e, &g, n, NULL), CLA_OK);
        f.slope[n] = g.variable;
        cla_expr_gradient_free(&g);
    }
    return f;
}

static bool is_call(const function *f, int which)
{
    return f->which == which;
}

/* Finds the limit of the difference quotient on one side of argument n. INFINITE where
 * it grows beyond all bounds; *limit has its sign. */
static int one_side(const function *f, const double *at, int n, int side, double *limit)
{
    double x[ARGUMENTS] = { at[0], at[1], at[2] }, q[3];
    const double value = evaluate(f, f->e->root, at);
    double scale = 1; // stay nearer to the arguments than they are to each other
    for (int k = 0; k < ARGUMENTS; k++) {
        scale = at[k] != 0 && (k == n || fabs(at[k]) < scale) ? fabs(at[k]) : scale;
    }
    for (int k = 0; k < 3; k++) {
        const double width = (at[n] == 0 ? 1e-7 : 1e-4) * scale * pow(10, -k);
        x[n] = at[n] + side * width;
        if (x[n] == at[n] || fabs(value) * 1e-16 > 1e-4 * width) {
            return NOT_KNOWN; // lost in rounding
        }
        q[k] = (evaluate(f, f->e->root, x) - value) / (x[n] - at[n]);
    }
    *limit = q[2];
    const double bar = 1e-2 * fmax(1e-3, fabs(q[2]));
    if (isfinite(q[2]) && fabs(q[0] - q[2]) < bar && fabs(q[1] - q[2]) < bar) {
        return FINITE;
    }
    const bool grows = fabs(q[1]) > 2 * fabs(q[0]) && fabs(q[2]) > 2 * fabs(q[1]);
    return isfinite(q[2]) && grows && fabs(q[2]) > 1e3 ? INFINITE : NOT_KNOWN;
}

/* Returns whether the slope got is what the two sides have: their common limit, a
 * number between them at a kink, larger than quotients that grow. */
static bool agrees(const function *f, const double *at, int n, double got)
{
    double left = 0, right = 0;
    const int l = one_side(f, at, n, -1, &left), r = one_side(f, at, n, 1, &right);
    if (l == FINITE && r == FINITE) {
        const double bar = 2e-2 * fmax(1e-3, fmax(fabs(left), fabs(right)));
        return got >= fmin(left, right) - bar && got <= fmax(left, right) + bar;
    }
    if (f->slope[n] >= 0 && (l == INFINITE || r == INFINITE)) { // no step of floor
        const double side = r == INFINITE ? right : left;
        return (got > 0) == (side > 0) && fabs(got) > fabs(side);
    }
    return !isnan(got);
}

/* Returns whether a derivative is right, where its function's value is a number. */
static bool is_right(const function *f, const double *at, int n, double got)
{
    const double value = evaluate(f, f->e->root, at);
    bool known = true;
    for (int k = 0; k < f->arity; k++) {
        known = known && fabs(at[k]) < 1e9; // beyond, differences see no steps
    }
    if (is_call(f, CLA_EXPR_POW) && n == 1 && at[0] < 0) {
        return isnan(got); // no power beside this one
    }
    if (is_call(f, CLA_EXPR_POW) && n == 1 && at[0] == 0 && at[1] == 0) {
        return got == 0; // by PyTorch's convention
    }
    const bool tie = at[0] == at[1] || at[0] == at[2] || at[1] == at[2];
    if (is_call(f, CLA_EXPR_CLAMP) && tie) {
        return got == 0 || got == 1; // split_ties tells which
    }
    return known && isfinite(value) ? agrees(f, at, n, got) : !isnan(got);
}

static bool has_nan(const function *f, const double *at)
{
    bool nan = false;
    for (int k = 0; k < f->arity; k++) {
        nan = nan || isnan(at[k]);
    }
    return nan;
}

static void check(const function *f, const double *at, long *checked)
{
    const double value = evaluate(f, f->e->root, at);
    const bool nan = has_nan(f, at);
    const bool one = is_call(f, CLA_EXPR_POW) && (at[0] == 1 || at[1] == 0);
    cr_assert(!nan || isnan(value) || one || is_call(f, CLA_EXPR_TO_INT),
              "%s is %g at %g, %g, %g", f->e->text, value, at[0], at[1], at[2]);
    for (int n = 0; n < f->arity; n++) {
        const double got = f->slope[n] < 0 ? 0 : evaluate(f, f->slope[n], at);
        const bool linear = is_call(f, CLA_EXPR_POW) && n == 0 && at[1] == 1;
        const bool unknown = isnan(value) && f->slope[n] >= 0 && !linear;
        if (nan && f->which >= 0 && unknown) {
            cr_assert(isnan(got), "slope %d of %s is %g at %g, %g, %g", n, f->e->text,
                      got, at[0], at[1], at[2]);
        }
        if (!nan && !isnan(value)) {
            cr_assert(is_right(f, at, n, got), "slope %d of %s is %g at %g, %g, %g", n,
                      f->e->text, got, at[0], at[1], at[2]);
            ++*checked;
        }
    }
}

static long check_all(function f)
{
    long checked = 0;
    const int second = f.arity > 1 ? COUNT : 1, third = f.arity > 2 ? COUNT : 1;
    for (int i = 0; i < COUNT * second * third; i++) {
        const double at[] = { VALUES[i % COUNT], VALUES[i / COUNT % second],
                              VALUES[i / COUNT / second] };
        check(&f, at, &checked);
    }
    cla_expr_free(&f.e);
    return checked;
}

Test(functions, have_right_slopes_everywhere)
{
    static const char *const arguments[] = { "x", "x, y", "x, y, z" };
    for (int n = 0; n < CLA_EXPR_FUNCTIONS; n++) {
        char text[40];
        const int arity = cla_expr_function_arity(n);
        snprintf(text, sizeof text, "%s(%s)", cla_expr_function_name(n),
                 arguments[arity - 1]);
        cr_assert_gt(check_all(make(text, n, arity)), 9, "%s", text);
    }
}

Test(functions, operators_have_right_slopes_everywhere)
{
    static const char *const texts[] = { "x + y", "x - y", "x * y", "x / y", "-x" };
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        cr_assert_gt(check_all(make(texts[n], -1, texts[n][0] == '-' ? 1 : 2)), 9);
    }
}

/* The whole slope of min and max goes to the first of two equal arguments. */
Test(functions, split_ties)
{
    static const struct {
        const char *text;
        double slope[ARGUMENTS]; // at x = y = z = 1
    } cases[] = {
        { "min(x, y)", { 1, 0, 0 } },          { "max(x, y)", { 1, 0, 0 } },
        { "clamp(x, y, z)", { 1, 0, 0 } },     { "clamp(x, y, 2)", { 1, 0, 0 } },
        { "abs(x - y)", { 0, 0, 0 } },         { "clamp(x, 2, y)", { 0, 1, 0 } },
        { "clamp(x, y + 1, 3)", { 0, 1, 0 } },
    };
    const double at[] = { 1, 1, 1 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        function f = make(cases[c].text, -1, ARGUMENTS);
        for (int n = 0; n < ARGUMENTS; n++) {
            const double got = f.slope[n] < 0 ? 0 : evaluate(&f, f.slope[n], at);
            cr_assert_eq(got, cases[c].slope[n], "slope %d of %s is %g", n,
                         cases[c].text, got);
        }
        cla_expr_free(&f.e);
    }
}
