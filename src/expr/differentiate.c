/* differentiate.c - reverse-mode derivatives of an expression, as further nodes.
 *
 * slope[n] is the node of d root / d n, or -1 for zero. Nodes are visited from the root
 * down; each adds to its children's slopes. Where a condition selects the other
 * operand, a slope is 0 and stays 0, even multiplied by infinity or NaN: at s = -1 the
 * slope of s > 0 ? sqrt(s) : s is 1, not NaN. Elsewhere 0 times infinity is NaN, as the
 * chain rule has it: that of sqrt(s) * sqrt(s) at s = 0. */
#include "expr/slope.h"

cla_status cla_slope_add(cla_slopes *w, int *out, cla_expr_kind kind, int a, int b,
                         int c)
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

cla_status cla_slope_number(cla_slopes *w, int *out, double value)
{
    const cla_expr_node node = { .kind = CLA_EXPR_NUMBER,
                                 .type = CLA_EXPR_FLOAT,
                                 .value = value,
                                 .column = w->e->nodes[w->at].column };
    return cla_expr_add(w->e, out, node);
}

/* Returns whether a node's derivatives have factors that may be infinite or NaN. */
static bool multiplies(const cla_expr_node *n)
{
    return n->kind == CLA_EXPR_MULTIPLY || n->kind == CLA_EXPR_DIVIDE ||
           n->kind == CLA_EXPR_CALL;
}

/* Sets value = slope == 0 ? 0 : value, with the slope of the current node. */
static cla_status keep_zero(cla_slopes *w, int *value)
{
    int zero = 0, none = 0;
    CLA_TRY(cla_slope_number(w, &zero, 0));
    CLA_TRY(cla_slope_add(w, &none, CLA_EXPR_EQUAL, w->slope[w->at], zero, -1));
    return cla_slope_add(w, value, CLA_EXPR_SELECT, none, zero, *value);
}

cla_status cla_slope_give(cla_slopes *w, int child, int value)
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
    return cla_slope_add(w, &w->slope[child], CLA_EXPR_ADD, w->slope[child], value, -1);
}

cla_status cla_slope_give_times(cla_slopes *w, int child, int slope, int factor)
{
    int product = 0;
    CLA_TRY(cla_slope_add(w, &product, CLA_EXPR_MULTIPLY, slope, factor, -1));
    return cla_slope_give(w, child, product);
}

/* Adds nodes for slope[child] += condition ? slope : 0. */
static cla_status give_where(cla_slopes *w, int child, int slope, int condition)
{
    int zero = 0, chosen = 0;
    CLA_TRY(cla_slope_number(w, &zero, 0));
    CLA_TRY(cla_slope_add(w, &chosen, CLA_EXPR_SELECT, condition, slope, zero));
    w->chosen[child] = true;
    return cla_slope_give(w, child, chosen);
}

/* d (a / b) = da / b - db (a / b) / b. The order keeps the latter 0 where a is 0 and
 * 1 / b is infinite. That of 1 / b has one factor without the slope, which compilers
 * move out of loops if b does not change in them. */
static cla_status divide(cla_slopes *w, const cla_expr_node *n, int slope)
{
    int part = 0, share = 0;
    CLA_TRY(cla_slope_add(w, &part, CLA_EXPR_DIVIDE, slope, n->child[1], -1));
    CLA_TRY(cla_slope_give(w, n->child[0], part));
    if (w->e->nodes[n->child[0]].kind == CLA_EXPR_NUMBER) {
        CLA_TRY(cla_slope_add(w, &share, CLA_EXPR_DIVIDE, w->at, n->child[1], -1));
        CLA_TRY(cla_slope_add(w, &share, CLA_EXPR_MULTIPLY, share, slope, -1));
    } else {
        CLA_TRY(cla_slope_add(w, &share, CLA_EXPR_MULTIPLY, w->at, slope, -1));
        CLA_TRY(cla_slope_add(w, &share, CLA_EXPR_DIVIDE, share, n->child[1], -1));
    }
    CLA_TRY(cla_slope_add(w, &share, CLA_EXPR_NEGATE, share, -1, -1));
    return cla_slope_give(w, n->child[1], share);
}

/* Adds the contributions of node `at` to the slopes of its children. */
static cla_status back(cla_slopes *w, int at)
{
    const cla_expr_node n = w->e->nodes[at]; // a copy: the list grows
    const int slope = w->slope[at];
    int minus = 0, other = 0;
    w->at = at;
    switch (n.kind) {
    case CLA_EXPR_NEGATE:
        CLA_TRY(cla_slope_add(w, &minus, CLA_EXPR_NEGATE, slope, -1, -1));
        return cla_slope_give(w, n.child[0], minus);
    case CLA_EXPR_ADD:
        CLA_TRY(cla_slope_give(w, n.child[0], slope));
        return cla_slope_give(w, n.child[1], slope);
    case CLA_EXPR_SUBTRACT:
        CLA_TRY(cla_slope_give(w, n.child[0], slope));
        CLA_TRY(cla_slope_add(w, &minus, CLA_EXPR_NEGATE, slope, -1, -1));
        return cla_slope_give(w, n.child[1], minus);
    case CLA_EXPR_MULTIPLY:
        CLA_TRY(cla_slope_give_times(w, n.child[0], slope, n.child[1]));
        return cla_slope_give_times(w, n.child[1], slope, n.child[0]);
    case CLA_EXPR_DIVIDE:
        return divide(w, &n, slope);
    case CLA_EXPR_SELECT:
        CLA_TRY(give_where(w, n.child[1], slope, n.child[0]));
        CLA_TRY(cla_slope_add(w, &other, CLA_EXPR_NOT, n.child[0], -1, -1));
        return give_where(w, n.child[2], slope, other);
    case CLA_EXPR_CALL:
        return cla_slope_of_call(w, &n, slope);
    default:
        return CLA_OK;
    }
}

/* Collects the slopes of the variable and of wanted reads into the gradient. */
static cla_status collect(cla_slopes *w, cla_expr_gradient *out, int variable,
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
            CLA_TRY(cla_slope_add(w, &out->variable, CLA_EXPR_ADD, out->variable, slope,
                                  -1));
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
                                 "int(), floor(), round() or indices",
                                 e->names[n->which].name);
        }
    }
    return CLA_OK;
}

static cla_status differentiate(cla_slopes *w, cla_expr_gradient *out, int variable,
                                const bool *wanted)
{
    const int root = w->e->root;
    for (int i = 0; i <= root; i++) {
        w->slope[i] = -1;
    }
    w->at = root;
    CLA_TRY(cla_slope_number(w, &w->slope[root], 1));
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
    cla_slopes w = { .e = e };
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
