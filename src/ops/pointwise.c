/* pointwise.c - operators on elements: each is a row with an expression, from which the
 * kernels of both passes are made.
 *
 *   y[i] = f(x_0[i], x_1[i], ...),  dx_k[i] = dy[i] df/dx_k
 */
#include <stdio.h>
#include <string.h>

#include "clattn/arithmetic.h"
#include "clattn/feed.h"
#include "clattn/ops.h"
#include "expr/expr.h"
#include "ops/activation.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { OPERANDS = 3, FACTOR = OPERANDS, NAMES = OPERANDS + 1 };

/* An operator. The expression (expr/expr.h) names the operands as the signature does;
 * it may read the number `factor`. */
typedef struct pointwise {
    const cla_signature *signature;
    const char *f;
} pointwise;

/* ---- code ------------------------------------------------------------------------ */

/* The names of the signature's operands, up to "->". */
typedef struct operands {
    char text[OPERANDS][16];
    cla_expr_name names[NAMES]; // and factor
    int count;
} operands;

static void read_names(operands *o, const cla_signature *signature)
{
    *o = (operands){ .names[FACTOR] = { "factor", CLA_EXPR_FLOAT, 0 } };
    for (const char *at = signature->text; *at != '-'; at += strcspn(at, " ") + 1) {
        snprintf(o->text[o->count], sizeof o->text[0], "%.*s", (int)strcspn(at, ":"),
                 at);
        o->count++;
    }
    for (int i = 0; i < OPERANDS; i++) {
        o->names[i] = (cla_expr_name){ o->text[i], CLA_EXPR_FLOAT, 0 };
    }
}

/* Writes name(v_a, v_b, v_factor), which computes a node; -1: 0. */
static cla_status write_function(cla_text *text, const operands *o, const cla_expr *e,
                                 int node, const char *name)
{
    const bool varying[NAMES] = { false };
    CLA_TRY(cla_text_add(text, "INLINE float %s(", name));
    for (int i = 0; i < o->count; i++) {
        CLA_TRY(cla_text_add(text, "float v_%s, ", o->text[i]));
    }
    CLA_TRY(cla_text_add(text, "float v_factor)\n{\n"));
    for (int i = 0; i < o->count; i++) {
        CLA_TRY(cla_text_add(text, "    (void)v_%s;\n", o->text[i]));
    }
    CLA_TRY(cla_text_add(text, "    (void)v_factor;\n"));
    if (node < 0) {
        return cla_text_add(text, "    return 0.0f;\n}\n");
    }
    CLA_TRY(cla_expr_emit(e, &node, 1, varying, text));
    return cla_text_add(text, "    return t%d;\n}\n", node);
}

/* Writes "#define NAME", a part for each operand, and an end. */
static cla_status write_list(cla_text *text, int count, const char *name,
                             const char *part, const char *end)
{
    CLA_TRY(cla_text_add(text, "#define %s ", name));
    for (int i = 0; i < count; i++) {
        for (const char *c = part; *c; c++) {
            CLA_TRY(*c == '#' ? cla_text_add(text, "%d", i)
                              : cla_text_add(text, "%c", *c));
        }
    }
    return cla_text_add(text, "%s\n", end);
}

static cla_status write_slopes(cla_text *text, const operands *o, cla_expr *e)
{
    for (int i = 0; i < o->count; i++) {
        cla_expr_gradient slope = { 0 };
        char name[32];
        snprintf(name, sizeof name, "slope_%d", i);
        cla_status status = cla_expr_differentiate(e, &slope, i, NULL);
        status = status ? status : write_function(text, o, e, slope.variable, name);
        cla_expr_gradient_free(&slope);
        CLA_TRY(status);
    }
    return CLA_OK;
}

