/* differentiate.c - reverse-mode derivatives of an expression, as further nodes.
 *
 * slope[n] is the node of d root / d n, or -1 for zero. Nodes are visited from the root
 * down; each adds to its children's slopes. Where a condition selects the other
 * operand, a slope is 0 and stays 0, even multiplied by infinity or NaN: at s = -1 the
 * slope of s > 0 ? sqrt(s) : s is 1, not NaN. */
#include "expr/expr.h"

typedef struct walk {
    cla_expr *e;
    int *slope;   // [root + 1]
    bool *chosen; // [root + 1] a condition decides whether the slope is 0
    int at;       // the current node: new nodes get its column
} walk;

static cla_status add(walk *w, int *out, cla_expr_kind kind, int a, int b, int c)
{
    const cla_expr_node node = {
        .kind = kind,
        .count = c >= 0   ? 3
                 : b >= 0 ? 2
                          : 1,
        .child = { a, b, c },
        .column = w->e->nodes[w->at].column,
    };
    return cla_expr_add(w->e, out, node);
}

static cla_status number(walk *w, int *out, double value)
{
    const cla_expr_node node = { .kind = CLA_EXPR_NUMBER,
                                 .type = CLA_EXPR_FLOAT,
                                 .value = value,
                                 .column = w->e->nodes[w->at].column };
    return cla_expr_add(w->e, out, node);
}

static cla_status call(walk *w, int *out, cla_expr_function function, int a, int b)
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

/* Returns whether a node's derivatives have factors that may be infinite or NaN. */
static bool multiplies(const cla_expr_node *n)
{
    switch (n->kind) {
    case CLA_EXPR_MULTIPLY:
    case CLA_EXPR_DIVIDE:
        return true;
    case CLA_EXPR_CALL:
        return n->which == CLA_EXPR_EXP || n->which == CLA_EXPR_LOG ||
               n->which == CLA_EXPR_TANH || n->which == CLA_EXPR_SQRT ||
               n->which == CLA_EXPR_POW;
    default:
        return false;
    }
}

/* Sets value = slope == 0 ? 0 : value, with the slope of the current node. */
static cla_status keep_zero(walk *w, int *value)
{
    int zero = 0, none = 0;
    CLA_TRY(number(w, &zero, 0));
    CLA_TRY(add(w, &none, CLA_EXPR_EQUAL, w->slope[w->at], zero, -1));
    return add(w, value, CLA_EXPR_SELECT, none, zero, *value);
}

/* Adds nodes for slope[child] += value. */
static cla_status give(walk *w, int child, int value)
{
    if (w->e->nodes[child].type != CLA_EXPR_FLOAT) {
        return CLA_OK; // integers and conditions are constants
    }
    if (w->chosen[w->at]) {
        w->chosen[child] = true;
        CLA_TRY(multiplies(&w->e->nodes[w->at]) ? keep_zero(w, &value) : CLA_OK);
    }
    if (w->slope[child] < 0) {
        w->slope[child] = value;
        return CLA_OK;
    }
    return add(w, &w->slope[child], CLA_EXPR_ADD, w->slope[child], value, -1);
}

/* Adds nodes for slope[child] += slope * factor. */
static cla_status give_times(walk *w, int child, int slope, int factor)
{
    int product = 0;
    CLA_TRY(add(w, &product, CLA_EXPR_MULTIPLY, slope, factor, -1));
    return give(w, child, product);
}

/* Adds nodes for slope[child] += condition ? slope : 0. */
static cla_status give_where(walk *w, int child, int slope, int condition)
{
    int zero = 0, chosen = 0;
    CLA_TRY(number(w, &zero, 0));
    CLA_TRY(add(w, &chosen, CLA_EXPR_SELECT, condition, slope, zero));
    w->chosen[child] = true;
    return give(w, child, chosen);
}

