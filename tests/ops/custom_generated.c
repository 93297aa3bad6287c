/* custom_generated.c - random expressions as kernels: their values and the gradients of
 * their inputs against the host's evaluator. Invalid expressions build no kernel.
 *
 * Each sequence of a batch has an expression of its own as weight: with q = 0 every
 * weight before it is 1/KEYS, and with v one-hot o[i,h,j] is the expression's value for
 * the pair (i,j). CLATTN_EXPRESSIONS=N tests N programs of them (default 2, on small
 * devices 1). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/custom.h"
#include "runtime/internal.h"
#include "support/expressions.h"
#include "support/support.h"

enum { KEYS = 8, HEADS = 2, EACH = 8, LONGEST = 90 };
enum { PAIRS = EACH * KEYS * HEADS * KEYS }; // o [EACH*KEYS,HEADS,KEYS]
enum { TABLE = EXPRESSION_ROWS * EXPRESSION_COLUMNS };

typedef struct world {
    double variable[EXPRESSION_NAMES];
    double rate[EXPRESSION_ROWS], table[TABLE];
} world;

/* A program: its expressions and their values for all pairs. */
typedef struct program {
    char text[EACH][LONGEST], all[CLA_EXPR_LONGEST];
    cla_expr *e[EACH];
    cla_expr_gradient slope[EACH];
    float rate[EXPRESSION_ROWS], table[TABLE];
    double value[PAIRS];
    float dy[PAIRS]; // 0 where rounding decides: at a condition, a step or a pole
    double grad[EXPRESSION_ROWS + TABLE];
    double size[EXPRESSION_ROWS + TABLE]; // sum of the absolute terms of grad
    int left_out;
} program;

static int bounded(int x, int size)
{
    return x < 0 ? 0 : x >= size ? size - 1 : x;
}

/* Returns the index of a read in the rates, followed by the table. */
static int place(int which, const int *index)
{
    const int row = bounded(index[0], EXPRESSION_ROWS);
    return which == EXPRESSION_RATE ? row
                                    : EXPRESSION_ROWS + row * EXPRESSION_COLUMNS +
                                          bounded(index[1], EXPRESSION_COLUMNS);
}

static double read_input(void *context, int which, const int *index)
{
    const world *w = context;
    if (which == EXPRESSION_DOC) {
        return bounded(index[0], EXPRESSION_DOCS) / 2;
    }
    const int at = place(which, index);
    return at < EXPRESSION_ROWS ? w->rate[at] : w->table[at - EXPRESSION_ROWS];
}

static double evaluate(const cla_expr *e, int node, world *w)
{
    const cla_expr_values values = { w->variable, read_input, w };
    double value = NAN;
    TEST_OK(cla_expr_evaluate(e, node, &values, &value));
    return value;
}

/* Returns the numbers of a pair; all floats are multiplied by factor. */
static world make_world(const program *p, int pair, double factor)
{
    const int j = pair % KEYS, h = pair / KEYS % HEADS;
    const int i = pair / (KEYS * HEADS) % KEYS, b = pair / (KEYS * HEADS * KEYS);
    world w = { .variable = { factor / KEYS, i, j, h, b } };
    for (int n = 0; n < EXPRESSION_ROWS; n++) {
        w.rate[n] = (double)p->rate[n] * factor;
    }
    for (int n = 0; n < TABLE; n++) {
        w.table[n] = (double)p->table[n] * factor;
    }
    return w;
}

/* Returns whether float32 can compute a node: its value is small, and almost the same
 * when all floats change by more than roundings add up to. */
static bool is_steady(const program *p, int b, int node, int pair)
{
    world here = make_world(p, pair, 1);
    const double value = evaluate(p->e[b], node, &here);
    for (int side = -1; side <= 1; side += 2) {
        world beside = make_world(p, pair, 1 + side * 1e-5);
        const double other = evaluate(p->e[b], node, &beside);
        if (!(fabs(other - value) < 1e-3) || !(fabs(value) < 1e4)) {
            return false;
        }
    }
    return true;
}

