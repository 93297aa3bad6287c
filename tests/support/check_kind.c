/* check_kind.c - tests an operator by its kind. */
#include "support/check_kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

static bool too_large(const char *row)
{
    const bool large = strstr(row, "large"), medium = strstr(row, "medium");
    return (strstr(row, " tiny") && !test_tiny()) || (test_small() && large) ||
           (test_tiny() && (large || medium));
}

static bool is_constant(const kind_table *t, const char *row, const char *name)
{
    char word[32];
    snprintf(word, sizeof word, "const=%s", name);
    const char *at = strstr(row, word);
    return (at && strchr(" ", at[strlen(word)])) ||
           (t->constant && (*t->constant == '*' || !strcmp(name, t->constant)));
}

static void make_case(op_case *op, kind_case *c, const kind_table *t)
{
    *op = (op_case){ .device = kind_case_device,
                     .oracle = kind_case_oracle,
                     .context = c,
                     .bar = t->bar,
                     .gradient_bar = t->gradient_bar,
                     .inputs = c->inputs };
    snprintf(op->name, sizeof op->name, "%s %s", t->lines.op, c->text);
    op->rank = kind_case_result(c, op->shape);
    cr_assert_leq(c->inputs, OP_INPUTS);
    for (int n = 0; n < c->inputs; n++) {
        const int i = c->input[n];
        const cla_operand *o = &c->operand[i];
        op->shift[n] = t->shift[i];
        op->in[n] =
            (op_input){ .name = o->name,
                        .scale = t->scale[i],
                        .constant = is_constant(t, c->text, o->name),
                        .column = o->columns && kind_case_says(c, ' ', "columns") };
        op->in[n].rank = cla_operand_shape(o, &c->call.sizes, op->in[n].shape);
        if (op->in[n].scale < 0) {
            op->in[n].scale /= -sqrtf((float)op->in[n].shape[0]);
        }
    }
}

void check_kind(cla_runtime *rt, const kind_table *t)
{
    for (const char *const *row = t->rows; *row; row++) {
        kind_case c;
        op_case op;
        if (!too_large(*row)) {
            TEST_OK(kind_case_open(&c, rt, &t->lines, *row));
            make_case(&op, &c, t);
            check_op(rt, &op);
            kind_case_close(&c);
        }
    }
}

void check_kind_cases(const kind_table *t)
{
    cla_runtime *rt = test_runtime();
    check_kind(rt, t);
    cla_runtime_free(&rt);
}

/* ---- refusals ---------------------------------------------------------------- */

/* Checks that the call fails and gives no result. Returns its status. */
static cla_status call(kind_case *c, cla_runtime *rt)
{
    cla_tensor *y[CLA_OPERANDS] = { NULL };
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, rt, false));
    const cla_status status = c->kind->device(tape, y, &c->call);
    cr_assert(status, "%s: no refusal", c->text);
    cr_assert_null(y[0], "%s: a result in spite of a refusal", c->text);
    cla_tape_free(&tape);
    return status;
}

/* Makes the call with another tensor as input i; with NULL for rank 0. Returns its
 * status. */
static cla_status with(kind_case *c, cla_runtime *rt, int i, cla_dtype dtype, int rank,
                       const int64_t *shape)
{
    cla_tensor *kept = c->call.in[i], *other = NULL;
    if (rank) {
        TEST_OK(cla_tensor_new(&other, rt, dtype, rank, shape));
    }
    c->call.in[i] = other;
    const cla_status status = call(c, rt);
    c->call.in[i] = kept;
    cla_tensor_free(&other);
    return status;
}

/* Checks the status and the message of a failed call. An operand that may be columns
 * belongs to attention, whose messages have words of their own: only the name is
 * checked. */
static void refused(const kind_case *c, int i, cla_status status, const char *part)
{
    char want[64];
    const cla_operand *o = &c->operand[i];
    const bool null = strcmp(part, "is NULL") == 0;
    snprintf(want, sizeof want, "%s %s", o->name, o->columns && !null ? "" : part);
    cr_assert(status == (null ? CLA_E_USAGE : CLA_E_SHAPE), "%s: %s: status %d",
              c->text, want, status);
    cr_assert(strstr(cla_error(), want), "%s: '%s' lacks '%s'", c->text, cla_error(),
              want);
}

