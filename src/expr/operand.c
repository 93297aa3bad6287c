/* operand.c - parses the start of an operand: numbers, names, signs and brackets. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "expr/parse.h"

static cla_status number(parser *p)
{
    char digits[64];
    const char *from = p->at;
    size_t n = 0;
    bool whole = true;
    while (isalnum((unsigned char)from[n]) || from[n] == '.' ||
           ((from[n] == '+' || from[n] == '-') && n && tolower(from[n - 1]) == 'e')) {
        whole = whole && isdigit((unsigned char)from[n]);
        n++;
    }
    cla_expr_node node = { .kind = CLA_EXPR_NUMBER, .column = cla_expr_column(p) };
    int64_t integer = 0;
    snprintf(digits, sizeof digits, "%.*s", (int)n, from);
    bool good = n < sizeof digits;
    if (good && whole) {
        good = cla_parse_int(digits, &integer) && integer <= INT32_MAX;
        node.type = CLA_EXPR_INT;
        node.value = (double)integer;
    } else if (good) {
        if (digits[n - 1] == 'f') {
            digits[n - 1] = '\0';
        }
        good = !strpbrk(digits, "xXnNpP") && cla_parse_double(digits, &node.value) &&
               node.value <= 3.4e38;
        node.type = CLA_EXPR_FLOAT;
    }
    if (!good) {
        return cla_expr_fail(p->e, cla_expr_column(p), "'%.*s' is no number",
                             (int)(n < 40 ? n : 40), from);
    }
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
