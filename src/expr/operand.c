/* operand.c - parses the start of an operand: numbers, names, signs and brackets. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "expr/parse.h"

/* Returns the length of a number: letters, digits, dots, the sign of an exponent. */
static size_t number_size(const char *from, bool hex)
{
    size_t n = 0;
    while (isalnum((unsigned char)from[n]) || from[n] == '.' ||
           ((from[n] == '+' || from[n] == '-') && n &&
            tolower((unsigned char)from[n - 1]) == (hex ? 'p' : 'e'))) {
        n++;
    }
    return n;
}

/* Returns whether a minus sign stands directly in front of the next number: 2147483648
 * is an integer there only. */
static bool is_negated(const parser *p)
{
    const pending *top = p->opened ? &p->open[p->opened - 1] : NULL;
    return top && top->what == UNARY && top->kind == CLA_EXPR_NEGATE;
}

static cla_status no_number(const parser *p, size_t n, const char *why)
{
    return cla_expr_fail(p->e, cla_expr_column(p), "'%.*s%s' is no number%s",
                         (int)(n < 40 ? n : 40), p->at, n < 40 ? "" : "...", why);
}

/* Reads digits, decimal or hexadecimal, as an integer of 32 bits. */
static cla_status whole_number(const parser *p, const char *digits, bool hex,
                               double *value)
{
    const int64_t most = (int64_t)INT32_MAX + is_negated(p);
    const size_t n = strlen(digits);
    int64_t integer = 0;
    for (const char *at = digits + (hex ? 2 : 0); *at && integer <= most; at++) {
        const int c = tolower((unsigned char)*at);
        integer = integer * (hex ? 16 : 10) + (isdigit(c) ? c - '0' : c - 'a' + 10);
    }
    if (integer > most) {
        return no_number(p, n, ": beyond the integers of 32 bits");
    }
    *value = (double)(int32_t)(uint32_t)integer;
    return CLA_OK;
}

/* Reads a float, decimal or hexadecimal with an exponent, and rounds it to 32 bits. */
static cla_status real_number(const parser *p, char *digits, bool hex, double *value)
{
    const size_t n = strlen(digits);
    char *end = NULL;
    if (digits[n - 1] == 'f' && (!hex || strpbrk(digits, "pP"))) {
        digits[n - 1] = '\0';
    }
    // strtod would take "1e5nan"; a hexadecimal float without an exponent is not C
    const char *known = hex ? "xXpP+-.0123456789abcdefABCDEF" : "eE+-.0123456789";
    if (digits[strspn(digits, known)] || (hex && !strpbrk(digits, "pP"))) {
        return no_number(p, n, "");
    }
    double exact = 0;
    if (!cla_locale_number(digits, &end, &exact) || end == digits || *end) {
        return no_number(p, n, "");
    }
    const float rounded = (float)exact; // infinite beyond the largest float
    if (!isfinite(rounded)) {
        return no_number(p, n, ": larger than any float (3.4028235e38)");
    }
    const char *mantissa = digits + (hex ? 2 : 0);
    if (rounded == 0 && strspn(mantissa, "0.") < strcspn(mantissa, hex ? "pP" : "eE")) {
        return no_number(p, n, ": smaller than any float (1.4e-45)");
    }
    *value = (double)rounded;
    return CLA_OK;
}

static cla_status number(parser *p)
{
    char digits[CLA_EXPR_LONGEST + 1];
    const bool hex = p->at[0] == '0' && tolower((unsigned char)p->at[1]) == 'x';
    const size_t n = number_size(p->at, hex);
    cla_expr_node node = { .kind = CLA_EXPR_NUMBER, .column = cla_expr_column(p) };
    snprintf(digits, sizeof digits, "%.*s", (int)n, p->at);
    const char *first = digits + (hex ? 2 : 0);
    const bool whole =
        *first && !first[strspn(first, hex ? "0123456789abcdefABCDEF" : "0123456789")];
    node.type = whole ? CLA_EXPR_INT : CLA_EXPR_FLOAT;
    CLA_TRY(whole ? whole_number(p, digits, hex, &node.value)
                  : real_number(p, digits, hex, &node.value));
    p->at += n;
    return cla_expr_push_value(p, node);
}

