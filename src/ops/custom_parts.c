/* custom_parts.c - parses and differentiates the expressions of a modifier. */
#include "ops/custom_parts.h"

#include <ctype.h>
#include <string.h>

static const char OP[] = "custom_attention";

static const cla_expr_name VARIABLE[VARIABLES] = {
    [VALUE] = { "s", CLA_EXPR_FLOAT, 0 }, [I] = { "i", CLA_EXPR_INT, 0 },
    [J] = { "j", CLA_EXPR_INT, 0 },       [HEAD] = { "h", CLA_EXPR_INT, 0 },
    [SAMPLE] = { "b", CLA_EXPR_INT, 0 },  [QUERIES] = { "T", CLA_EXPR_INT, 0 },
    [KEYS] = { "S", CLA_EXPR_INT, 0 },    [ROW_I] = { "ni", CLA_EXPR_INT, 0 },
    [ROW_J] = { "nj", CLA_EXPR_INT, 0 },
};
static const bool QUERY[NAMES] = { [I] = true, [ROW_I] = true };
static const bool KEY[NAMES] = { [VALUE] = true, [J] = true, [ROW_J] = true };

/* ---- names ----------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_') {
        n++;
    }
    return n && n < 32 && !name[n] && !isdigit((unsigned char)name[0]);
}

static bool is_taken(const custom_parts *p, const char *name)
{
    for (int i = 0; i < p->names_count; i++) {
        if (strcmp(p->names[i].name, name) == 0) {
            return true;
        }
    }
    return strcmp(name, "w") == 0 || cla_expr_function_find(name, strlen(name)) >= 0;
}

static cla_status add_input(custom_parts *p, const cla_custom_input *input)
{
    if (!is_name(input->name)) {
        return cla_fail(CLA_E_USAGE, "%s: '%.40s' is no name for an input", OP,
                        input->name);
    }
    if (is_taken(p, input->name)) {
        return cla_fail(CLA_E_USAGE, "%s: the name '%s' is taken", OP, input->name);
    }
    const cla_tensor *t = input->tensor;
    p->names[p->names_count++] =
        (cla_expr_name){ input->name,
                         t->dtype == CLA_F32 ? CLA_EXPR_FLOAT : CLA_EXPR_INT, t->rank };
    return CLA_OK;
}

static cla_status collect_names(custom_parts *p, const cla_attention_mod *mod)
{
    memcpy(p->names, VARIABLE, sizeof VARIABLE);
    p->names_count = VARIABLES;
    for (int i = 0; i < CLA_CUSTOM_INPUTS && mod->inputs[i].name; i++) {
        CLA_TRY(add_input(p, &mod->inputs[i]));
    }
    memcpy(p->weight_names, p->names, sizeof p->names);
    p->weight_names[VALUE].name = "w";
    return CLA_OK;
}

/* ---- expressions ----------------------------------------------------------------- */

bool cla_custom_reads(const cla_expr *e, int node, int name)
{
    bool only[NAMES] = { false };
    only[name] = true;
    return cla_expr_varies(e, node, only);
}

/* Returns the first node that is the same function of the names as node n; first[i] is
 * that of each node i before n. */
static int first_same(const cla_expr *e, const int *first, int n)
{
    const cla_expr_node *x = &e->nodes[n];
    for (int i = 0; i < n; i++) {
        const cla_expr_node *y = &e->nodes[i];
        bool same = x->kind == y->kind && x->which == y->which &&
                    x->count == y->count && x->value == y->value;
        for (int c = 0; same && c < x->count; c++) {
            same = first[x->child[c]] == first[y->child[c]];
        }
        if (same) {
            return i;
        }
    }
    return n;
}

/* Makes one read of all that go to the same place; first: see first_same. */
static cla_status merge_same(custom_part *p, const int *first)
{
    cla_expr_gradient *g = &p->slope;
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) {
        const cla_expr_contribution c = g->reads[i];
        size_t n = 0;
        while (n < count && first[g->reads[n].read] != first[c.read]) {
            n++;
        }
        if (n == count) {
            g->reads[count++] = c;
            continue;
        }
        const cla_expr_node sum = { .kind = CLA_EXPR_ADD,
                                    .count = 2,
                                    .child = { g->reads[n].value, c.value } };
        CLA_TRY(cla_expr_add(p->e, &g->reads[n].value, sum));
    }
    g->count = count;
    return CLA_OK;
}

