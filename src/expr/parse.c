/* parse.c - parses an expression by operator precedence with explicit stacks. */
#include "expr/parse.h"

#include <string.h>

typedef struct operator_row {
    const char *text; // operators of two characters come first
    cla_expr_kind kind;
    int precedence;
} operator_row;

static const operator_row OPERATORS[] = {
    { "||", CLA_EXPR_OR, EITHER },        { "&&", CLA_EXPR_AND, BOTH },
    { "==", CLA_EXPR_EQUAL, EQUALITY },   { "!=", CLA_EXPR_NOT_EQUAL, EQUALITY },
    { "<=", CLA_EXPR_LESS_EQUAL, ORDER }, { ">=", CLA_EXPR_GREATER_EQUAL, ORDER },
    { "<", CLA_EXPR_LESS, ORDER },        { ">", CLA_EXPR_GREATER, ORDER },
    { "+", CLA_EXPR_ADD, SUM },           { "-", CLA_EXPR_SUBTRACT, SUM },
    { "*", CLA_EXPR_MULTIPLY, PRODUCT },  { "/", CLA_EXPR_DIVIDE, PRODUCT },
    { "%", CLA_EXPR_MODULO, PRODUCT },
};

int cla_expr_column(const parser *p)
{
    return (int)(p->at - p->e->text);
}

static cla_status too_deep(const parser *p)
{
    return cla_expr_fail(p->e, cla_expr_column(p), "more than %d operators are open",
                         CLA_EXPR_DEEPEST);
}

const char *cla_expr_skip_space(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n') {
        at++;
    }
    return at;
}

cla_status cla_expr_push_value(parser *p, cla_expr_node node)
{
    if (p->values == CLA_EXPR_DEEPEST) {
        return too_deep(p);
    }
    CLA_TRY(cla_expr_add(p->e, &p->value[p->values], node));
    p->values++;
    p->operand = false;
    return CLA_OK;
}

cla_status cla_expr_push_open(parser *p, pending open)
{
    if (p->opened == CLA_EXPR_DEEPEST) {
        return too_deep(p);
    }
    p->open[p->opened++] = open;
    p->operand = true;
    return CLA_OK;
}

/* Makes a node of the last `count` values. */
static cla_status make(parser *p, const pending *from, cla_expr_kind kind, int count)
{
    cla_expr_node node = {
        .kind = kind, .which = from->which, .count = count, .column = from->column
    };
    p->values -= count;
    for (int i = 0; i < count; i++) {
        node.child[i] = p->value[p->values + i];
    }
    return cla_expr_push_value(p, node);
}

/* Completes pending operators down to one that binds less tightly, or a bracket. */
static cla_status reduce(parser *p, int precedence)
{
    while (p->opened) {
        const pending top = p->open[p->opened - 1];
        if (top.what > COLON || top.what == QUESTION || top.precedence < precedence) {
            return CLA_OK;
        }
        p->opened--;
        const int count = top.what == UNARY ? 1 : top.what == BINARY ? 2 : 3;
        CLA_TRY(make(p, &top, top.kind, count));
    }
    return CLA_OK;
}

/* Completes the operators inside the bracket that `closing` ends. Afterwards this is
 * the last open one. */
static cla_status close_to(parser *p, char closing)
{
    CLA_TRY(reduce(p, 0));
    const pending *top = p->opened ? &p->open[p->opened - 1] : NULL;
    if (top && top->what == QUESTION) {
        return cla_expr_fail(p->e, top->column, "'?' has no ':'");
    }
    if (!top || (closing == ']') != (top->what == INDEX)) {
        return cla_expr_fail(p->e, cla_expr_column(p), "'%c' closes nothing", closing);
    }
    return CLA_OK;
}

/* ---- after an operand ------------------------------------------------------------ */

static cla_status binary(parser *p)
{
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++) {
        const operator_row *row = &OPERATORS[i];
        if (!strncmp(p->at, row->text, strlen(row->text))) {
            const pending open = { .what = BINARY,
                                   .kind = row->kind,
                                   .precedence = row->precedence,
                                   .column = cla_expr_column(p) };
            CLA_TRY(reduce(p, row->precedence));
            p->at += strlen(row->text);
            return cla_expr_push_open(p, open);
        }
    }
    if (*p->at == '=') {
        return cla_expr_fail(p->e, cla_expr_column(p),
                             "nothing can be assigned; '==' compares");
    }
    return cla_expr_fail(p->e, cla_expr_column(p), "an operator is needed here");
}

