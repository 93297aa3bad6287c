/* custom_code.c - translates expressions of cla_custom_attention to kernel code. */
#include <string.h>

#include "ops/custom_parts.h"

/* The state of a translation. */
typedef struct maker {
    custom_parts parts;
    bool window;
    bool cells; // code for vectors, with a mask that does not read s and no window
    int own[CLA_CUSTOM_INPUTS]; // cla_custom_own
    cla_text text;
} maker;

/* A form of the functions: for scalars, or for vectors whose lanes differ in i or j. */
typedef struct form {
    const char *name;    // ending of the functions' names
    bool varying[NAMES]; // between lanes
} form;

static const form SINGLE = { "at", { false } };
static const form BY_QUERY = { "keys", { [VALUE] = true, [I] = true, [ROW_I] = true } };
static const form BY_KEY = { "queries",
                             { [VALUE] = true, [J] = true, [ROW_J] = true } };

static bool is_vector(const form *f)
{
    return f->varying[VALUE];
}

static cla_status write_switches(maker *m)
{
    const custom_part *score = &m->parts.score, *weight = &m->parts.weight;
    const cla_expr *mask = m->parts.mask;
    const int hides = !mask ? 0 : cla_custom_reads(mask, mask->root, VALUE) ? 2 : 1;
    const int weighs = !weight->e ? 0 : weight->factor ? 1 : 2;
    const bool sample = cla_custom_reads(score->e, score->e->root, SAMPLE) ||
                        (mask && cla_custom_reads(mask, mask->root, SAMPLE));
    CLA_TRY(cla_text_add(&m->text,
                         "#define SLOPE %d\n#define KEEPS_S %d\n#define MASK %d\n"
                         "#define WINDOW %d\n#define READS %d\n#define UNIFORMS %d\n"
                         "#define ROW_READS %d\n",
                         score->steep, score->keeps, hides, m->window,
                         (int)score->slope.count, score->uniforms, score->rows));
    return cla_text_add(&m->text,
                        "#define READS_SAMPLE %d\n#define REWEIGH %d\n"
                        "#define WEIGHT_READS %d\n#define WEIGHT_UNIFORMS %d\n",
                        sample, weighs, (int)weight->slope.count, weight->uniforms);
}

static const char *type_of(const maker *m, int input)
{
    return m->parts.names[input].type == CLA_EXPR_FLOAT ? "float" : "int";
}

static cla_status write_scope(maker *m)
{
    cla_text *t = &m->text;
    CLA_TRY(cla_text_add(t, "typedef struct scope {\n    custom_args a;\n"
                            "    int h, b, T, S, q_first, k_first;\n"));
    for (int n = VARIABLES; n < m->parts.names_count; n++) {
        CLA_TRY(cla_text_add(t, "    global const %s *in%d;\n", type_of(m, n), n));
    }
    CLA_TRY(m->cells ? cla_text_add(t, "    global const uchar *cells;\n") : CLA_OK);
    CLA_TRY(cla_text_add(t, "} scope;\n#define INPUT_PARAMETERS %s",
                         m->cells ? ", global const uchar *restrict cells" : ""));
    for (int n = VARIABLES; n < m->parts.names_count; n++) {
        CLA_TRY(cla_text_add(t, ", global const %s *restrict in%d", type_of(m, n), n));
    }
    CLA_TRY(cla_text_add(t, "\n#define CELLS %d\n#define SET_INPUTS(e) %s", m->cells,
                         m->cells ? "e.cells = cells; " : ""));
    for (int n = VARIABLES; n < m->parts.names_count; n++) {
        CLA_TRY(cla_text_add(t, "e.in%d = in%d; ", n, n));
    }
    return cla_text_add(t, "\n");
}

/* Writes the parameters for gradients of which each query has an element of its own,
 * and those of the score's gradients by rows. add: bits of the inputs. */
static cla_status write_own(maker *m)
{
    cla_text *t = &m->text;
    const custom_part *p = &m->parts.score;
    CLA_TRY(cla_text_add(t, "#define OWN_PARAMETERS "));
    for (int i = 0; i < CLA_CUSTOM_INPUTS; i++) {
        CLA_TRY(m->own[i] < 0 ? CLA_OK : cla_text_add(t, ", global float *d%d", i));
    }
    CLA_TRY(cla_text_add(t, "\n#define OWN_GRADIENTS(add) { "));
    for (int c = p->uniforms; c < p->uniforms + p->rows; c++) {
        const int i = p->e->nodes[p->slope.reads[c].read].which - VARIABLES;
        CLA_TRY(m->own[i] < 0 ? cla_text_add(t, "{ 0, 0 }, ")
                              : cla_text_add(t, "{ d%d, (add) >> %d & 1 }, ", i, i));
    }
    return cla_text_add(t, "{ 0, 0 } }\n");
}