/* Adds the terms of one query and key to the gradients of the inputs. */
static void add_gradients(program *p, int b, int pair)
{
    world w = make_world(p, pair, 1);
    const cla_expr_gradient *g = &p->slope[b];
    for (size_t r = 0; r < g->count; r++) {
        const cla_expr_node *read = &p->e[b]->nodes[g->reads[r].read];
        int index[2] = { 0, 0 };
        for (int c = 0; c < read->count; c++) {
            index[c] = (int)evaluate(p->e[b], read->child[c], &w);
        }
        const double slope = evaluate(p->e[b], g->reads[r].value, &w);
        const int at = place(read->which, index);
        p->grad[at] += (double)p->dy[pair] * slope;
        p->size[at] += fabs((double)p->dy[pair] * slope);
    }
}

static void evaluate_pair(program *p, int pair)
{
    const int b = pair / (KEYS * HEADS * KEYS);
    const cla_expr_gradient *g = &p->slope[b];
    bool steady = is_steady(p, b, p->e[b]->root, pair);
    for (size_t r = 0; r < g->count && steady; r++) {
        steady = is_steady(p, b, g->reads[r].value, pair);
    }
    if (!steady) {
        p->value[pair] = NAN;
        p->dy[pair] = 0;
        p->left_out++;
        return;
    }
    world w = make_world(p, pair, 1);
    p->value[pair] = evaluate(p->e[b], p->e[b]->root, &w);
    add_gradients(p, b, pair);
}

/* Draws an expression that is not a literal number and whose gradients are not zero
 * everywhere. */
static void draw_one(program *p, int b, expressions *x, const cla_expr_name *names)
{
    const bool wanted[EXPRESSION_NAMES] = {
        [EXPRESSION_RATE] = true, [EXPRESSION_TABLE] = true
    };
    cla_status status = CLA_E_USAGE;
    while (status) {
        expression_make(x, p->text[b], LONGEST, CLA_EXPR_FLOAT);
        TEST_OK(
            cla_expr_parse(&p->e[b], "weight", p->text[b], names, EXPRESSION_NAMES));
        status =
            cla_expr_differentiate(p->e[b], &p->slope[b], EXPRESSION_VALUE, wanted);
        if (status || p->e[b]->nodes[p->e[b]->root].kind == CLA_EXPR_NUMBER) {
            cla_expr_gradient_free(&p->slope[b]);
            cla_expr_free(&p->e[b]);
            status = CLA_E_USAGE;
        }
    }
}

/* Joins the expressions of all sequences into one, which reads every input. */
static void join(program *p)
{
    size_t used = 0;
    for (int b = 0; b < EACH; b++) {
        used += (size_t)snprintf(p->all + used, sizeof p->all - used,
                                 "b == %d ? (%s) : ", b, p->text[b]);
    }
    used += (size_t)snprintf(p->all + used, sizeof p->all - used,
                             "rate[0] + table[0][0] + doc[0]");
    cr_assert_lt(used, sizeof p->all);
}

static program *make_program(expressions *x)
{
    cla_expr_name names[EXPRESSION_NAMES];
    program *p = calloc(1, sizeof *p);
    cr_assert_not_null(p);
    expression_names(names, "w");
    for (int b = 0; b < EACH; b++) {
        draw_one(p, b, x, names);
    }
    join(p);
    for (int n = 0; n < EXPRESSION_ROWS; n++) {
        p->rate[n] = 0.1f + (float)expression_draw(x, 1000) / 500;
    }
    for (int n = 0; n < TABLE; n++) {
        p->table[n] = (float)expression_draw(x, 1000) / 500 - 1;
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        p->dy[pair] = (float)expression_draw(x, 1000) / 500 - 1;
        evaluate_pair(p, pair);
    }
    return p;
}

static void free_program(program *p)
{
    for (int b = 0; b < EACH; b++) {
        cla_expr_gradient_free(&p->slope[b]);
        cla_expr_free(&p->e[b]);
    }
    free(p);
}

/* ---- the device ------------------------------------------------------------------ */

