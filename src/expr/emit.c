/* emit.c - writes an expression as statements of OpenCL C. */
#include <math.h>
#include <stdio.h>

#include "expr/expr.h"

typedef struct emitter {
    const cla_expr *e;
    cla_text *code;
    bool *varies; // of each node: whether it is a vector
} emitter;

static bool node_varies(const cla_expr_node *n, const bool *of_children,
                        const bool *varying)
{
    bool varies =
        (n->kind == CLA_EXPR_NAME || n->kind == CLA_EXPR_READ) && varying[n->which];
    for (int i = 0; i < n->count; i++) {
        varies = varies || of_children[n->child[i]];
    }
    return varies;
}

bool cla_expr_varies(const cla_expr *e, int node, const bool *varying)
{
    bool *all = calloc((size_t)node + 1, sizeof *all);
    if (!all) {
        return true; // a vector is never wrong
    }
    for (int i = 0; i <= node; i++) {
        all[i] = node_varies(&e->nodes[i], all, varying);
    }
    const bool result = all[node];
    free(all);
    return result;
}

/* Returns the type of a node's variable: "float", "intx" ... */
static const char *type_of(const emitter *m, int node)
{
    const bool whole = m->e->nodes[node].type != CLA_EXPR_FLOAT;
    if (m->varies[node]) {
        return whole ? "intx" : "floatx";
    }
    return whole ? "int" : "float";
}

/* Appends child c of a node as an operand: as a vector if the node is one. */
static cla_status operand(const emitter *m, int node, int c)
{
    const int child = m->e->nodes[node].child[c];
    if (!m->varies[node] || m->varies[child]) {
        return cla_text_add(m->code, "t%d", child);
    }
    switch (m->e->nodes[child].type) {
    case CLA_EXPR_BOOL: // a true lane has all bits set
        return cla_text_add(m->code, "(intx)(-t%d)", child);
    case CLA_EXPR_INT:
        return cla_text_add(m->code, "(intx)(t%d)", child);
    default:
        return cla_text_add(m->code, "(floatx)(t%d)", child);
    }
}

/* Appends name(first child, child ...), where first is a text. */
static cla_status function_of(const emitter *m, int node, const char *name,
                              const char *first)
{
    CLA_TRY(cla_text_add(m->code, "%s(%s", name, first));
    for (int i = 0; i < m->e->nodes[node].count; i++) {
        CLA_TRY(i ? cla_text_add(m->code, ", ") : CLA_OK);
        CLA_TRY(operand(m, node, i));
    }
    return cla_text_add(m->code, ")");
}

static cla_status function(const emitter *m, int node, const char *name)
{
    return function_of(m, node, name, "");
}

static cla_status infix(const emitter *m, int node, const char *sign)
{
    CLA_TRY(operand(m, node, 0));
    CLA_TRY(cla_text_add(m->code, " %s ", sign));
    return operand(m, node, 1);
}

/* Appends a call of a function of cl/custom.clh. Its integers wrap around, and its
 * floats are right for every argument. */
static cla_status own(const emitter *m, int node, const char *name)
{
    char full[32];
    snprintf(full, sizeof full, "expr_%s%s", name, m->varies[node] ? "_x" : "");
    return function(m, node, full);
}

static cla_status number(const emitter *m, const cla_expr_node *n)
{
    if (n->type == CLA_EXPR_INT) {
        const int whole = (int)n->value; // C has no literal of INT_MIN
        return whole == INT32_MIN ? cla_text_add(m->code, "(-2147483647 - 1)")
                                  : cla_text_add(m->code, "%d", whole);
    }
    return cla_text_add(m->code, "%af", (double)(float)n->value);
}

static cla_status read_node(const emitter *m, int node)
{
    char name[80];
    bool gather = false;
    const cla_expr_node *n = &m->e->nodes[node];
    for (int i = 0; i < n->count; i++) {
        gather = gather || m->varies[n->child[i]];
    }
    snprintf(name, sizeof name, "input_%d%s", n->which, gather ? "_x" : "");
    return function_of(m, node, name, "e, ");
}

/* Appends c ? x : y. A vector chooses by the sign bit, which is set in true lanes. */
static cla_status choice(const emitter *m, int node)
{
    const cla_expr_node *n = &m->e->nodes[node];
    CLA_TRY(cla_text_add(m->code, "t%d ? ", n->child[0]));
    CLA_TRY(operand(m, node, 1));
    CLA_TRY(cla_text_add(m->code, " : "));
    return operand(m, node, 2);
}

/* How a function is written: a built-in one of OpenCL, or one of cl/custom.clh for
 * floats (own) or integers (whole). */
typedef struct function_code {
    const char *built_in, *own, *whole;
} function_code;