static cla_status question(parser *p)
{
    const pending open = { .what = QUESTION,
                           .precedence = TERNARY,
                           .column = cla_expr_column(p) };
    CLA_TRY(reduce(p, TERNARY + 1));
    p->at++;
    return cla_expr_push_open(p, open);
}

static cla_status colon(parser *p)
{
    CLA_TRY(reduce(p, 0));
    if (!p->opened || p->open[p->opened - 1].what != QUESTION) {
        return cla_expr_fail(p->e, cla_expr_column(p), "':' has no '?'");
    }
    pending *open = &p->open[p->opened - 1];
    open->what = COLON;
    open->kind = CLA_EXPR_SELECT;
    p->at++;
    p->operand = true;
    return CLA_OK;
}

static cla_status comma(parser *p)
{
    pending *open = NULL;
    CLA_TRY(reduce(p, 0));
    open = p->opened ? &p->open[p->opened - 1] : NULL;
    if (!open || open->what != CALL ||
        open->count + 2 > cla_expr_function_arity(open->which)) {
        return cla_expr_fail(p->e, cla_expr_column(p), "',' has no place here");
    }
    open->count++;
    p->at++;
    p->operand = true;
    return CLA_OK;
}

static cla_status close_paren(parser *p)
{
    CLA_TRY(close_to(p, ')'));
    const pending *open = &p->open[--p->opened];
    if (open->what == CALL) {
        const int arity = cla_expr_function_arity(open->which);
        if (open->count + 1 != arity) {
            return cla_expr_fail(p->e, open->column, "%s takes %d arguments, %d given",
                                 cla_expr_function_name(open->which), arity,
                                 open->count + 1);
        }
        CLA_TRY(make(p, open, CLA_EXPR_CALL, arity));
    }
    p->at++;
    return CLA_OK;
}

static cla_status close_index(parser *p)
{
    CLA_TRY(close_to(p, ']'));
    pending *open = &p->open[p->opened - 1];
    const cla_expr_name *input = &p->e->names[open->which];
    const char *next = cla_expr_skip_space(p->at + 1);
    open->count++;
    if (*next == '[' && open->count < input->rank) {
        p->at = next + 1;
        p->operand = true;
        return CLA_OK;
    }
    if (*next == '[' || open->count < input->rank) {
        return cla_expr_fail(p->e, open->column, "'%s' takes %d indices, %s are given",
                             input->name, input->rank, *next == '[' ? "more" : "fewer");
    }
    p->opened--;
    p->at++;
    return make(p, open, CLA_EXPR_READ, open->count);
}

static cla_status follow(parser *p)
{
    switch (*p->at) {
    case '?':
        return question(p);
    case ':':
        return colon(p);
    case ',':
        return comma(p);
    case ')':
        return close_paren(p);
    case ']':
        return close_index(p);
    default:
        return binary(p);
    }
}

static cla_status finish(parser *p)
{
    if (p->operand) {
        return cla_expr_fail(p->e, cla_expr_column(p), "the expression ends too early");
    }
    CLA_TRY(reduce(p, 0));
    if (p->opened) {
        const pending *top = &p->open[p->opened - 1];
        return cla_expr_fail(p->e, top->column,
                             top->what == QUESTION ? "'?' has no ':'" : "not closed");
    }
    p->e->root = p->value[0];
    return CLA_OK;
}

static cla_status parse(cla_expr *e)
{
    parser p = { .e = e, .at = e->text, .operand = true };
    if (strlen(e->text) > CLA_EXPR_LONGEST) {
        return cla_fail(CLA_E_USAGE, "%s: the expression has more than %d characters",
                        e->what, CLA_EXPR_LONGEST);
    }
    for (p.at = cla_expr_skip_space(p.at); *p.at; p.at = cla_expr_skip_space(p.at)) {
        CLA_TRY(p.operand ? cla_expr_operand(&p) : follow(&p));
    }
    return finish(&p);
}

cla_status cla_expr_parse(cla_expr **out, const char *what, const char *text,
                          const cla_expr_name *names, int names_count)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    cla_expr *e = *out;
    e->names = names;
    e->names_count = names_count;
    cla_status status = cla_strdup(&e->what, what);
    status = status ? status : cla_strdup(&e->text, text);
    status = status ? status : parse(e);
    if (status) {
        cla_expr_free(out);
    }
    return status;
}

void cla_expr_free(cla_expr **e)
{
    if (*e) {
        free((*e)->what);
        free((*e)->text);
        free((*e)->nodes);
        free(*e);
        *e = NULL;
    }
}