static cla_status merge_reads(custom_part *p)
{
    int *first = NULL;
    const int count = p->e->root + 1; // reads stand before the root
    CLA_TRY(cla_alloc(&first, (size_t)count, sizeof *first));
    for (int n = 0; n < count; n++) {
        first[n] = first_same(p->e, first, n);
    }
    const cla_status status = merge_same(p, first);
    free(first);
    return status;
}

/* Returns whether the indices of a read depend on one of the names. */
static bool varies_by(const cla_expr *e, const cla_expr_contribution *c,
                      const bool *names)
{
    const cla_expr_node *read = &e->nodes[c->read];
    bool varies = false;
    for (int i = 0; i < read->count; i++) {
        varies = varies || cla_expr_varies(e, read->child[i], names);
    }
    return varies;
}

/* Moves the reads of an input that depend on no key to place `to` and behind, if their
 * indices depend on the query or not. Returns how many they are. */
static int gather_reads(custom_part *p, int to, int input, bool by_query)
{
    cla_expr_gradient *g = &p->slope;
    int count = 0;
    for (int i = to; i < (int)g->count; i++) {
        const cla_expr_contribution c = g->reads[i];
        if (p->e->nodes[c.read].which == input && !varies_by(p->e, &c, KEY) &&
            varies_by(p->e, &c, QUERY) == by_query) {
            memmove(g->reads + to + count + 1, g->reads + to + count,
                    (size_t)(i - to - count) * sizeof c);
            g->reads[to + count++] = c;
        }
    }
    return count;
}

static bool has_read(const cla_expr *e, int input)
{
    for (int i = 0; e && i <= e->root; i++) {
        if (e->nodes[i].kind == CLA_EXPR_READ && e->nodes[i].which == input) {
            return true;
        }
    }
    return false;
}

/* Returns whether derivatives need the value itself. */
static bool keeps_value(const custom_part *p)
{
    const cla_expr_gradient *g = &p->slope;
    bool keeps = g->variable >= 0 && cla_custom_reads(p->e, g->variable, VALUE);
    for (size_t i = 0; i < g->count; i++) {
        keeps = keeps || cla_custom_reads(p->e, g->reads[i].value, VALUE) ||
                cla_custom_reads(p->e, g->reads[i].read, VALUE);
    }
    return keeps;
}

static bool is_one(const cla_expr *e, int node)
{
    return node >= 0 && e->nodes[node].kind == CLA_EXPR_NUMBER &&
           e->nodes[node].value == 1;
}

static cla_status differentiate(custom_part *p, const bool *inputs)
{
    bool wanted[NAMES] = { false };
    cla_expr *e = p->e;
    memcpy(wanted + VARIABLES, inputs, CLA_CUSTOM_INPUTS * sizeof *wanted);
    if (e->nodes[e->root].type == CLA_EXPR_BOOL) {
        return cla_expr_fail(e, 0, "a number is needed, this is a condition");
    }
    CLA_TRY(cla_expr_to_float(e, &e->root));
    CLA_TRY(cla_expr_differentiate(e, &p->slope, VALUE, wanted));
    CLA_TRY(merge_reads(p));
    p->steep = !is_one(e, p->slope.variable);
    p->keeps = keeps_value(p);
    for (int n = VARIABLES; n < NAMES; n++) {
        p->uniforms += gather_reads(p, p->uniforms, n, false);
    }
    return CLA_OK;
}

/* Returns whether node n is w times a factor without w. factor[i] is the result for
 * each node i before n. */
static bool is_factor(const cla_expr *e, const bool *factor, int n)
{
    const cla_expr_node *node = &e->nodes[n];
    const int a = node->child[0], b = node->child[1];
    switch (node->kind) {
    case CLA_EXPR_NAME:
        return node->which == VALUE;
    case CLA_EXPR_NEGATE:
        return factor[a];
    case CLA_EXPR_MULTIPLY:
        return (factor[a] && !cla_custom_reads(e, b, VALUE)) ||
               (factor[b] && !cla_custom_reads(e, a, VALUE));
    case CLA_EXPR_DIVIDE:
        return factor[a] && !cla_custom_reads(e, b, VALUE);
    default:
        return false;
    }
}