/* d (a / b) = da / b - db a / b^2 */
static cla_status divide(walk *w, const cla_expr_node *n, int slope)
{
    int part = 0, share = 0;
    CLA_TRY(add(w, &part, CLA_EXPR_DIVIDE, slope, n->child[1], -1));
    CLA_TRY(give(w, n->child[0], part));
    CLA_TRY(add(w, &share, CLA_EXPR_DIVIDE, n->child[0], n->child[1], -1));
    CLA_TRY(add(w, &share, CLA_EXPR_MULTIPLY, share, part, -1));
    CLA_TRY(add(w, &share, CLA_EXPR_NEGATE, share, -1, -1));
    return give(w, n->child[1], share);
}

/* d pow(a, b) = da b pow(a, b - 1) + db pow(a, b) log(a), the latter 0 for a <= 0. */
static cla_status power(walk *w, const cla_expr_node *n, int slope)
{
    int one = 0, less = 0, factor = 0, zero = 0, above = 0, term = 0;
    CLA_TRY(number(w, &one, 1));
    CLA_TRY(number(w, &zero, 0));
    CLA_TRY(add(w, &less, CLA_EXPR_SUBTRACT, n->child[1], one, -1));
    CLA_TRY(call(w, &factor, CLA_EXPR_POW, n->child[0], less));
    CLA_TRY(add(w, &factor, CLA_EXPR_MULTIPLY, factor, n->child[1], -1));
    CLA_TRY(give_times(w, n->child[0], slope, factor));
    if (w->e->nodes[n->child[1]].kind == CLA_EXPR_NUMBER) {
        return CLA_OK;
    }
    CLA_TRY(add(w, &above, CLA_EXPR_GREATER, n->child[0], zero, -1));
    CLA_TRY(call(w, &term, CLA_EXPR_LOG, n->child[0], -1));
    CLA_TRY(add(w, &term, CLA_EXPR_MULTIPLY, term, w->at, -1));
    CLA_TRY(add(w, &term, CLA_EXPR_MULTIPLY, term, slope, -1));
    return give_where(w, n->child[1], term, above);
}

static bool is_nan_never(const walk *w, int n)
{
    const cla_expr_kind kind = w->e->nodes[n].kind;
    return kind == CLA_EXPR_NUMBER || kind == CLA_EXPR_FLOAT_OF;
}

/* Sets condition = condition || isnan(n): fmin and fmax return the other operand. */
static cla_status or_nan(walk *w, int *condition, int n)
{
    int nan = 0;
    if (is_nan_never(w, n)) {
        return CLA_OK;
    }
    CLA_TRY(add(w, &nan, CLA_EXPR_NOT_EQUAL, n, n, -1));
    return add(w, condition, CLA_EXPR_OR, *condition, nan, -1);
}

/* Gives the whole slope to x inside its bounds, else to the bound that applies. */
static cla_status clamp(walk *w, const cla_expr_node *n, int slope)
{
    int over = 0, under = 0, inside = 0, most = 0;
    CLA_TRY(call(w, &most, CLA_EXPR_MAX, n->child[0], n->child[1]));
    CLA_TRY(add(w, &over, CLA_EXPR_GREATER, most, n->child[2], -1));
    if (!is_nan_never(w, n->child[0]) && !is_nan_never(w, n->child[1])) {
        CLA_TRY(or_nan(w, &over, most));
    }
    CLA_TRY(give_where(w, n->child[2], slope, over));
    CLA_TRY(add(w, &under, CLA_EXPR_LESS, n->child[0], n->child[1], -1));
    CLA_TRY(or_nan(w, &under, n->child[0]));
    CLA_TRY(add(w, &inside, CLA_EXPR_NOT, over, -1, -1));
    CLA_TRY(add(w, &under, CLA_EXPR_AND, under, inside, -1));
    CLA_TRY(give_where(w, n->child[1], slope, under));
    CLA_TRY(add(w, &inside, CLA_EXPR_OR, over, under, -1));
    CLA_TRY(add(w, &inside, CLA_EXPR_NOT, inside, -1, -1));
    return give_where(w, n->child[0], slope, inside);
}