static cla_status unknown(parser *p, const char *kind, size_t size)
{
    cla_text known = { 0 };
    cla_status status = CLA_OK;
    for (int i = 0; i < p->e->names_count && !status; i++) {
        status = cla_text_add(&known, "%s%s", i ? ", " : "", p->e->names[i].name);
    }
    if (!status) {
        status = cla_expr_fail(p->e, cla_expr_column(p),
                               "%s '%.*s' is not known; names are %s", kind,
                               (int)(size < 40 ? size : 40), p->at, known.data);
    }
    cla_text_free(&known);
    return status;
}

static int find_name(const cla_expr *e, const char *name, size_t size)
{
    for (int i = 0; i < e->names_count; i++) {
        if (strlen(e->names[i].name) == size && !memcmp(e->names[i].name, name, size)) {
            return i;
        }
    }
    return -1;
}

static cla_status call(parser *p, size_t size)
{
    const int function = cla_expr_function_find(p->at, size);
    const pending open = { .what = CALL,
                           .column = cla_expr_column(p),
                           .which = function,
                           .kind = CLA_EXPR_CALL };
    if (function < 0) {
        return cla_expr_fail(p->e, cla_expr_column(p), "function '%.*s' is not known",
                             (int)(size < 40 ? size : 40), p->at);
    }
    p->at = cla_expr_skip_space(p->at + size) + 1; // after the '('
    return cla_expr_push_open(p, open);
}

static cla_status name(parser *p)
{
    size_t size = 0;
    while (isalnum((unsigned char)p->at[size]) || p->at[size] == '_') {
        size++;
    }
    const char next = *cla_expr_skip_space(p->at + size);
    if (next == '(') {
        return call(p, size);
    }
    const int which = find_name(p->e, p->at, size);
    if (which < 0) {
        return unknown(p, "name", size);
    }
    const cla_expr_name *known = &p->e->names[which];
    if ((next == '[') != (known->rank > 0)) {
        return cla_expr_fail(p->e, cla_expr_column(p), "'%s' takes %d indices, %s",
                             known->name, known->rank,
                             next == '[' ? "some are given" : "none is given");
    }
    if (!known->rank) {
        const cla_expr_node node = {
            .kind = CLA_EXPR_NAME,
            .type = known->type,
            .which = which,
            .column = cla_expr_column(p),
        };
        p->at += size;
        return cla_expr_push_value(p, node);
    }
    const pending open = { .what = INDEX,
                           .kind = CLA_EXPR_READ,
                           .which = which,
                           .column = cla_expr_column(p) };
    p->at = cla_expr_skip_space(p->at + size) + 1; // after the '['
    return cla_expr_push_open(p, open);
}

cla_status cla_expr_operand(parser *p)
{
    const char c = *p->at;
    pending prefix = { .what = UNARY,
                       .precedence = PREFIX,
                       .column = cla_expr_column(p) };
    switch (c) {
    case '(':
        prefix.what = PAREN;
        break;
    case '-':
        prefix.kind = CLA_EXPR_NEGATE;
        break;
    case '!':
        prefix.kind = CLA_EXPR_NOT;
        break;
    case '+':
        p->at++;
        return CLA_OK;
    default:
        if (isdigit((unsigned char)c) || c == '.') {
            return number(p);
        }
        if (isalpha((unsigned char)c) || c == '_') {
            return name(p);
        }
        return cla_expr_fail(p->e, cla_expr_column(p),
                             c ? "a number, a name or '(' is needed here"
                               : "the expression ends too early");
    }
    p->at++;
    return cla_expr_push_open(p, prefix);
}