/* Writes parameters, ", int i0, int i1", or arguments, ", i0, i1". */
static cla_status write_indices(maker *m, int rank, const char *type)
{
    for (int i = 0; i < rank; i++) {
        CLA_TRY(cla_text_add(&m->text, ", %si%d", type, i));
    }
    return CLA_OK;
}

/* Writes place_<n>, the place of element [i0][i1].. of an input; it clamps indices. */
static cla_status write_placer(maker *m, int n, bool vector)
{
    const char *whole = vector ? "intx" : "int", *x = vector ? "_x" : "";
    const int rank = m->parts.names[n].rank, first = (n - VARIABLES) * CUSTOM_RANK;
    CLA_TRY(cla_text_add(&m->text, "INLINE %s place_%d%s(const scope *e", whole, n, x));
    CLA_TRY(write_indices(m, rank, vector ? "intx " : "int "));
    CLA_TRY(cla_text_add(&m->text, ")\n{\n    %s at = (%s)(0);\n", whole, whole));
    for (int i = 0; i < rank; i++) {
        CLA_TRY(cla_text_add(&m->text,
                             "    at = at * e->a.dim[%d] + clamp(i%d, (%s)(0), "
                             "(%s)(e->a.dim[%d] - 1));\n",
                             first + i, i, whole, whole, first + i));
    }
    return cla_text_add(&m->text, "    return at;\n}\n");
}

/* Writes place_<n> and input_<n>, which returns that element. */
static cla_status write_reader(maker *m, int n, bool vector)
{
    const char *x = vector ? "_x" : "", *type = type_of(m, n);
    const int rank = m->parts.names[n].rank;
    CLA_TRY(write_placer(m, n, vector));
    CLA_TRY(cla_text_add(&m->text, "INLINE %s%s input_%d%s(const scope *e", type,
                         vector ? "x" : "", n, x));
    CLA_TRY(write_indices(m, rank, vector ? "intx " : "int "));
    CLA_TRY(cla_text_add(&m->text,
                         vector ? ")\n{\n    return gather_%s(e->in%d, "
                                : ")\n{\n    return *(global const %s *)(e->in%d + ",
                         type, n));
    CLA_TRY(cla_text_add(&m->text, "place_%d%s(e", n, x));
    CLA_TRY(write_indices(m, rank, ""));
    return cla_text_add(&m->text, "));\n}\n");
}

/* Writes the head of a function and its variables. */
static cla_status begin_function(maker *m, const form *f, const cla_expr *e,
                                 const char *type, const char *name, const char *more)
{
    const char *of_i = f->varying[I] ? "intx" : "int";
    const char *of_j = f->varying[J] ? "intx" : "int";
    return cla_text_add(
        &m->text,
        "INLINE %s %s_%s(const scope *e, %s v_%s, %s v_i, %s v_j%s)\n{\n"
        "    const int v_h = e->h, v_b = e->b, v_T = e->T, v_S = e->S;\n"
        "    const %s v_ni = v_i + e->q_first;\n"
        "    const %s v_nj = v_j + e->k_first;\n",
        type, name, f->name, is_vector(f) ? "floatx" : "float", e->names[VALUE].name,
        of_i, of_j, more, of_i, of_j);
}

static cla_status write_value(maker *m, const form *f, const cla_expr *e,
                              const char *name)
{
    const bool real = e->nodes[e->root].type == CLA_EXPR_FLOAT, x = is_vector(f);
    const char *type = real ? x ? "floatx" : "float" : x ? "intx" : "int";
    CLA_TRY(begin_function(m, f, e, type, name, ""));
    CLA_TRY(cla_expr_emit(e, &e->root, 1, f->varying, &m->text));
    const bool scalar = x && !cla_expr_varies(e, e->root, f->varying);
    return cla_text_add(&m->text, "    return (%s)(%st%d);\n}\n", type,
                        scalar && !real ? "-" : "", e->root);
}