static cla_status smaller(walk *w, const cla_expr_node *n, int slope,
                          cla_expr_kind order)
{
    int first = 0, second = 0;
    CLA_TRY(add(w, &first, order, n->child[0], n->child[1], -1));
    CLA_TRY(or_nan(w, &first, n->child[1]));
    CLA_TRY(add(w, &second, CLA_EXPR_NOT, first, -1, -1));
    CLA_TRY(give_where(w, n->child[0], slope, first));
    return give_where(w, n->child[1], slope, second);
}

static cla_status absolute(walk *w, const cla_expr_node *n, int slope)
{
    int zero = 0, above = 0, below = 0, minus = 0;
    CLA_TRY(number(w, &zero, 0));
    CLA_TRY(add(w, &above, CLA_EXPR_GREATER, n->child[0], zero, -1));
    CLA_TRY(add(w, &below, CLA_EXPR_LESS, n->child[0], zero, -1));
    CLA_TRY(add(w, &minus, CLA_EXPR_NEGATE, slope, -1, -1));
    CLA_TRY(give_where(w, n->child[0], slope, above));
    return give_where(w, n->child[0], minus, below);
}

/* Handles exp, log, sqrt, tanh, floor and int; w->at is the function's own value. */
static cla_status smooth(walk *w, const cla_expr_node *n, int slope)
{
    int factor = w->at, one = 0, part = 0;
    switch ((cla_expr_function)n->which) {
    case CLA_EXPR_EXP:
        return give_times(w, n->child[0], slope, factor);
    case CLA_EXPR_LOG:
        CLA_TRY(add(w, &part, CLA_EXPR_DIVIDE, slope, n->child[0], -1));
        return give(w, n->child[0], part);
    case CLA_EXPR_SQRT:
        CLA_TRY(number(w, &one, 0.5));
        CLA_TRY(add(w, &part, CLA_EXPR_DIVIDE, one, w->at, -1));
        return give_times(w, n->child[0], slope, part);
    case CLA_EXPR_TANH:
        CLA_TRY(number(w, &one, 1));
        CLA_TRY(add(w, &part, CLA_EXPR_MULTIPLY, w->at, w->at, -1));
        CLA_TRY(add(w, &factor, CLA_EXPR_SUBTRACT, one, part, -1));
        return give_times(w, n->child[0], slope, factor);
    default:
        return CLA_OK; // floor and int: constant between their steps
    }
}

static cla_status back_call(walk *w, const cla_expr_node *n, int slope)
{
    switch ((cla_expr_function)n->which) {
    case CLA_EXPR_ABS:
        return absolute(w, n, slope);
    case CLA_EXPR_MIN:
        return smaller(w, n, slope, CLA_EXPR_LESS_EQUAL);
    case CLA_EXPR_MAX:
        return smaller(w, n, slope, CLA_EXPR_GREATER_EQUAL);
    case CLA_EXPR_CLAMP:
        return clamp(w, n, slope);
    case CLA_EXPR_POW:
        return power(w, n, slope);
    default:
        return smooth(w, n, slope);
    }
}

/* Adds the contributions of node `at` to the slopes of its children. */
static cla_status back(walk *w, int at)
{
    const cla_expr_node n = w->e->nodes[at]; // a copy: the list grows
    const int slope = w->slope[at];
    int minus = 0, other = 0;
    w->at = at;
    switch (n.kind) {
    case CLA_EXPR_NEGATE:
        CLA_TRY(add(w, &minus, CLA_EXPR_NEGATE, slope, -1, -1));
        return give(w, n.child[0], minus);
    case CLA_EXPR_ADD:
        CLA_TRY(give(w, n.child[0], slope));
        return give(w, n.child[1], slope);
    case CLA_EXPR_SUBTRACT:
        CLA_TRY(give(w, n.child[0], slope));
        CLA_TRY(add(w, &minus, CLA_EXPR_NEGATE, slope, -1, -1));
        return give(w, n.child[1], minus);
    case CLA_EXPR_MULTIPLY:
        CLA_TRY(give_times(w, n.child[0], slope, n.child[1]));
        return give_times(w, n.child[1], slope, n.child[0]);
    case CLA_EXPR_DIVIDE:
        return divide(w, &n, slope);
    case CLA_EXPR_SELECT:
        CLA_TRY(give_where(w, n.child[1], slope, n.child[0]));
        CLA_TRY(add(w, &other, CLA_EXPR_NOT, n.child[0], -1, -1));
        return give_where(w, n.child[2], slope, other);
    case CLA_EXPR_CALL:
        return back_call(w, &n, slope);
    default:
        return CLA_OK;
    }
}

