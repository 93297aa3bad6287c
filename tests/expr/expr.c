/* expr.c - expressions: values, types, refusals with their place, derivatives against
 * finite differences, and thousands of random ones. */
#include "expr/expr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

/* s, i, j as in attention; a table [3][4] of floats, a list [5] of integers. */
static const cla_expr_name NAMES[] = {
    { "s", CLA_EXPR_FLOAT, 0 },     { "i", CLA_EXPR_INT, 0 },
    { "j", CLA_EXPR_INT, 0 },       { "R", CLA_EXPR_INT, 0 },
    { "table", CLA_EXPR_FLOAT, 2 }, { "doc", CLA_EXPR_INT, 1 },
    { "rate", CLA_EXPR_FLOAT, 1 },
};
enum { S, I, J, R, TABLE, DOC, RATE, NAMES_COUNT };
enum { ROWS = 3, COLUMNS = 4, DOCS = 5 };

typedef struct world {
    double variable[NAMES_COUNT];
    double table[ROWS * COLUMNS], rate[ROWS];
} world;

static int bounded(int x, int size)
{
    return x < 0 ? 0 : x >= size ? size - 1 : x;
}

static double read_input(void *context, int which, const int *index)
{
    const world *w = context;
    if (which == DOC) {
        return bounded(index[0], DOCS) / 2;
    }
    if (which == RATE) {
        return w->rate[bounded(index[0], ROWS)];
    }
    return w->table[bounded(index[0], ROWS) * COLUMNS + bounded(index[1], COLUMNS)];
}

static world make_world(void)
{
    world w = { .variable = { 0.75, 4, 1, 2 }, .rate = { 0.3, 0.6, 0.9 } };
    for (int n = 0; n < ROWS * COLUMNS; n++) {
        w.table[n] = 0.1 * n + 0.05;
    }
    return w;
}

static double evaluate(const cla_expr *e, int node, world *w)
{
    const cla_expr_values values = { w->variable, read_input, w };
    double value = 0;
    cr_assert_eq(cla_expr_evaluate(e, node, &values, &value), CLA_OK);
    return value;
}

static cla_expr *parse(const char *text)
{
    cla_expr *e = NULL;
    cr_assert_eq(cla_expr_parse(&e, "score", text, NAMES, NAMES_COUNT), CLA_OK,
                 "%s: %s", text, cla_error());
    return e;
}

Test(expr, gives_values)
{
    static const struct {
        const char *text;
        double want;
    } cases[] = {
        { "s", 0.75 },
        { "1 + 2 * 3 - 4 / 8", 6.5 },
        { "-2 - -3", 1 },
        { "(1 + 2) * 3", 9 },
        { "7 % 3 + -7 % 3", 3 }, // 1 + 2: the rest has the divisor's sign
        { "5 % 0", 0 },
        { "j - i", -3 },
        { "abs(j - i) + .5e1", 8 },
        { "clip(j - i, -R, R) + R", 0 },
        { "30 * tanh(s / 30)", 30 * 0.024994793 },
        { "i > j ? i == 4 ? 10 : 20 : 30", 10 },
        { "i < j ? 1 : i == 3 ? 2 : 3", 3 },
        { "i >= j && !(i == j) || j > 100 ? 1 : 0", 1 },
        { "s - rate[1] * abs(j - i)", 0.75 - 0.6 * 3 },
        { "table[1][j + 1] + table [ 9 ] [-4]", 0.65 + 0.85 },
        { "doc[i] == doc[j] ? s : -1e9", -1e9 },
        { "int(2.9) + int(-2.9) + floor(-0.5)", -1 },
        { "min(3, 4) + max(2.5, 1) + pow(2, 3)", 13.5 },
        { "2147483647 + 1", -2147483648.0 },
        { "1.5f * 2", 3 },
        { "exp2(3) + sin(0) + cos(0) + erf(0)", 9 },
        { "sigmoid(0) * 2 + round(2.5) + round(-0.4)", 4 },
    };
    world w = make_world();
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        cla_expr *e = parse(cases[n].text);
        const double got = evaluate(e, e->root, &w);
        cr_assert(fabs(got - cases[n].want) < 1e-7, "%s is %.12g, must be %.12g",
                  cases[n].text, got, cases[n].want);
        cla_expr_free(&e);
    }
}

