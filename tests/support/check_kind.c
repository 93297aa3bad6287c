/* check_kind.c - an operator from its kind. */
#include "support/check_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTHS = 16 };

/* A case with its operands; op_case has those that are numbers. */
typedef struct bed {
    const kind_table *table;
    cla_operand operand[CLA_OPERANDS];
    int operands;
    op_call call;
    int32_t *ids[CLA_OPERANDS]; // ours to free
    cla_ragged *rows[CLA_OPERANDS];
    int input[CLA_OPERANDS]; // operand of op_case's i-th input
    op_case c;
} bed;

/* ---- rows of the table ------------------------------------------------------- */

/* The text after "name=" in a row, or NULL. */
static const char *value_of(const char *text, const char *name)
{
    const size_t size = strlen(name);
    for (const char *at = text; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        if (strncmp(at, name, size) == 0 && at[size] == '=') {
            return at + size + 1;
        }
    }
    return NULL;
}

static bool absent(const char *text, const char *name)
{
    char word[24];
    snprintf(word, sizeof word, "-%s", name);
    const char *at = strstr(text, word);
    return at && strchr(" ", at[strlen(word)]);
}

static void read_attributes(bed *b, const char *text)
{
    for (int i = 0; i < KIND_ATTRIBUTES && b->table->kind->attribute[i]; i++) {
        char name[24];
        const char *attribute = b->table->kind->attribute[i];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(attribute, "="), attribute);
        const char *value = value_of(text, name);
        value = value || !b->table->all ? value : value_of(b->table->all, name);
        b->call.attribute[i] = value ? strtod(value, NULL) : 0;
    }
}

static void read_rows(bed *b, cla_runtime *rt, const char *text, int i)
{
    const cla_operand *o = &b->operand[i];
    const char *at = value_of(text, o->name);
    int lengths[LENGTHS], count = 0;
    cr_assert(at, "%s: no %s", text, o->name);
    for (char *end = NULL; *at && *at != ' '; at = *end == ',' ? end + 1 : end) {
        cr_assert_lt(count, LENGTHS);
        lengths[count++] = (int)strtol(at, &end, 10);
    }
    b->rows[i] = test_ragged(rt, count, lengths, &b->ids[i]);
    b->call.rows[i] = b->rows[i];
    b->call.ids[i] = b->ids[i];
    cla_sizes_bind(&b->call.sizes, o->size[0], b->ids[i][count]);
    cla_sizes_bind(&b->call.sizes, o->size[1], count);
}

/* What the row says of each letter, and what rows say. */
static void read_sizes(bed *b, cla_runtime *rt, const char *text)
{
    for (int i = 0; i < b->operands; i++) {
        if (b->operand[i].rows) {
            read_rows(b, rt, text, i);
        }
    }
    for (int i = 0; i < b->operands; i++) {
        for (int k = 0; k < b->operand[i].rank; k++) {
            const char *letter = b->operand[i].size[k];
            const char *value = value_of(text, letter);
            if (value) {
                cla_sizes_bind(&b->call.sizes, letter, strtol(value, NULL, 10));
            }
        }
    }
}

/* ---- one case ---------------------------------------------------------------- */

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    bed *b = context;
    cla_tensor *out[CLA_OPERANDS] = { NULL };
    for (int i = 0; i < b->c.inputs; i++) {
        b->call.in[b->input[i]] = x[i];
    }
    *y = NULL;
    CLA_TRY(b->table->kind->device(tape, out, &b->call));
    *y = out[0];
    return CLA_OK;
}

static void oracle(double *y, double *const *x, void *context)
{
    bed *b = context;
    double *out[CLA_OPERANDS] = { y };
    for (int i = 0; i < b->c.inputs; i++) {
        b->call.x[b->input[i]] = x[i];
    }
    b->table->kind->oracle(out, &b->call);
}

static void add_ids(bed *b, cla_runtime *rt, int i)
{
    int64_t shape[4], n = 1;
    cla_operand_shape(&b->operand[i], &b->call.sizes, shape);
    for (int k = 0; k < b->operand[i].rank; k++) {
        n *= shape[k];
    }
    b->ids[i] = calloc((size_t)n + 1, sizeof *b->ids[i]);
    cr_assert(b->ids[i] && b->table->fill);
    b->table->fill(b->ids[i], n, &b->call, i);
    b->call.ids[i] = b->ids[i];
    TEST_OK(cla_tensor_new(&b->call.in[i], rt, CLA_I32, b->operand[i].rank, shape));
    TEST_OK(cla_tensor_upload(b->call.in[i], b->ids[i]));
}

static void add_input(bed *b, int i)
{
    const cla_operand *o = &b->operand[i];
    b->input[b->c.inputs] = i;
    op_input *in = &b->c.in[b->c.inputs++];
    *in = (op_input){
        .name = o->name,
        .rank = o->rank,
        .scale = b->table->scale[i],
        .constant = b->table->constant && !strcmp(o->name, b->table->constant),
    };
    cla_operand_shape(o, &b->call.sizes, in->shape);
}

