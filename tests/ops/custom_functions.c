/* custom_functions.c - every function of expressions as kernel code, as vectors
 * and as scalars: values and slopes at ordinary and at extreme arguments, NaN and
 * infinity included, against the host's evaluator in double precision. The functions
 * come from the parser's own table.
 *
 * Each sequence has one token, so each weight before the expression is 1; with v = 1
 * the output is the expression's value, and the gradients of its inputs are its slopes.
 * A head has a function. The term 0 * w puts arguments into lanes. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clattn/custom.h"
#include "expr/expr.h"
#include "support/support.h"

enum { ARGUMENTS = 3, MOST = CLA_EXPR_FUNCTIONS, WIDTH = 4 };
enum { W, H, B, FIRST, NAMES = FIRST + ARGUMENTS };
static const cla_expr_name NAME[NAMES] = {
    [W] = { "w", CLA_EXPR_FLOAT, 0 },         [H] = { "h", CLA_EXPR_INT, 0 },
    [B] = { "b", CLA_EXPR_INT, 0 },           [FIRST] = { "x", CLA_EXPR_FLOAT, 2 },
    [FIRST + 1] = { "y", CLA_EXPR_FLOAT, 2 }, [FIRST + 2] = { "z", CLA_EXPR_FLOAT, 2 },
};
static const float EXTREME[] = { 0,     1,    -1,  0.5f,     -2.5f,     1e30f,
                                 88.5f, -200, 200, INFINITY, -INFINITY, NAN };
enum { EXTREMES = sizeof EXTREME / sizeof *EXTREME };

/* Oclgrind gets a few functions and a few sequences. */
static int heads(void)
{
    return test_tiny() ? 3 : MOST;
}
static int function_of(int head)
{
    return test_tiny() ? head * 7 : head;
}

typedef struct scene {
    int count;                  // of sequences
    float *argument[ARGUMENTS]; // [count,heads]
    cla_expr *e[MOST];
    cla_expr_gradient slope[MOST];
    int b, h; // of the read that is evaluated
} scene;

static double read_input(void *context, int which, const int *index)
{
    const scene *s = context;
    return (double)s->argument[which - FIRST][index[0] * heads() + index[1]];
}

static double evaluate(scene *s, int node)
{
    const double variable[NAMES] = { [W] = 1, [H] = s->h, [B] = s->b };
    const cla_expr_values values = { variable, read_input, s };
    double value = 0;
    TEST_OK(cla_expr_evaluate(s->e[s->h], node, &values, &value));
    return value;
}

static void write_call(char *text, size_t size, int function)
{
    static const char *const arguments[] = { "x[b][h]+0*w", "x[b][h]+0*w,y[b][h]",
                                             "x[b][h]+0*w,y[b][h],z[b][h]" };
    snprintf(text, size, "%s(%s)", cla_expr_function_name(function),
             arguments[cla_expr_function_arity(function) - 1]);
}

/* Writes h == 0 ? exp(x[b][h] + 0 * w) : ... for all functions. */
static void write_text(char *text, size_t size)
{
    size_t used = 0;
    for (int n = 0; n < heads(); n++) {
        char one[60];
        write_call(one, sizeof one, function_of(n));
        used += (size_t)snprintf(text + used, size - used, "h==%d?%s:", n, one);
    }
    used += (size_t)snprintf(text + used, size - used, "w");
    cr_assert_lt(used, size);
}

/* Pairs of extreme arguments, then ordinary ones. */
static float draw(int b, int argument)
{
    static const int stride[ARGUMENTS] = { 1, EXTREMES, 7 };
    if (b < EXTREMES * EXTREMES) {
        return EXTREME[b / stride[argument] % EXTREMES];
    }
    return (float)((b * (argument + 3) * 7919) % 20011) / 1500 - 6;
}

static void scene_init(scene *s)
{
    const bool wanted[NAMES] = { [FIRST] = true,
                                 [FIRST + 1] = true,
                                 [FIRST + 2] = true };
    *s = (scene){ .count = test_tiny() ? 2 : EXTREMES * EXTREMES + 30 };
    for (int a = 0; a < ARGUMENTS; a++) {
        s->argument[a] = calloc((size_t)(s->count * heads()), sizeof(float));
        cr_assert_not_null(s->argument[a]);
        for (int n = 0; n < s->count * heads(); n++) {
            s->argument[a][n] = draw(n / heads(), a);
        }
    }
    for (int h = 0; h < heads(); h++) {
        char text[60];
        write_call(text, sizeof text, function_of(h));
        TEST_OK(cla_expr_parse(&s->e[h], "weight", text, NAME, NAMES));
        TEST_OK(cla_expr_to_float(s->e[h], &s->e[h]->root));
        const int f = function_of(h);
        const bool flat =
            f == CLA_EXPR_FLOOR || f == CLA_EXPR_ROUND || f == CLA_EXPR_TO_INT;
        TEST_OK(cla_expr_differentiate(s->e[h], &s->slope[h], W, flat ? NULL : wanted));
    }
}

static void scene_fini(scene *s)
{
    for (int a = 0; a < ARGUMENTS; a++) {
        free(s->argument[a]);
    }
    for (int h = 0; h < heads(); h++) {
        cla_expr_gradient_free(&s->slope[h]);
        cla_expr_free(&s->e[h]);
    }
}