/* Operands of all programs: q is 0, v is one-hot. */
typedef struct scene {
    cla_runtime *rt;
    cla_tape *tape;
    cla_ragged *rows;
    cla_tensor *q, *v, *rate, *table, *doc, *dy;
} scene;

static void scene_init(scene *s)
{
    static const int lengths[EACH] = { KEYS, KEYS, KEYS, KEYS, KEYS, KEYS, KEYS, KEYS };
    static const int32_t doc[EXPRESSION_DOCS] = { 0, 0, 1, 1, 2 };
    const int64_t shape[] = { EACH * KEYS, HEADS, KEYS };
    float *v = calloc(PAIRS, sizeof *v);
    cr_assert_not_null(v);
    for (int n = 0; n < PAIRS; n++) {
        v[n] = n / (HEADS * KEYS) % KEYS == n % KEYS;
    }
    s->rt = test_runtime();
    s->rows = test_ragged(s->rt, EACH, lengths, NULL);
    TEST_OK(cla_tape_new(&s->tape, s->rt, true));
    TEST_OK(cla_tensor_new(&s->q, s->rt, CLA_F32, 3, shape));
    TEST_OK(cla_tensor_new(&s->v, s->rt, CLA_F32, 3, shape));
    TEST_OK(cla_tensor_new(&s->dy, s->rt, CLA_F32, 3, shape));
    TEST_OK(
        cla_tensor_new(&s->rate, s->rt, CLA_F32, 1, (int64_t[]){ EXPRESSION_ROWS }));
    TEST_OK(cla_tensor_new(&s->table, s->rt, CLA_F32, 2,
                           (int64_t[]){ EXPRESSION_ROWS, EXPRESSION_COLUMNS }));
    TEST_OK(cla_tensor_new(&s->doc, s->rt, CLA_I32, 1, (int64_t[]){ EXPRESSION_DOCS }));
    TEST_OK(cla_tensor_fill(s->q, 0));
    TEST_OK(cla_tensor_upload(s->v, v));
    TEST_OK(cla_tensor_upload(s->doc, doc));
    cla_tensor_want_grad(s->rate, true);
    cla_tensor_want_grad(s->table, true);
    // for its gradient, which needs the weights in a kernel with keys in lanes
    cla_tensor_want_grad(s->v, true);
    free(v);
}

static void scene_fini(scene *s)
{
    cla_tensor *const all[] = { s->q, s->v, s->rate, s->table, s->doc, s->dy };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        cla_tensor *t = all[n];
        cla_tensor_free(&t);
    }
    cla_tape_free(&s->tape);
    cla_ragged_free(&s->rows);
    cla_runtime_free(&s->rt);
}

static cla_status attend(scene *s, cla_tensor **o, const char *weight)
{
    const cla_attention_mod mod = {
        .weight = weight,
        .inputs = { { "rate", s->rate }, { "table", s->table }, { "doc", s->doc } },
    };
    return cla_custom_attention(s->tape, o, s->q, s->q, s->v, s->rows, s->rows, &mod,
                                NULL);
}

/* Compares got with want, relative to size (NULL: to want) above 1; skips NaN in
 * want. */
static void compare(const program *p, const char *what, const float *got,
                    const double *want, const double *size, int count, double bar)
{
    for (int n = 0; n < count; n++) {
        const double scale = fmax(1, size ? size[n] : fabs(want[n]));
        cr_assert(isnan(want[n]) || fabs((double)got[n] - want[n]) <= bar * scale,
                  "%s %d is %g, must be %g: %s", what, n, (double)got[n], want[n],
                  size ? p->all : p->text[n / (KEYS * HEADS * KEYS)]);
    }
}