/* Writes place_<n>(e, (type)(index), ...) + the start of input n's gradient. */
static cla_status write_place(maker *m, const cla_expr *e, int read, bool vector)
{
    const cla_expr_node *n = &e->nodes[read];
    CLA_TRY(cla_text_add(&m->text, "place_%d%s(e", n->which, vector ? "_x" : ""));
    for (int i = 0; i < n->count; i++) {
        CLA_TRY(cla_text_add(&m->text, ", (%s)(t%d)", vector ? "intx" : "int",
                             n->child[i]));
    }
    return cla_text_add(&m->text, ") + e->a.start[%d];\n", n->which - VARIABLES);
}

/* Writes the statements of the derivatives: the slope, and value and indices of each
 * read. */
static cla_status emit_slopes(maker *m, const custom_part *p, const form *f)
{
    const size_t count = p->slope.count;
    int *roots = NULL, n = 0;
    CLA_TRY(cla_alloc(&roots, 2 * count + 1, sizeof *roots));
    if (p->slope.variable >= 0) {
        roots[n++] = p->slope.variable;
    }
    for (size_t i = 0; i < count; i++) {
        roots[n++] = p->slope.reads[i].value;
        roots[n++] = p->slope.reads[i].read;
    }
    const cla_status status =
        n ? cla_expr_emit(p->e, roots, n, f->varying, &m->text) : CLA_OK;
    free(roots);
    return status;
}

static cla_status write_slope(maker *m, const custom_part *p, const form *f,
                              const char *name)
{
    const bool x = is_vector(f);
    const char *type = x ? "floatx" : "float";
    CLA_TRY(begin_function(m, f, p->e, type, name,
                           x ? ", floatx *give, intx *at" : ", float *give, int *at"));
    CLA_TRY(emit_slopes(m, p, f));
    for (int i = 0; i < (int)p->slope.count; i++) {
        CLA_TRY(cla_text_add(&m->text, "    give[%d] = (%s)(t%d);\n", i, type,
                             p->slope.reads[i].value));
        if (i >= p->uniforms) {
            CLA_TRY(cla_text_add(&m->text, "    at[%d] = ", i));
            CLA_TRY(write_place(m, p->e, p->slope.reads[i].read, x));
        }
    }
    if (p->slope.variable < 0) {
        return cla_text_add(&m->text, "    return (%s)(0.0f);\n}\n", type);
    }
    return cla_text_add(&m->text, "    return (%s)(t%d);\n}\n", type,
                        p->slope.variable);
}

/* Writes a function that gives the places for the sums of uniform reads. */
static cla_status write_uniforms(maker *m, const custom_part *p, const char *name)
{
    CLA_TRY(cla_text_add(&m->text,
                         "INLINE void %s_places(const scope *e, int *at)\n{\n"
                         "    const int v_h = e->h, v_b = e->b, v_T = e->T, v_S = e->S;"
                         "\n",
                         name));
    bool none[NAMES] = { false };
    int roots[CLA_EXPR_LONGEST];
    int n = 0;
    for (int i = 0; i < p->uniforms; i++) {
        const cla_expr_node *read = &p->e->nodes[p->slope.reads[i].read];
        for (int c = 0; c < read->count; c++) {
            roots[n++] = read->child[c];
        }
    }
    CLA_TRY(n ? cla_expr_emit(p->e, roots, n, none, &m->text) : CLA_OK);
    for (int i = 0; i < p->uniforms; i++) {
        CLA_TRY(cla_text_add(&m->text, "    at[%d] = ", i));
        CLA_TRY(write_place(m, p->e, p->slope.reads[i].read, false));
    }
    return cla_text_add(&m->text, "}\n");
}

static cla_status write_functions(maker *m, const form *f)
{
    const custom_parts *p = &m->parts;
    CLA_TRY(write_value(m, f, p->score.e, "score"));
    CLA_TRY(write_slope(m, &p->score, f, "slope"));
    CLA_TRY(p->mask ? write_value(m, f, p->mask, "mask") : CLA_OK);
    if (!p->weight.e) {
        return CLA_OK;
    }
    CLA_TRY(write_value(m, f, p->weight.e, "weight"));
    return write_slope(m, &p->weight, f, "weight_slope");
}