/* The message has the text and a caret under the column. */
Test(expr, refuses_with_a_caret)
{
    static const struct {
        const char *text;
        int column;
        const char *why;
    } cases[] = {
        { "", 0, "ends too early" },
        { "s +", 3, "ends too early" },
        { "s = 3", 2, "nothing can be assigned" },
        { "s; s", 1, "an operator is needed" },
        { "slope[0] * 2", 0, "'slope' is not known; names are s, i, j" },
        { "s * barrier(1)", 4, "function 'barrier' is not known" },
        { "table[1]", 0, "'table' takes 2 indices, fewer are given" },
        { "doc[1][2]", 0, "'doc' takes 1 indices, more are given" },
        { "s[1]", 0, "'s' takes 0 indices, some are given" },
        { "doc + 1", 0, "'doc' takes 1 indices, none is given" },
        { "doc[s]", 4, "an integer is needed here, this is a float" },
        { "(i < j) + 1", 3, "a number is needed here, this is a condition" },
        { "i ? 1 : 2", 0, "a condition is needed before '?'" },
        { "s % 2", 0, "an integer is needed here, this is a float" },
        { "i < j < R", 2, "a number is needed here" },
        { "(s + 1", 0, "not closed" },
        { "s + 1)", 5, "')' closes nothing" },
        { "i < j ? 1", 6, "'?' has no ':'" },
        { "s : 1", 2, "':' has no '?'" },
        { "exp(1, 2)", 5, "',' has no place here" },
        { "pow(2)", 0, "pow takes 2 arguments, 1 given" },
        { "99999999999", 0, "'99999999999' is no number: beyond" },
        { "s * 1.2.3", 4, "'1.2.3' is no number" },
        { "s + 1e999", 4, "'1e999' is no number: larger" },
        { "s & 1", 2, "an operator is needed" },
        { "s /* c */", 3, "a number, a name or '(' is needed" },
        { "s\n#define x", 2, "an operator is needed" },
        { "\"s\"", 0, "a number, a name or '(' is needed" },
        { "s - sl\xc3\xb6pe[0]", 4, "'sl' is not known" },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        cla_expr *e = NULL;
        char caret[64];
        snprintf(caret, sizeof caret, "\n  %*s^", cases[n].column, "");
        cr_assert_eq(cla_expr_parse(&e, "score", cases[n].text, NAMES, NAMES_COUNT),
                     CLA_E_USAGE, "%s", cases[n].text);
        cr_assert_null(e);
        cr_assert(strstr(cla_error(), cases[n].why), "%s", cla_error());
        cr_assert(strstr(cla_error(), caret), "caret not in column %d:\n%s",
                  cases[n].column, cla_error());
    }
}

Test(expr, bounds_depth_and_length)
{
    char text[4 * CLA_EXPR_LONGEST] = "";
    cla_expr *e = NULL;
    memset(text, '(', CLA_EXPR_DEEPEST + 1);
    cr_assert_eq(cla_expr_parse(&e, "score", text, NAMES, NAMES_COUNT), CLA_E_USAGE);
    cr_assert(strstr(cla_error(), "operators are open"), "%s", cla_error());
    memset(text, ' ', CLA_EXPR_LONGEST + 1);
    cr_assert_eq(cla_expr_parse(&e, "score", text, NAMES, NAMES_COUNT), CLA_E_USAGE);
    cr_assert(strstr(cla_error(), "more than 1000 characters"), "%s", cla_error());
}

/* ---- derivatives ----------------------------------------------------------------- */

/* Returns whether the analytic slope agrees with a central difference. True as well
 * where the two sides of the difference disagree, as at a kink. */
static bool close_slope(cla_expr *e, int node, world *w, double *x)
{
    const double step = 1e-6 * fmax(1, fabs(*x)), kept = *x;
    double y[3], got = node < 0 ? 0 : evaluate(e, node, w);
    for (int n = 0; n < 3; n++) {
        *x = kept + (n - 1) * step;
        y[n] = evaluate(e, e->root, w);
    }
    *x = kept;
    const double left = (y[1] - y[0]) / step, right = (y[2] - y[1]) / step;
    const double want = (left + right) / 2;
    if (!isfinite(want) || fabs(left - right) > 1e-3 * fmax(1, fabs(want))) {
        return true; // a kink, a jump, or overflow
    }
    const double noise = 1e-8 * fmax(fabs(y[1]), 1);
    return fabs(got - want) <= 1e-4 * fmax(1, fabs(want)) + noise;
}