static cla_status find_factor(custom_part *weight)
{
    bool *factor = NULL;
    CLA_TRY(cla_alloc(&factor, (size_t)weight->e->root + 1, sizeof *factor));
    for (int n = 0; n <= weight->e->root; n++) {
        factor[n] = is_factor(weight->e, factor, n);
    }
    weight->factor = factor[weight->e->root];
    free(factor);
    return CLA_OK;
}

static cla_status parse(custom_parts *p, const cla_attention_mod *mod)
{
    const char *score = mod->score ? mod->score : "s";
    CLA_TRY(cla_expr_parse(&p->score.e, "score", score, p->names, p->names_count));
    if (mod->mask) {
        CLA_TRY(cla_expr_parse(&p->mask, "mask", mod->mask, p->names, p->names_count));
        if (p->mask->nodes[p->mask->root].type != CLA_EXPR_BOOL) {
            return cla_expr_fail(p->mask, 0, "a condition is needed, this is a number");
        }
    }
    return mod->weight ? cla_expr_parse(&p->weight.e, "weight", mod->weight,
                                        p->weight_names, p->names_count)
                       : CLA_OK;
}

/* Fails for inputs that no expression reads, or wanted ones read by the mask only. */
static cla_status check_inputs(const custom_parts *p, const bool *wanted)
{
    for (int n = VARIABLES; n < p->names_count; n++) {
        const bool learned = has_read(p->score.e, n) || has_read(p->weight.e, n);
        const char *name = p->names[n].name;
        if (!learned && !has_read(p->mask, n)) {
            return cla_fail(CLA_E_USAGE, "%s: no expression reads '%s'", OP, name);
        }
        if (wanted[n - VARIABLES] && !learned) {
            return cla_fail(CLA_E_USAGE,
                            "%s: no gradient of '%s': only the mask reads it", OP,
                            name);
        }
    }
    return CLA_OK;
}

cla_status cla_custom_parts_make(custom_parts *p, const cla_attention_mod *mod,
                                 const bool wanted[CLA_CUSTOM_INPUTS])
{
    CLA_TRY(collect_names(p, mod));
    CLA_TRY(parse(p, mod));
    CLA_TRY(check_inputs(p, wanted));
    CLA_TRY(differentiate(&p->score, wanted));
    for (int n = VARIABLES; n < NAMES; n++) {
        p->score.rows +=
            gather_reads(&p->score, p->score.uniforms + p->score.rows, n, true);
    }
    if (!p->weight.e) {
        return CLA_OK;
    }
    CLA_TRY(differentiate(&p->weight, wanted));
    return find_factor(&p->weight);
}

/* Returns which index of a read is ni, where the other one is h, or -1. */
static int own_row(const cla_expr *e, int read)
{
    const cla_expr_node *n = &e->nodes[read];
    if (n->count != 2) {
        return -1;
    }
    const cla_expr_node *x = &e->nodes[n->child[0]], *y = &e->nodes[n->child[1]];
    if (x->kind != CLA_EXPR_NAME || y->kind != CLA_EXPR_NAME) {
        return -1;
    }
    return x->which == ROW_I && y->which == HEAD   ? 0
           : x->which == HEAD && y->which == ROW_I ? 1
                                                   : -1;
}

/* Returns how many reads have gradients of an input; *last is the last one. */
static int count_reads(const custom_part *p, int input, int *last)
{
    int count = 0;
    for (size_t i = 0; i < p->slope.count; i++) {
        if (p->e->nodes[p->slope.reads[i].read].which == input) {
            *last = p->slope.reads[i].read;
            count++;
        }
    }
    return count;
}

int cla_custom_own(const custom_parts *p, int input)
{
    int read = 0, other = 0;
    const bool one = count_reads(&p->score, input, &read) == 1 &&
                     count_reads(&p->weight, input, &other) == 0;
    return one ? own_row(p->score.e, read) : -1;
}

void cla_custom_parts_free(custom_parts *p)
{
    cla_expr_free(&p->score.e);
    cla_expr_free(&p->weight.e);
    cla_expr_free(&p->mask);
    cla_expr_gradient_free(&p->score.slope);
    cla_expr_gradient_free(&p->weight.slope);
}