/* Checks dv[j,h,c] = sum_i weight(i,j) dy[i,h,c]. */
static void compare_dv(const program *p, const float *got)
{
    double want[PAIRS], size[PAIRS];
    int known = 0;
    for (int n = 0; n < PAIRS; n++) {
        const int c = n % KEYS, h = n / KEYS % HEADS, j = n / (KEYS * HEADS) % KEYS;
        want[n] = size[n] = 0;
        for (int i = 0; i < KEYS; i++) {
            const int row = (n / (KEYS * HEADS * KEYS) * KEYS + i) * HEADS + h;
            const double part =
                p->value[row * KEYS + j] * (double)p->dy[row * KEYS + c];
            want[n] += part; // NaN where a value is skipped
            size[n] += fabs(part);
        }
        known += !isnan(want[n]);
    }
    cr_assert_gt(known, PAIRS / 4);
    compare(p, "dv", got, want, size, PAIRS, 1e-4);
}

/* Compares values and gradients of a program. The tolerances allow a handful of
 * functions of 4 ulp each, of numbers up to some tens. */
static void run(scene *s, const program *p)
{
    float got[PAIRS];
    cla_tensor *o = NULL;
    TEST_OK(cla_tensor_upload(s->rate, p->rate));
    TEST_OK(cla_tensor_upload(s->table, p->table));
    TEST_OK(cla_tensor_upload(s->dy, p->dy));
    TEST_OK(attend(s, &o, p->all));
    TEST_OK(cla_tensor_download(o, got));
    compare(p, "value", got, p->value, NULL, PAIRS, 1e-4);
    TEST_OK(cla_tape_seed(s->tape, o, s->dy));
    TEST_OK(cla_tape_backward(s->tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(s->rate), got));
    TEST_OK(cla_tensor_download(cla_tensor_grad(s->table), got + EXPRESSION_ROWS));
    compare(p, "gradient", got, p->grad, p->size, EXPRESSION_ROWS + TABLE, 1e-3);
    TEST_OK(cla_tensor_download(cla_tensor_grad(s->v), got));
    compare_dv(p, got);
    cla_tensor_clear_grad(s->rate);
    cla_tensor_clear_grad(s->table);
    cla_tensor_clear_grad(s->v);
    cla_tape_reset(s->tape);
}

Test(custom_generated, computes_what_the_host_does)
{
    expressions x = { test_seed(), "w", true };
    const char *given = getenv("CLATTN_EXPRESSIONS");
    const int programs = given ? atoi(given) : test_small() ? 1 : 2;
    int left_out = 0;
    scene s = { .rt = NULL };
    scene_init(&s);
    for (int n = 0; n < programs; n++) {
        program *p = make_program(&x);
        for (int schedule = 0; schedule < 2; schedule++) {
            cla_runtime_set_schedule(s.rt,
                                     schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
            run(&s, p);
        }
        left_out += p->left_out;
        free_program(p);
    }
    scene_fini(&s);
    printf("# %d expressions in %d programs, %d of %d values left out\n",
           programs * EACH, programs, left_out, programs * PAIRS);
    cr_assert(left_out <= programs * PAIRS / 2, "%d values left out", left_out);
}

/* An expression that the parser rejects builds no program. */
Test(custom_generated, builds_nothing_of_refused_texts)
{
    enum { TEXTS = 2000 };
    expressions x = { test_seed(), "w", true };
    cla_expr_name names[EXPRESSION_NAMES];
    int refused = 0;
    scene s = { .rt = NULL };
    scene_init(&s);
    expression_names(names, "w");
    const size_t before = s.rt->program_count;
    for (int n = 0; n < TEXTS; n++) {
        char text[LONGEST + 3];
        cla_tensor *o = NULL;
        cla_expr *e = NULL;
        expression_make(&x, text, LONGEST, CLA_EXPR_FLOAT);
        expression_damage(&x, text);
        if (cla_expr_parse(&e, "weight", text, names, EXPRESSION_NAMES) == CLA_OK) {
            cla_expr_free(&e);
            continue;
        }
        refused++;
        cr_assert_eq(attend(&s, &o, text), CLA_E_USAGE, "%s", text);
        cr_assert_null(o);
    }
    cr_assert_gt(refused, TEXTS / 4);
    cr_assert_eq(s.rt->program_count, before, "a refused text became a program");
    scene_fini(&s);
}