static void check_slopes(const char *text, const bool *wanted)
{
    world w = make_world();
    cla_expr *e = parse(text);
    cla_expr_gradient g;
    cr_assert_eq(cla_expr_differentiate(e, &g, S, wanted), CLA_OK, "%s", cla_error());
    cr_assert(close_slope(e, g.variable, &w, &w.variable[S]), "d/ds of %s", text);
    for (int n = 0; n < ROWS && wanted && wanted[RATE]; n++) {
        const double step = 1e-6, kept = w.rate[n];
        double got = 0;
        for (size_t r = 0; r < g.count; r++) {
            const cla_expr_node *read = &e->nodes[g.reads[r].read];
            const int at = (int)evaluate(e, read->child[0], &w);
            got += read->which == RATE && bounded(at, ROWS) == n
                       ? evaluate(e, g.reads[r].value, &w)
                       : 0;
        }
        w.rate[n] = kept + step;
        const double high = evaluate(e, e->root, &w);
        w.rate[n] = kept - step;
        const double want = (high - evaluate(e, e->root, &w)) / (2 * step);
        w.rate[n] = kept;
        cr_assert(fabs(got - want) <= 1e-6 * fmax(1, fabs(want)),
                  "d/drate[%d] of %s is %g, must be %g", n, text, got, want);
    }
    cla_expr_gradient_free(&g);
    cla_expr_free(&e);
}

Test(expr, differentiates)
{
    static const char *const of_s[] = {
        "s",
        "3.0",
        "s * s - s / 4 + 2 / s",
        "30 * tanh(s / 30)",
        "exp(-s) * log(s) + sqrt(s) + pow(s, 3) + pow(2, s) + pow(s, s)",
        "abs(s - 1) + max(s, 0.5) + min(s, 0.5) + clamp(s, 0, 1) + clamp(2, 0, s)",
        "s > 0.5 ? s * i : -s",
        "-(-s) * (j - i)",
        "floor(s) + int(s) + s + round(s)",
        "sin(3 * s) * cos(s) + sigmoid(-s) * erf(s) + exp2(s / 2)",
    };
    static const char *const of_rate[] = {
        "s - rate[0] * abs(j - i)",
        "s * exp(-rate[1] * abs(j - i)) + rate[1] * rate[2]",
        "s + log(rate[i]) + pow(rate[0], 2) / rate[1]",
    };
    bool wanted[NAMES_COUNT] = { false };
    for (size_t n = 0; n < sizeof of_s / sizeof *of_s; n++) {
        check_slopes(of_s[n], NULL);
    }
    wanted[RATE] = true;
    for (size_t n = 0; n < sizeof of_rate / sizeof *of_rate; n++) {
        check_slopes(of_rate[n], wanted);
    }
}

/* An operand that a condition did not choose adds nothing to the slope, not even
 * NaN. */
Test(expr, has_slopes_beside_undefined_operands)
{
    static const struct {
        const char *text;
        double want; // at s = 0.75
    } cases[] = {
        { "s > 1 ? sqrt(s - 1) : 3 * s", 3 },
        { "s > 1 ? log(s - 0.75) * s : 3 * s", 3 },
        { "s > 1 ? s / (i - 4) : 3 * s", 3 },
        { "s > 1 ? s * (i / (i - 4)) : 3 * s", 3 },
        { "s > 1 ? s * exp(1e5) : 3 * s", 3 },
        { "s > 1 ? pow(s - 1, 0.5) : 3 * s", 3 },
        { "min(3 * s, 8 + sqrt(s - 0.75))", 3 },
        { "clamp(3 * s, -1, 5 + 0 * exp(s * 0))", 3 },
        { "max(log(s - 0.75), 3 * s)", 3 },
        { "max(3 * s, log(s - 0.75)) + min(s, 1 / (s - 0.75))", 4 },
        { "s > 1 ? max(sqrt(-s), abs(log(-s))) : 3 * s", 3 },
        { "s > 1 ? cos(1 / (s - 0.75)) + erf(log(-s)) : 3 * s", 3 },
        { "s > 1 ? clamp(log(-s), sqrt(-s), s) : 3 * s", 3 },
        { "clamp(log(s - 0.75), 2 * s, 7)", 2 },
        { "3 * s + pow(s - 0.75, 0) + pow(s - 0.75, i - 4)", 3 },
        { "3 * s + pow(s - 0.75, 0.0 * rate[0])", 3 },
        { "3 * s + (s - 0.75) / 1e-45", 3 + 0x1p149 },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        world w = make_world();
        cla_expr *e = parse(cases[n].text);
        cla_expr_gradient g;
        cr_assert_eq(cla_expr_differentiate(e, &g, S, NULL), CLA_OK);
        const double got = evaluate(e, g.variable, &w);
        cr_assert(got == cases[n].want, "d/ds of %s is %g", cases[n].text, got);
        cla_expr_gradient_free(&g);
        cla_expr_free(&e);
    }
}