/* The functions of OpenCL have up to 16 ulp. 1 - tanh^2 has an error of an ulp of 1;
 * small results may be flushed to 0. */
static void compare(const scene *s, const char *what, float got, double exact)
{
    const float want = (float)exact;
    const bool same = isnan(want) ? isnan(got)
                      : isinf(want)
                          ? got == want
                          : fabs((double)got - exact) <= 1e-5 * fabs(exact) + 1e-6;
    const int at = s->b * heads() + s->h;
    cr_assert(same, "%s of %s at %g, %g, %g is %g, must be %g", what,
              cla_expr_function_name(function_of(s->h)), (double)s->argument[0][at],
              (double)s->argument[1][at], (double)s->argument[2][at], (double)got,
              (double)want);
}

/* Returns the slope by an argument of the head's function, which reads it once. */
static double slope_of(scene *s, int argument)
{
    const cla_expr_gradient *slope = &s->slope[s->h];
    for (size_t r = 0; r < slope->count; r++) {
        const int read = slope->reads[r].read;
        if (s->e[s->h]->nodes[read].which == FIRST + argument) {
            return evaluate(s, slope->reads[r].value);
        }
    }
    return 0;
}

static void compare_all(scene *s, const float *o, float *const grad[ARGUMENTS])
{
    static const char *const names[] = { "slope by x", "slope by y", "slope by z" };
    for (int n = 0; n < s->count * heads(); n++) {
        s->b = n / heads();
        s->h = n % heads();
        compare(s, "value", o[n * WIDTH], evaluate(s, s->e[s->h]->root));
        for (int a = 0; a < cla_expr_function_arity(function_of(s->h)); a++) {
            compare(s, names[a], grad[a][n], slope_of(s, a));
        }
    }
}

typedef struct operands {
    cla_ragged *rows;
    cla_tensor *q, *v, *dy, *argument[ARGUMENTS];
} operands;

static void make_operands(operands *t, cla_runtime *rt, const scene *s)
{
    const size_t count = (size_t)s->count;
    int *lengths = calloc(count, sizeof *lengths);
    float *one = calloc(count * (size_t)heads() * WIDTH, sizeof *one);
    cr_assert(lengths && one);
    for (size_t n = 0; n < count; n++) {
        lengths[n] = 1;
    }
    for (size_t n = 0; n < count * (size_t)heads(); n++) {
        one[n * WIDTH] = 1;
    }
    t->rows = test_ragged(rt, s->count, lengths, NULL);
    cla_tensor **wide[] = { &t->q, &t->v, &t->dy };
    for (int n = 0; n < 3; n++) {
        TEST_OK(cla_tensor_new(wide[n], rt, CLA_F32, 3,
                               (int64_t[]){ s->count, heads(), WIDTH }));
        TEST_OK(n ? cla_tensor_upload(*wide[n], one) : cla_tensor_fill(*wide[n], 0));
    }
    for (int a = 0; a < ARGUMENTS; a++) {
        TEST_OK(cla_tensor_new(&t->argument[a], rt, CLA_F32, 2,
                               (int64_t[]){ s->count, heads() }));
        TEST_OK(cla_tensor_upload(t->argument[a], s->argument[a]));
        cla_tensor_want_grad(t->argument[a], true);
    }
    free(lengths);
    free(one);
}

static void free_operands(operands *t)
{
    cla_tensor *all[] = { t->q,           t->v,           t->dy,
                          t->argument[0], t->argument[1], t->argument[2] };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        cla_tensor_free(&all[n]);
    }
    cla_ragged_free(&t->rows);
}

static void run(scene *s, cla_runtime *rt, operands *t, const char *text)
{
    const size_t count = (size_t)(s->count * heads());
    const cla_attention_mod mod = {
        .weight = text,
        .inputs = { { "x", t->argument[0] },
                    { "y", t->argument[1] },
                    { "z", t->argument[2] } },
    };
    cla_tape *tape = NULL;
    cla_tensor *o = NULL;
    float *got = calloc(count * (WIDTH + ARGUMENTS), sizeof *got);
    float *const grad[] = { got + count * WIDTH, got + count * (WIDTH + 1),
                            got + count * (WIDTH + 2) };
    cr_assert_not_null(got);
    TEST_OK(cla_tape_new(&tape, rt, true));
    TEST_OK(
        cla_custom_attention(tape, &o, t->q, t->q, t->v, t->rows, t->rows, &mod, NULL));
    TEST_OK(cla_tape_seed(tape, o, t->dy));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(o, got));
    for (int a = 0; a < ARGUMENTS; a++) {
        TEST_OK(cla_tensor_download(cla_tensor_grad(t->argument[a]), grad[a]));
        cla_tensor_clear_grad(t->argument[a]);
    }
    compare_all(s, got, grad);
    free(got);
    cla_tape_free(&tape);
}

Test(custom_functions, compute_what_the_host_does)
{
    char text[CLA_EXPR_LONGEST];
    cla_runtime *rt = test_runtime();
    operands t = { .rows = NULL };
    scene s;
    write_text(text, sizeof text);
    scene_init(&s);
    make_operands(&t, rt, &s);
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        run(&s, rt, &t, text);
    }
    free_operands(&t);
    scene_fini(&s);
    cla_runtime_free(&rt);
}