/* Returns whether two sizes have a letter in common. */
static bool share(const char *a, const char *b)
{
    while (*a) {
        a += strspn(a, "0123456789");
        const size_t size = strcspn(a, "+");
        for (const char *at = b; *at && size; at += *at == '+') {
            at += strspn(at, "0123456789");
            const size_t other = strcspn(at, "+");
            if (size == other && !strncmp(a, at, size)) {
                return true;
            }
            at += other;
        }
        a += size;
        a += *a == '+';
    }
    return false;
}

/* Returns whether the signature fixes size `at` of operand i: the size is a number or a
 * multiple, or has a letter in common with another size of the operands given. */
static bool tied(const kind_case *c, int i, int at)
{
    const int k = at + cla_operand_missing(&c->operand[i], &c->call.sizes);
    const char *size = c->operand[i].size[k];
    bool seen = *size >= '0' && *size <= '9';
    for (int j = 0; j < c->outputs && *size != '*'; j++) {
        const bool given = c->call.in[j] || c->call.rows[j];
        for (int n = 0; n < c->operand[j].rank && given; n++) {
            seen = seen || ((j != i || n != k) && share(size, c->operand[j].size[n]));
        }
    }
    return seen;
}

/* Returns whether operand i is the only one given that may have any shape: no other
 * operand fixes its sizes. */
static bool is_any(const kind_case *c, int i)
{
    int others = 0;
    for (int j = 0; j < c->outputs; j++) {
        others += j != i && !c->operand[j].rank && c->call.in[j];
    }
    return !c->operand[i].rank && !others;
}

static void refuse_tensor(kind_case *c, cla_runtime *rt, int i)
{
    const cla_operand *o = &c->operand[i];
    const cla_dtype other = o->dtype == CLA_F32 ? CLA_I32 : CLA_F32;
    int64_t shape[4] = { 1, 1, 1, 1 };
    const int rank = cla_operand_shape(o, &c->call.sizes, shape);
    if (!o->optional) {
        refused(c, i, with(c, rt, i, o->dtype, 0, shape), "is NULL");
    }
    refused(c, i, with(c, rt, i, other, rank, shape), "holds ");
    if (o->rank) {
        refused(c, i, with(c, rt, i, o->dtype, rank < 4 ? rank + 1 : 3, shape), "is [");
    }
    for (int k = 0; k < rank && !is_any(c, i); k++) {
        if (!o->rank || tied(c, i, k)) { // the message names the later operand
            shape[k]++;
            const cla_status status = with(c, rt, i, o->dtype, rank, shape);
            cr_assert(status == CLA_E_SHAPE &&
                          (o->columns || strstr(cla_error(), "must be [")),
                      "%s: size %d of %s: '%s'", c->text, k, o->name, cla_error());
            shape[k]--;
        }
    }
}

static void refuse_rows(kind_case *c, cla_runtime *rt, int i)
{
    const cla_ragged *kept = c->call.rows[i];
    const int longer[] = { (int)kept->tokens + 1 };
    char want[40];
    c->call.rows[i] = NULL;
    snprintf(want, sizeof want, "%s is NULL", c->operand[i].name);
    const cla_status missing = call(c, rt);
    cr_assert(missing == CLA_E_USAGE && strstr(cla_error(), want), "%s: '%s'", c->text,
              cla_error());
    cla_ragged *other = test_ragged(rt, 1, longer, NULL);
    c->call.rows[i] = other;
    cr_assert_eq(call(c, rt), CLA_E_SHAPE, "%s: '%s'", c->text, cla_error());
    c->call.rows[i] = kept;
    cla_ragged_free(&other);
}

void check_refusals(cla_runtime *rt, const kind_table *t)
{
    kind_case c;
    op_case op;
    TEST_OK(kind_case_open(&c, rt, &t->lines, t->rows[0]));
    make_case(&op, &c, t);
    for (int n = 0; n < c.inputs; n++) {
        cla_tensor **to = &c.call.in[c.input[n]];
        TEST_OK(cla_tensor_new(to, rt, CLA_F32, op.in[n].rank, op.in[n].shape));
    }
    for (int i = 0; i < c.outputs; i++) {
        if (c.call.in[i]) {
            refuse_tensor(&c, rt, i);
        } else if (c.call.rows[i]) {
            refuse_rows(&c, rt, i);
        }
    }
    for (int n = 0; n < c.inputs; n++) {
        cla_tensor_free(&c.call.in[c.input[n]]);
    }
    kind_case_close(&c);
}

void check_kind_refuses(const kind_table *t)
{
    cla_runtime *rt = test_runtime();
    check_refusals(rt, t);
    cla_runtime_free(&rt);
}