static cla_status write_code(cla_text *text, const pointwise *op)
{
    const char *name = op->signature->op;
    operands o;
    cla_expr *e = NULL;
    read_names(&o, op->signature);
    CLA_TRY(cla_text_add(text,
                         "#define FORWARD %s_forward\n#define BACKWARD "
                         "%s_backward\n",
                         name, name));
    CLA_TRY(
        write_list(text, o.count, "INPUTS", ", global const float *restrict in#", ""));
    CLA_TRY(write_list(text, o.count, "GRADIENTS", ", global float *to#", ""));
    CLA_TRY(write_list(text, o.count, "OPERANDS(i)", "in#[i], ", "factor"));
    CLA_TRY(write_list(text, o.count, "EACH_SLOPE(each)", "each(#) ", ""));
    CLA_TRY(cla_expr_parse(&e, name, op->f, o.names, NAMES));
    cla_status status = write_function(text, &o, e, e->root, "f");
    status = status ? status : write_slopes(text, &o, e);
    cla_expr_free(&e);
    return status;
}

/* The code of one operator. It is made once and lives as long as the runtime. */
typedef struct code {
    const pointwise *op;
    char kernel[2][48]; // of the forward pass, of the backward pass
    cla_text text;
    struct code *next;
} code;

static void free_all(cla_runtime *rt, void *state)
{
    (void)rt;
    for (code *c = state, *next = NULL; c; c = next) {
        next = c->next;
        cla_text_free(&c->text);
        free(c);
    }
}

static cla_status make_code(code **out, const pointwise *op)
{
    const char *name = op->signature->op;
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->op = op;
    snprintf((*out)->kernel[0], sizeof(*out)->kernel[0], "%s_forward", name);
    snprintf((*out)->kernel[1], sizeof(*out)->kernel[1], "%s_backward", name);
    const cla_status status = write_code(&(*out)->text, op);
    if (status) {
        cla_text_free(&(*out)->text);
        free(*out);
    }
    return status;
}

static cla_status find_code(const code **out, cla_runtime *rt, const pointwise *op)
{
    static char list;
    cla_extension *known = NULL;
    code *c = NULL;
    CLA_TRY(cla_runtime_extension(rt, &list, &known));
    known->fini = free_all;
    for (c = known->state; c && c->op != op;) {
        c = c->next;
    }
    if (!c) {
        CLA_TRY(make_code(&c, op));
        c->next = known->state;
        known->state = c;
    }
    *out = c;
    return CLA_OK;
}

/* ---- passes ---------------------------------------------------------------------- */

typedef struct saved {
    const pointwise *op;
    cla_tensor *y, *x[OPERANDS]; // NULL behind the last
    float factor;
} saved;

/* Queues a pass, 0 forward and 1 backward, with the operands from its argument `args`
 * on. */
static cla_status queue(cla_tape *tape, const saved *s, cla_launch *launch, int args,
                        int pass)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const code *c = NULL;
    CLA_TRY(find_code(&c, rt, s->op));
    launch->file = "pointwise";
    launch->kernel = c->kernel[pass];
    launch->text = c->text.data;
    for (int i = 0; i < OPERANDS && s->x[i]; i++) {
        launch->args[args + i] = cla_buf(s->x[i]);
    }
    cla_spread_elements(rt, launch, cla_size(s->y));
    return cla_enqueue(rt, launch);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *to[OPERANDS] = { NULL };
    int count = 0, adds = 0;
    bool any = false;
    for (; count < OPERANDS && s->x[count]; count++) {
        int add = 0;
        CLA_TRY(cla_grad_out(tape, s->x[count], &to[count], &add));
        adds |= add << count;
        any = any || to[count];
    }
    cla_launch launch = { .args = { cla_buf(dy), cla_i32(cla_size(dy)),
                                    cla_f32(s->factor), cla_i32(adds) } };
    for (int i = 0; i < count; i++) {
        launch.args[4 + count + i] = cla_buf(to[i]);
    }
    return any ? queue(tape, s, &launch, 4, 1) : CLA_OK;
}