/* Collects the slopes of the variable and of wanted reads into the gradient. */
static cla_status collect(walk *w, cla_expr_gradient *out, int variable,
                          const bool *wanted, int root)
{
    for (int i = 0; i <= root; i++) {
        const cla_expr_node n = w->e->nodes[i];
        const int slope = w->slope[i];
        if (slope < 0) {
            continue;
        }
        w->at = i;
        if (n.kind == CLA_EXPR_NAME && n.which == variable && out->variable < 0) {
            out->variable = slope;
        } else if (n.kind == CLA_EXPR_NAME && n.which == variable) {
            CLA_TRY(add(w, &out->variable, CLA_EXPR_ADD, out->variable, slope, -1));
        } else if (n.kind == CLA_EXPR_READ && wanted && wanted[n.which]) {
            CLA_TRY(
                cla_grow(&out->reads, &out->cap, out->count + 1, sizeof *out->reads));
            out->reads[out->count++] = (cla_expr_contribution){ i, slope };
        }
    }
    return CLA_OK;
}

/* Refuses wanted inputs that are read, but that no slope reached. */
static cla_status check_reached(const cla_expr *e, const cla_expr_gradient *g,
                                const bool *wanted, int root)
{
    for (int i = 0; i <= root; i++) {
        const cla_expr_node *n = &e->nodes[i];
        bool reached = n->kind != CLA_EXPR_READ || !wanted || !wanted[n->which];
        for (size_t r = 0; r < g->count && !reached; r++) {
            reached = e->nodes[g->reads[r].read].which == n->which;
        }
        if (!reached) {
            return cla_expr_fail(e, n->column,
                                 "no gradient of '%s': it is read only by conditions, "
                                 "int(), floor() or indices",
                                 e->names[n->which].name);
        }
    }
    return CLA_OK;
}

static cla_status differentiate(walk *w, cla_expr_gradient *out, int variable,
                                const bool *wanted)
{
    const int root = w->e->root;
    for (int i = 0; i <= root; i++) {
        w->slope[i] = -1;
    }
    w->at = root;
    CLA_TRY(number(w, &w->slope[root], 1));
    for (int i = root; i >= 0; i--) {
        if (w->slope[i] >= 0) {
            CLA_TRY(back(w, i));
        }
    }
    CLA_TRY(collect(w, out, variable, wanted, root));
    return check_reached(w->e, out, wanted, root);
}

cla_status cla_expr_differentiate(cla_expr *e, cla_expr_gradient *out, int variable,
                                  const bool *wanted)
{
    walk w = { .e = e };
    *out = (cla_expr_gradient){ .variable = -1 };
    if (e->nodes[e->root].type != CLA_EXPR_FLOAT) {
        return cla_expr_fail(e, 0, "only a float has a derivative");
    }
    CLA_TRY(cla_alloc(&w.slope, (size_t)e->root + 1, sizeof *w.slope));
    cla_status status = cla_alloc(&w.chosen, (size_t)e->root + 1, sizeof *w.chosen);
    status = status ? status : differentiate(&w, out, variable, wanted);
    free(w.slope);
    free(w.chosen);
    if (status) {
        cla_expr_gradient_free(out);
    }
    return status;
}

void cla_expr_gradient_free(cla_expr_gradient *g)
{
    free(g->reads);
    g->reads = NULL;
    g->count = g->cap = 0;
}