static void bed_open(bed *b, cla_runtime *rt, const kind_table *t, const char *text)
{
    *b = (bed){ .table = t };
    b->operands = cla_signature_read(t->kind->signature, b->operand);
    b->c = (op_case){ .device = device, .oracle = oracle, .context = b, .bar = t->bar };
    snprintf(b->c.name, sizeof b->c.name, "%s %s", t->kind->signature->op, text);
    read_attributes(b, text);
    read_sizes(b, rt, text);
    for (int i = 0; i < b->operands; i++) {
        const cla_operand *o = &b->operand[i];
        if (o->output) {
            b->c.rank = o->rank;
            cla_operand_shape(o, &b->call.sizes, b->c.shape);
            break;
        }
        if (o->rows || (o->optional && absent(text, o->name))) {
            continue;
        }
        if (o->dtype == CLA_I32) {
            add_ids(b, rt, i);
        } else {
            add_input(b, i);
        }
    }
}

static void bed_close(bed *b)
{
    for (int i = 0; i < b->operands; i++) {
        free(b->ids[i]);
        cla_ragged_free(&b->rows[i]);
        if (b->operand[i].dtype == CLA_I32) {
            cla_tensor_free(&b->call.in[i]);
        }
    }
}

void check_kind(cla_runtime *rt, const kind_table *t)
{
    for (const char *const *row = t->rows; *row; row++) {
        bed b;
        if ((test_small() && strstr(*row, "large")) ||
            (test_tiny() && (strstr(*row, "large") || strstr(*row, "medium")))) {
            continue;
        }
        bed_open(&b, rt, t, *row);
        check_op(rt, &b.c);
        bed_close(&b);
    }
}

/* ---- refusals ---------------------------------------------------------------- */

/* An input as another tensor. */
static cla_status with(bed *b, cla_runtime *rt, int i, cla_dtype dtype, int rank,
                       const int64_t *shape)
{
    cla_tensor *kept = b->call.in[i], *other = NULL, *y[CLA_OPERANDS] = { NULL };
    cla_tape *tape = NULL;
    if (rank) {
        TEST_OK(cla_tensor_new(&other, rt, dtype, rank, shape));
    }
    TEST_OK(cla_tape_new(&tape, rt, false));
    b->call.in[i] = other;
    const cla_status status = b->table->kind->device(tape, y, &b->call);
    cr_assert_null(y[0], "%s: a result in spite of a refusal", b->c.name);
    b->call.in[i] = kept;
    cla_tape_free(&tape);
    cla_tensor_free(&other);
    return status;
}

static void refused(const bed *b, int i, cla_status status, const char *part)
{
    char want[64];
    snprintf(want, sizeof want, "%s %s", b->operand[i].name, part);
    cr_assert(status == CLA_E_SHAPE, "%s: %s: status %d", b->c.name, want, status);
    cr_assert(strstr(cla_error(), want), "%s: '%s' lacks '%s'", b->c.name, cla_error(),
              want);
}

/* Whether another operand, or the same one, has this letter, too. */
static bool tied(const bed *b, int i, int k)
{
    const char *letter = b->operand[i].size[k];
    int seen = *letter >= '0' && *letter <= '9';
    for (int j = 0; j < b->operands && !b->operand[j].output; j++) {
        const bool given = b->call.in[j] || b->call.rows[j];
        for (int n = 0; n < b->operand[j].rank && given; n++) {
            seen += (j != i || n != k) && !strcmp(b->operand[j].size[n], letter);
        }
    }
    return seen;
}

static void refuse_operand(bed *b, cla_runtime *rt, int i)
{
    const cla_operand *o = &b->operand[i];
    const cla_dtype other = o->dtype == CLA_F32 ? CLA_I32 : CLA_F32;
    int64_t shape[4] = { 1, 1, 1, 1 };
    cla_operand_shape(o, &b->call.sizes, shape);
    if (!o->optional) {
        refused(b, i, with(b, rt, i, o->dtype, 0, shape), "is missing");
    }
    refused(b, i, with(b, rt, i, other, o->rank, shape), "holds ");
    const int rank = o->rank < 4 ? o->rank + 1 : 3;
    refused(b, i, with(b, rt, i, o->dtype, rank, shape), "is [");
    for (int k = 0; k < o->rank; k++) {
        if (tied(b, i, k)) { // the message names the operand that comes last
            shape[k]++;
            const cla_status status = with(b, rt, i, o->dtype, o->rank, shape);
            cr_assert(status == CLA_E_SHAPE && strstr(cla_error(), "must be ["),
                      "%s: size %d of %s: '%s'", b->c.name, k, o->name, cla_error());
            shape[k]--;
        }
    }
}

void check_refusals(cla_runtime *rt, const kind_table *t)
{
    bed b;
    bed_open(&b, rt, t, t->rows[0]);
    for (int n = 0; n < b.c.inputs; n++) {
        const op_input *in = &b.c.in[n];
        cla_tensor **to = &b.call.in[b.input[n]];
        TEST_OK(cla_tensor_new(to, rt, CLA_F32, in->rank, in->shape));
    }
    for (int i = 0; i < b.operands && !b.operand[i].output; i++) {
        if (b.call.in[i]) {
            refuse_operand(&b, rt, i);
        }
    }
    for (int n = 0; n < b.c.inputs; n++) {
        cla_tensor_free(&b.call.in[b.input[n]]);
    }
    bed_close(&b);
}