/* Computes y = f(s->x) and records the backward pass. */
static cla_status run(cla_tape *tape, cla_tensor **y, saved *s)
{
    const cla_given given[] = { { s->x[0] }, { s->x[1] }, { s->x[2] } };
    cla_sizes sizes = { 0 };
    CLA_TRY(cla_signature_check(s->op->signature, given, &sizes));
    CLA_TRY(cla_tape_tensor(tape, &s->y, CLA_F32, s->x[0]->rank, s->x[0]->shape));
    cla_launch launch = { .args = { cla_buf(s->y), cla_i32(cla_size(s->y)),
                                    cla_f32(s->factor) } };
    CLA_TRY(queue(tape, s, &launch, 3, 0));
    const cla_note end = { backward, s, sizeof *s, { s->x[0], s->x[1], s->x[2] } };
    return cla_tape_give(tape, y, s->y, &end);
}

/* ---- the operators --------------------------------------------------------------- */

#define POINTWISE(name, operands, expression)                         \
    const cla_signature cla_##name##_signature = { #name, operands }; \
    static const pointwise name##_row = { &cla_##name##_signature, expression };

POINTWISE(add, "a:... b:... -> y:...", "a + b")
POINTWISE(sub, "a:... b:... -> y:...", "a - b")
POINTWISE(multiply, "a:... b:... -> y:...", "a * b")
POINTWISE(scale_by, "x:... -> y:...", "factor * x")
POINTWISE(gate, "x:... a:... b:... -> y:...", "sigmoid(x) * a + (1 - sigmoid(x)) * b")
POINTWISE(sigmoid, "x:... -> y:...", "sigmoid(x)")
POINTWISE(gelu, "x:N,D -> y:N,D", "x * (0.5 + 0.5 * erf(x * 0.70710678118654752))")

/* (1 + tanh(u)) / 2 = sigmoid(2 u), which is 0 or 1 in float32 beyond 12; without the
 * limits the slope of the cube would overflow. */
#define NEAR "clamp(x, -12, 12)"
POINTWISE(gelu_tanh, "x:N,D -> y:N,D",
          "x * sigmoid(1.5957691216057308 * (" NEAR " + 0.044715 * " NEAR " * " NEAR
          " * " NEAR "))")
POINTWISE(silu, "x:N,D -> y:N,D", "x * sigmoid(x)")

cla_status cla_add(cla_tape *tape, cla_tensor **y, cla_tensor *a, cla_tensor *b)
{
    CLA_OP(tape, y, a, b);
    return run(tape, y, &(saved){ .op = &add_row, .x = { a, b } });
}

cla_status cla_sub(cla_tape *tape, cla_tensor **y, cla_tensor *a, cla_tensor *b)
{
    CLA_OP(tape, y, a, b);
    return run(tape, y, &(saved){ .op = &sub_row, .x = { a, b } });
}

cla_status cla_multiply(cla_tape *tape, cla_tensor **y, cla_tensor *a, cla_tensor *b)
{
    CLA_OP(tape, y, a, b);
    return run(tape, y, &(saved){ .op = &multiply_row, .x = { a, b } });
}

cla_status cla_scale_by(cla_tape *tape, cla_tensor **y, cla_tensor *x, float factor)
{
    CLA_OP(tape, y, x);
    return run(tape, y, &(saved){ .op = &scale_by_row, .x = { x }, .factor = factor });
}

cla_status cla_gate(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *a,
                    cla_tensor *b)
{
    CLA_OP(tape, y, x, a, b);
    return run(tape, y, &(saved){ .op = &gate_row, .x = { x, a, b } });
}

cla_status cla_sigmoid(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    return run(tape, y, &(saved){ .op = &sigmoid_row, .x = { x } });
}

cla_status cla_gelu(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    return run(tape, y, &(saved){ .op = &gelu_row, .x = { x } });
}

cla_status cla_silu(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    return run(tape, y, &(saved){ .op = &silu_row, .x = { x } });
}

cla_status cla_gelu_tanh(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    return run(tape, y, &(saved){ .op = &gelu_tanh_row, .x = { x } });
}
