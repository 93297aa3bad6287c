/* numbers.c - literals: all that a float holds, all integers of 32 bits, refusals. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/rng.h"
#include "expr/expr.h"

static const cla_expr_name NAMES[] = { { "s", CLA_EXPR_FLOAT, 0 } };

/* Returns the value of a text, or NaN where it is refused. */
static double value_of(const char *text, cla_expr_type *type)
{
    const double none[1] = { 0 };
    const cla_expr_values values = { none, NULL, NULL };
    cla_expr *e = NULL;
    double value = NAN;
    if (cla_expr_parse(&e, "score", text, NAMES, 1)) {
        return NAN;
    }
    cr_assert_eq(cla_expr_evaluate(e, e->root, &values, &value), CLA_OK);
    *type = e->nodes[e->root].type;
    cla_expr_free(&e);
    return value;
}

static void check_code(const char *text, const char *want)
{
    const bool varying[1] = { false };
    cla_text code = { 0 };
    cla_expr *e = NULL;
    cr_assert_eq(cla_expr_parse(&e, "score", text, NAMES, 1), CLA_OK);
    cr_assert_eq(cla_expr_emit(e, &e->root, 1, varying, &code), CLA_OK);
    cr_assert(strstr(code.data, want), "%s: %s", text, code.data);
    cla_text_free(&code);
    cla_expr_free(&e);
}

Test(numbers, hold_what_their_types_do)
{
    static const struct {
        const char *text;
        double want;
        cla_expr_type type;
    } cases[] = {
        { "2147483647", 2147483647.0, CLA_EXPR_INT },
        { "-2147483648", -2147483648.0, CLA_EXPR_INT },
        { "-+ 2147483648", -2147483648.0, CLA_EXPR_INT },
        { "- -2147483648", -2147483648.0, CLA_EXPR_INT },
        { "-2147483648 - 1", 2147483647.0, CLA_EXPR_INT },
        { "0x7fffffff", 2147483647.0, CLA_EXPR_INT },
        { "-0X80000000", -2147483648.0, CLA_EXPR_INT },
        { "0x1f", 31, CLA_EXPR_INT },
        { "0000000000000000000000000000007", 7, CLA_EXPR_INT },
        { "3.4028235e38", FLT_MAX, CLA_EXPR_FLOAT },
        { "-3.40282346638528859811704183484516925440e+38f", -FLT_MAX, CLA_EXPR_FLOAT },
        { "3.4028235677e38", FLT_MAX, CLA_EXPR_FLOAT },
        { "1.17549435e-38", FLT_MIN, CLA_EXPR_FLOAT },
        { "1e-45", 0x1p-149, CLA_EXPR_FLOAT },
        { "1.4e-45", 0x1p-149, CLA_EXPR_FLOAT },
        { "5.9e-39", (double)5.9e-39f, CLA_EXPR_FLOAT },
        { "0x1p-149", 0x1p-149, CLA_EXPR_FLOAT },
        { "0x1.fffffep127", FLT_MAX, CLA_EXPR_FLOAT },
        { "0X1.8P+3f", 12, CLA_EXPR_FLOAT },
        { "0.1", (double)0.1f, CLA_EXPR_FLOAT },
        { "0e-999", 0, CLA_EXPR_FLOAT },
        { "0x0p0", 0, CLA_EXPR_FLOAT },
        { "16777217.", 16777216, CLA_EXPR_FLOAT },
        { ".5", 0.5, CLA_EXPR_FLOAT },
        { "2147483648.", 2147483648.0, CLA_EXPR_FLOAT },
        { "1e10", 1e10, CLA_EXPR_FLOAT },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        cla_expr_type type = CLA_EXPR_BOOL;
        const double got = value_of(cases[n].text, &type);
        cr_assert_eq(got, cases[n].want, "%s is %.17g: %s", cases[n].text, got,
                     cla_error());
        cr_assert_eq(type, cases[n].type, "%s", cases[n].text);
    }
    check_code("-2147483648", "= (-2147483647 - 1);");
    check_code("1e-45", "= 0x1p-149f;");
}

/* Every float and every integer comes back from its shortest and its exact text. */
Test(numbers, read_all_floats_and_integers)
{
    for (uint32_t n = 0; n < 20000; n++) {
        const uint32_t bits =
            cla_philox4x32((uint32_t[4]){ n }, (uint32_t[2]){ 42 }).v[0];
        const uint32_t size = bits & 0x7fffffffu;
        char text[3][200];
        float real;
        cla_expr_type type = CLA_EXPR_BOOL;
        memcpy(&real, &size, sizeof real);
        snprintf(text[0], sizeof *text, "%d", (int32_t)bits);
        cr_assert_eq(value_of(text[0], &type), (double)(int32_t)bits, "%s", text[0]);
        if (!isfinite(real)) {
            continue;
        }
        snprintf(text[0], sizeof *text, "%.9e", (double)real);
        snprintf(text[1], sizeof *text, "%.150f", (double)real);
        snprintf(text[2], sizeof *text, "%a", (double)real);
        for (int k = 0; k < 3; k++) {
            cr_assert_eq(value_of(text[k], &type), (double)real, "%s", text[k]);
            cr_assert_eq(type, CLA_EXPR_FLOAT);
        }
    }
}

/* In one line, with the literal and the reason. */
Test(numbers, say_what_is_refused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "2147483648", "'2147483648' is no number: beyond the integers of 32 bits" },
        { "-2147483649", "'2147483649' is no number: beyond the integers" },
        { "-(2147483648)", "'2147483648' is no number: beyond the integers" },
        { "0x80000000", "'0x80000000' is no number: beyond the integers" },
        { "99999999999999999999999", "is no number: beyond the integers" },
        { "1e999", "'1e999' is no number: larger than any float (3.4028235e38)" },
        { "3.4028236e38", "'3.4028236e38' is no number: larger than any float" },
        { "0x1p128", "'0x1p128' is no number: larger than any float" },
        { "1e-46", "'1e-46' is no number: smaller than any float (1.4e-45)" },
        { "0x1p-151", "'0x1p-151' is no number: smaller than any float" },
        { "0x", "'0x' is no number" },
        { "0x1.8", "'0x1.8' is no number" },
        { "0x1g", "'0x1g' is no number" },
        { "1.2.3", "'1.2.3' is no number" },
        { "1e", "'1e' is no number" },
        { "12abc", "'12abc' is no number" },
        { "1e5nan", "'1e5nan' is no number" },
        { "1ff", "'1ff' is no number" },
        { ".", "'.' is no number" },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        cla_expr_type type = CLA_EXPR_BOOL;
        const double got = value_of(cases[n].text, &type);
        cr_assert(isnan(got), "%s is %g", cases[n].text, got);
        cr_assert(strstr(cla_error(), cases[n].why), "%s", cla_error());
    }
}