/* NaN in an argument reaches the value and the slope by each argument. */
Test(expr, passes_nan_on)
{
    static const char *const texts[] = {
        "min(s, log(-s))",       "min(log(-s), s)",      "max(s, log(-s))",
        "max(log(-s), s)",       "clamp(s, log(-s), 9)", "clamp(s, 0, log(-s))",
        "clamp(log(-s), s, 9)",  "abs(log(-s))",         "sigmoid(log(-s))",
        "erf(log(-s)) * cos(s)", "exp2(log(-s))",
    };
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        world w = make_world();
        cla_expr *e = parse(texts[n]);
        cla_expr_gradient g;
        cr_assert_eq(cla_expr_differentiate(e, &g, S, NULL), CLA_OK);
        cr_assert(isnan(evaluate(e, e->root, &w)), "%s", texts[n]);
        cr_assert(isnan(evaluate(e, g.variable, &w)), "d/ds of %s", texts[n]);
        cla_expr_gradient_free(&g);
        cla_expr_free(&e);
    }
}

Test(expr, refuses_gradients_that_are_always_zero)
{
    static const char *const texts[] = {
        "s + floor(rate[0])",
        "s + round(rate[0])",
        "rate[0] > s ? s : 0",
        "s + table[int(rate[0])][0]",
    };
    bool wanted[NAMES_COUNT] = { false };
    wanted[RATE] = true;
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        cla_expr *e = parse(texts[n]);
        cla_expr_gradient g;
        cr_assert_eq(cla_expr_differentiate(e, &g, S, wanted), CLA_E_USAGE, "%s",
                     texts[n]);
        cr_assert(strstr(cla_error(), "no gradient of 'rate'"), "%s", cla_error());
        cla_expr_free(&e);
    }
}

/* ---- random expressions ---------------------------------------------------------- */

static uint64_t state = 42;
static unsigned draw(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/* Writes a valid or invalid text: pieces that often fit together. */
static void random_text(char *text, size_t size)
{
    static const char *const pieces[] = {
        "s",      "i",          "j",      "R",     "1",        "2.5",    "+",
        "-",      "*",          "/",      "%",     "(",        ")",      "abs(",
        ",",      "exp(",       "tanh(",  "pow(",  "doc[",     "]",      "rate[",
        "table[", "][",         "?",      ":",     "<",        "==",     "&&",
        "!",      "max(",       "clamp(", "sqrt(", "int(",     "log(",   "0",
        "s *",    "sin(",       "cos(",   "erf(",  "sigmoid(", "round(", "exp2(",
        "0x",     "2147483648", "p-1",    "s +",   "- s",      "(s)",    "i < j",
        "i - j",  " ",          "floor(", "s / 2", "=",
    };
    size_t used = 0;
    const unsigned count = 1 + draw(14);
    text[0] = '\0';
    for (unsigned n = 0; n < count; n++) {
        const char *piece = pieces[draw(sizeof pieces / sizeof *pieces)];
        used += (size_t)snprintf(text + used, size - used, "%s ", piece);
    }
}

/* The parser answers any text. Where it accepts a float, the slope by s agrees with
 * finite differences, and code can be written. */
Test(expr, survives_random_text)
{
    const bool varying[NAMES_COUNT] = { [S] = true, [I] = true };
    int valid = 0;
    for (int n = 0; n < 200000; n++) {
        char text[400];
        cla_expr *e = NULL;
        cla_expr_gradient g;
        cla_text code = { 0 };
        random_text(text, sizeof text);
        if (cla_expr_parse(&e, "score", text, NAMES, NAMES_COUNT)) {
            continue;
        }
        valid++;
        if (e->nodes[e->root].type == CLA_EXPR_FLOAT) {
            world w = make_world();
            w.variable[S] = 0.737; // no kink or step of these pieces lies here
            cr_assert_eq(cla_expr_differentiate(e, &g, S, NULL), CLA_OK);
            cr_assert(close_slope(e, g.variable, &w, &w.variable[S]), "d/ds of %s",
                      text);
            cla_expr_gradient_free(&g);
        }
        cr_assert_eq(cla_expr_emit(e, &e->root, 1, varying, &code), CLA_OK);
        cla_text_free(&code);
        cla_expr_free(&e);
    }
    cr_assert(valid > 1000, "only %d expressions were valid", valid);
    printf("# %d of 200000 texts are expressions\n", valid);
}