/* Writes the whole of generated.clh. */
static cla_status write_code(maker *m, bool vector, char **out)
{
    const cla_expr *mask = m->parts.mask;
    m->text = (cla_text){ 0 };
    m->cells =
        vector && !m->window && mask && !cla_custom_reads(mask, mask->root, VALUE);
    CLA_TRY(write_switches(m));
    CLA_TRY(write_scope(m));
    CLA_TRY(write_own(m));
    for (int n = VARIABLES; n < m->parts.names_count; n++) {
        CLA_TRY(write_reader(m, n, false));
        CLA_TRY(vector ? write_reader(m, n, true) : CLA_OK);
    }
    CLA_TRY(write_functions(m, vector ? &BY_QUERY : &SINGLE));
    CLA_TRY(vector ? write_functions(m, &BY_KEY) : CLA_OK);
    CLA_TRY(write_uniforms(m, &m->parts.score, "uniform"));
    if (m->parts.weight.e) {
        CLA_TRY(write_uniforms(m, &m->parts.weight, "weight"));
    }
    *out = m->text.data;
    m->text = (cla_text){ 0 };
    return CLA_OK;
}

/* ---- the code of a runtime's modifiers ------------------------------------------- */

static void free_code(cla_custom_code *code)
{
    free(code->key);
    free(code->tile);
    free(code->scalar);
    free(code);
}

static void free_all(cla_runtime *rt, void *state)
{
    (void)rt;
    for (cla_custom_code *code = state, *next; code; code = next) {
        next = code->next;
        free_code(code);
    }
}

/* Makes the key of a modifier: all that its code depends on. */
static cla_status describe(cla_text *key, const cla_attention_mod *mod,
                           const bool *wanted)
{
    CLA_TRY(cla_text_add(key, "%s\n%s\n%s\n%d", mod->score ? mod->score : "s",
                         mod->mask ? mod->mask : "", mod->weight ? mod->weight : "",
                         mod->window > 0));
    for (int i = 0; i < CLA_CUSTOM_INPUTS && mod->inputs[i].name; i++) {
        const cla_tensor *t = mod->inputs[i].tensor;
        CLA_TRY(cla_text_add(key, "\n%s %d %d %d", mod->inputs[i].name, (int)t->dtype,
                             t->rank, wanted[i]));
    }
    return CLA_OK;
}

static cla_status make(cla_custom_code *code, maker *m, const cla_attention_mod *mod,
                       const bool *wanted)
{
    CLA_TRY(cla_custom_parts_make(&m->parts, mod, wanted));
    code->reweighs = m->parts.weight.e != NULL;
    code->two_passes = m->parts.weight.e && !m->parts.weight.factor;
    code->rows = m->parts.score.rows > 0;
    code->adds = !m->parts.score.steep && !m->parts.score.keeps;
    for (int i = 0; i < CLA_CUSTOM_INPUTS; i++) {
        m->own[i] = cla_custom_own(&m->parts, VARIABLES + i);
    }
    memcpy(code->own, m->own, sizeof code->own);
    CLA_TRY(write_code(m, true, &code->tile));
    code->cells = m->cells;
    code->cells_by_head =
        m->cells && cla_custom_reads(m->parts.mask, m->parts.mask->root, HEAD);
    return write_code(m, false, &code->scalar);
}

static cla_status make_code(cla_custom_code **out, const cla_attention_mod *mod,
                            const bool *wanted)
{
    maker m = { .window = mod->window > 0 };
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    const cla_status status = make(*out, &m, mod, wanted);
    cla_custom_parts_free(&m.parts);
    cla_text_free(&m.text);
    if (status) {
        free_code(*out);
        *out = NULL;
    }
    return status;
}

cla_status cla_custom_check(const cla_attention_mod *mod,
                            const bool wanted[CLA_CUSTOM_INPUTS])
{
    custom_parts parts = { .names_count = 0 };
    const cla_status status = cla_custom_parts_make(&parts, mod, wanted);
    cla_custom_parts_free(&parts);
    return status;
}

cla_status cla_custom_code_get(const cla_custom_code **out, cla_runtime *rt,
                               const cla_attention_mod *mod,
                               const bool wanted[CLA_CUSTOM_INPUTS])
{
    static char list;
    cla_extension *known = NULL;
    cla_text key = { 0 };
    cla_custom_code *code = NULL;
    CLA_TRY(cla_runtime_extension(rt, &list, &known));
    known->fini = free_all;
    cla_status status = describe(&key, mod, wanted);
    for (code = known->state; !status && code && strcmp(code->key, key.data) != 0;) {
        code = code->next;
    }
    if (!status && !code) {
        status = make_code(&code, mod, wanted);
        if (!status) {
            code->key = key.data;
            code->next = known->state;
            known->state = code;
            key.data = NULL;
        }
    }
    cla_text_free(&key);
    *out = code;
    return status;
}