static const function_code CODE[CLA_EXPR_FUNCTIONS] = {
    [CLA_EXPR_EXP] = { .own = "exp" },
    [CLA_EXPR_LOG] = { .built_in = "log" },
    [CLA_EXPR_TANH] = { .own = "tanh" },
    [CLA_EXPR_SQRT] = { .built_in = "sqrt" },
    [CLA_EXPR_ABS] = { .built_in = "fabs", .whole = "abs" },
    [CLA_EXPR_MIN] = { .own = "min_float", .whole = "min" },
    [CLA_EXPR_MAX] = { .own = "max_float", .whole = "max" },
    [CLA_EXPR_CLAMP] = { .own = "clamp_float", .whole = "clamp" },
    [CLA_EXPR_POW] = { .built_in = "pow" },
    [CLA_EXPR_FLOOR] = { .built_in = "floor" },
    [CLA_EXPR_TO_INT] = { .whole = "to_int" },
    [CLA_EXPR_EXP2] = { .built_in = "exp2" },
    [CLA_EXPR_SIN] = { .built_in = "sin" },
    [CLA_EXPR_COS] = { .built_in = "cos" },
    [CLA_EXPR_SIGMOID] = { .own = "sigmoid" },
    [CLA_EXPR_ERF] = { .own = "erf" },
    [CLA_EXPR_ROUND] = { .built_in = "round" },
};

static cla_status call(const emitter *m, int node)
{
    const cla_expr_node *n = &m->e->nodes[node];
    const function_code *code = &CODE[n->which];
    if (n->type == CLA_EXPR_INT) {
        return own(m, node, code->whole);
    }
    return code->own ? own(m, node, code->own) : function(m, node, code->built_in);
}

static cla_status arithmetic(const emitter *m, int node)
{
    static const char *const signs[] = { "+", "-", "*", "/" };
    static const char *const names[] = { "add", "subtract", "multiply", "" };
    const cla_expr_node *n = &m->e->nodes[node];
    const int which = (int)n->kind - (int)CLA_EXPR_ADD;
    if (n->type == CLA_EXPR_INT) {
        return own(m, node, names[which]);
    }
    return infix(m, node, signs[which]);
}

static cla_status logic(const emitter *m, int node)
{
    static const char *const signs[] = { "<", "<=", ">", ">=", "==", "!=", "&&", "||" };
    return infix(m, node, signs[m->e->nodes[node].kind - CLA_EXPR_LESS]);
}

static cla_status value(const emitter *m, int node)
{
    const cla_expr_node *n = &m->e->nodes[node];
    switch (n->kind) {
    case CLA_EXPR_NUMBER:
        return number(m, n);
    case CLA_EXPR_NAME:
        return cla_text_add(m->code, "v_%s", m->e->names[n->which].name);
    case CLA_EXPR_READ:
        return read_node(m, node);
    case CLA_EXPR_NEGATE:
        return n->type == CLA_EXPR_INT ? own(m, node, "negate")
                                       : function(m, node, "-");
    case CLA_EXPR_NOT:
        return function(m, node, "!");
    case CLA_EXPR_MODULO:
        return own(m, node, "modulo");
    case CLA_EXPR_SELECT:
        return choice(m, node);
    case CLA_EXPR_CALL:
        return call(m, node);
    case CLA_EXPR_FLOAT_OF:
        return function(m, node, m->varies[node] ? "convert_floatx" : "(float)");
    case CLA_EXPR_ADD:
    case CLA_EXPR_SUBTRACT:
    case CLA_EXPR_MULTIPLY:
    case CLA_EXPR_DIVIDE:
        return arithmetic(m, node);
    default:
        return logic(m, node);
    }
}

/* Marks the nodes that the roots need. Children come before their parents. */
static void mark(const cla_expr *e, bool *needed, const int *roots, int count)
{
    for (int i = 0; i < count; i++) {
        needed[roots[i]] = true;
    }
    for (int i = (int)e->count - 1; i >= 0; i--) {
        for (int c = 0; needed[i] && c < e->nodes[i].count; c++) {
            needed[e->nodes[i].child[c]] = true;
        }
    }
}

cla_status cla_expr_emit(const cla_expr *e, const int *roots, int count,
                         const bool *varying, cla_text *code)
{
    bool *flags = NULL;
    CLA_TRY(cla_alloc(&flags, 2 * e->count, sizeof *flags));
    bool *needed = flags + e->count;
    const emitter m = { e, code, flags };
    cla_status status = CLA_OK;
    mark(e, needed, roots, count);
    for (int i = 0; i < (int)e->count && !status; i++) {
        flags[i] = node_varies(&e->nodes[i], flags, varying);
        if (needed[i]) {
            status = cla_text_add(code, "    const %s t%d = ", type_of(&m, i), i);
            status = status ? status : value(&m, i);
            status = status ? status : cla_text_add(code, ";\n");
        }
    }
    free(flags);
    return status;
}
