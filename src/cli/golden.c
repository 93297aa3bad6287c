/* golden.c - runs a golden case on the device and compares the results. */
#include "cli/golden.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MAX_TENSORS = 16, MAX_ROWS = 4 };

/* A tensor on the device and its expected result in the file. */
typedef struct pairing {
    const char *name; // without a prefix such as "in."
    cla_tensor *tensor;
    const cla_st_tensor *expected; // output or gradient; NULL: input without gradient
} pairing;

struct golden {
    const cla_st_file *file;
    cla_runtime *rt;
    cla_tape *tape;
    bool *used; // the tensors of the file that the case has read
    pairing inputs[MAX_TENSORS], outputs[MAX_TENSORS];
    int input_count, output_count;
    cla_ragged *rows[MAX_ROWS];
    int row_count;
    cla_operand operands[CLA_OPERANDS];
};

/* ---- tensors of the file ----------------------------------------------------- */

/* Returns the tensor "prefix.name" and marks it as used; NULL when there is none. */
static const cla_st_tensor *take(golden *g, const char *prefix, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    const cla_st_tensor *t = cla_st_find(g->file, full);
    if (t) {
        g->used[t - g->file->tensors] = true;
    }
    return t;
}

/* Returns the shape of a tensor in a file as text: "[2,3]". */
static const char *shape_text(const cla_st_tensor *t, char text[160])
{
    size_t at = 0;
    text[at++] = '[';
    for (int i = 0; i < t->rank; i++) {
        at += (size_t)snprintf(text + at, 24, "%s%lld", i ? "," : "",
                               (long long)t->shape[i]);
    }
    snprintf(text + at, 2, "]");
    return text;
}

static cla_status fail_missing(const char *name)
{
    return cla_fail(CLA_E_INPUT, "tensor '%s' is missing", name);
}

cla_status golden_tensor(golden *g, const char *name, cla_tensor **t)
{
    const cla_st_tensor *in = take(g, "in", name);
    in = in ? in : take(g, "param", name);
    if (!in) {
        return fail_missing(name);
    }
    if (g->input_count == MAX_TENSORS) {
        return cla_fail(CLA_E_INPUT, "more than %d inputs", MAX_TENSORS);
    }
    const cla_dtype dtype = in->dtype == CLA_ST_I32 ? CLA_I32 : CLA_F32;
    if (in->dtype != CLA_ST_F32 && in->dtype != CLA_ST_I32) {
        return cla_fail(CLA_E_INPUT, "%s: %s are no golden numbers", name,
                        in->dtype == CLA_ST_I8 ? "bytes" : "halves");
    }
    pairing *p = &g->inputs[g->input_count];
    CLA_TRY(cla_tensor_new(t, g->rt, dtype, in->rank, in->shape));
    *p = (pairing){ name, *t, take(g, "grad", name) };
    g->input_count++;
    if (p->expected && dtype == CLA_I32) {
        return cla_fail(CLA_E_INPUT, "grad.%s: whole numbers have no gradient", name);
    }
    cla_tensor_want_grad(*t, p->expected != NULL);
    return cla_tensor_upload(*t, in->data);
}

cla_status golden_optional(golden *g, const char *name, cla_tensor **t)
{
    *t = NULL;
    const bool given = take(g, "in", name) || take(g, "param", name);
    return given ? golden_tensor(g, name, t) : CLA_OK;
}

static cla_status make_rows(golden *g, int64_t sequences, const int32_t *offsets,
                            cla_ragged **rows)
{
    if (g->row_count == MAX_ROWS) {
        return cla_fail(CLA_E_INPUT, "more than %d batches", MAX_ROWS);
    }
    CLA_TRY(cla_ragged_new(rows, g->rt, sequences, offsets));
    g->rows[g->row_count++] = *rows;
    return CLA_OK;
}

cla_status golden_rows(golden *g, const char *name, cla_ragged **rows)
{
    const cla_st_tensor *in = take(g, "in", name);
    if (!in) {
        return fail_missing(name);
    }
    if (in->dtype != CLA_ST_I32 || in->rank != 1 || in->size < 1) {
        char shape[160];
        return cla_fail(CLA_E_INPUT, "in.%s is %s %s, must be [B+1] I32", name,
                        shape_text(in, shape), cla_st_dtypes[in->dtype].name);
    }
    return make_rows(g, in->size - 1, in->data, rows);
}

cla_status golden_even_rows(golden *g, int64_t sequences, int64_t length,
                            cla_ragged **rows)
{
    int32_t *offsets = NULL;
    CLA_TRY(cla_alloc(&offsets, (size_t)sequences + 1, sizeof *offsets));
    for (int64_t b = 0; b <= sequences; b++) {
        offsets[b] = (int32_t)(b * length);
    }
    const cla_status status = make_rows(g, sequences, offsets, rows);
    free(offsets);
    return status;
}

static bool same_shape(const cla_tensor *t, const cla_st_tensor *in)
{
    bool same = cla_tensor_rank(t) == in->rank && in->dtype == CLA_ST_F32;
    for (int i = 0; same && i < in->rank; i++) {
        same = cla_tensor_dim(t, i) == in->shape[i];
    }
    return same;
}

cla_status golden_output(golden *g, const char *name, cla_tensor *t)
{
    const cla_st_tensor *out = take(g, "out", name);
    if (!out) {
        return fail_missing(name);
    }
    if (!same_shape(t, out)) {
        char shape[160];
        return cla_fail(CLA_E_INPUT, "out.%s is %s, the operator gives another shape",
                        name, shape_text(out, shape));
    }
    if (g->output_count == MAX_TENSORS) {
        return cla_fail(CLA_E_INPUT, "more than %d outputs", MAX_TENSORS);
    }
    g->outputs[g->output_count++] = (pairing){ name, t, out };
    return CLA_OK;
}

bool golden_has(const golden *g, const char *prefix, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    return cla_st_find(g->file, full) != NULL;
}

cla_tape *golden_tape(golden *g)
{
    return g->tape;
}

cla_runtime *golden_runtime(golden *g)
{
    return g->rt;
}

cla_operand *golden_operands(golden *g)
{
    return g->operands;
}

const cla_st_file *golden_file(const golden *g)
{
    return g->file;
}

/* ---- attributes -------------------------------------------------------------- */

static cla_status fail_attribute(const golden *g, const char *key, const char *must)
{
    return cla_fail(CLA_E_USAGE, "attribute '%s' is '%s', must be %s", key,
                    cla_st_meta(g->file, key), must);
}

cla_status golden_int(const golden *g, const char *key, int *value)
{
    int64_t number = 0;
    if (!cla_parse_int(cla_st_meta(g->file, key), &number) || number < INT32_MIN ||
        number > INT32_MAX) {
        return fail_attribute(g, key, "a whole number");
    }
    *value = (int)number;
    return CLA_OK;
}

cla_status golden_double(const golden *g, const char *key, double *value)
{
    return cla_parse_double(cla_st_meta(g->file, key), value)
               ? CLA_OK
               : fail_attribute(g, key, "a number");
}

cla_status golden_bool(const golden *g, const char *key, bool *value)
{
    int number = 0;
    if (golden_int(g, key, &number) || number < 0 || number > 1) {
        return fail_attribute(g, key, "0 or 1");
    }
    *value = number;
    return CLA_OK;
}

cla_status golden_choice(const golden *g, const char *key, const char *const *names,
                         int *value)
{
    char must[128] = "";
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], cla_st_meta(g->file, key)) == 0) {
            *value = i;
            return CLA_OK;
        }
        const size_t at = strlen(must);
        const char *comma = !i ? "" : names[i + 1] ? ", " : " or ";
        snprintf(must + at, sizeof must - at, "%s%s", comma, names[i]);
    }
    return fail_attribute(g, key, must);
}

/* ---- one case ---------------------------------------------------------------- */

/* Returns the limits of float32, or those of numbers that are rounded to bf16: single
 * elements are off by a few 2^-8 of the largest. */
static golden_limits limits_of(const cla_runtime *rt, double nmse, double zero)
{
    const bool rounded = cla_runtime_precision(rt) == CLA_PRECISION_MEDIUM;
    return (golden_limits){ .nmse = cla_precision_limit(rt, nmse),
                            .element = rounded ? 8.0 / 256 : 1e-4,
                            .zero = rounded ? zero * 1e3 : zero };
}

/* Returns those of gradients. Rounding moves some numbers across 0, where relu's slope
 * is 0 on one side and 1 on the other: whole terms of a gradient come and go. */
static golden_limits gradient_limits(const cla_runtime *rt, double largest)
{
    golden_limits limits = limits_of(rt, 1e-8, 1e-5 * fmax(1, largest));
    if (cla_runtime_precision(rt) == CLA_PRECISION_MEDIUM) {
        limits.nmse = 1.0 / 256;
        limits.element = 0.5;
    }
    return limits;
}

static cla_status compare_outputs(const golden *g, golden_result *result)
{
    const golden_limits limits = limits_of(g->rt, 1e-9, 0);
    for (int i = 0; i < g->output_count; i++) {
        const pairing *p = &g->outputs[i];
        CLA_TRY(golden_compare(result, p->tensor, p->expected, &limits));
    }
    return CLA_OK;
}

static cla_status compare_gradients(const golden *g, golden_result *result,
                                    double largest)
{
    const golden_limits limits = gradient_limits(g->rt, largest);
    for (int i = 0; i < g->input_count; i++) {
        const pairing *p = &g->inputs[i];
        if (!p->expected) {
            continue;
        }
        if (!same_shape(p->tensor, p->expected)) {
            return cla_fail(CLA_E_INPUT, "%s has not the shape of its tensor",
                            p->expected->name);
        }
        CLA_TRY(
            golden_compare(result, cla_tensor_grad(p->tensor), p->expected, &limits));
    }
    return CLA_OK;
}

/* Seeds the backward pass at an output with grad_out, where the file has it. Raises
 * *largest to the largest magnitude of the seed, and sets *any. */
static cla_status seed(golden *g, const pairing *output, double *largest, bool *any)
{
    const cla_st_tensor *in = take(g, "grad_out", output->name);
    if (!in) {
        return CLA_OK;
    }
    if (!same_shape(output->tensor, in)) {
        return cla_fail(CLA_E_INPUT, "grad_out.%s has not the shape of its output",
                        output->name);
    }
    CLA_TRY(golden_largest(in, largest));
    *any = true;
    cla_tensor *dy = NULL;
    CLA_TRY(cla_tape_tensor(g->tape, &dy, CLA_F32, in->rank, in->shape));
    CLA_TRY(cla_tensor_upload(dy, in->data));
    return cla_tape_seed(g->tape, output->tensor, dy);
}

/* Refuses a file with a tensor that the operator does not take. */
static cla_status check_all_used(const golden *g)
{
    for (size_t i = 0; i < g->file->count; i++) {
        if (!g->used[i]) {
            return cla_fail(CLA_E_INPUT, "the operator takes no tensor '%s'",
                            g->file->tensors[i].name);
        }
    }
    return CLA_OK;
}

static cla_status run(golden *g, golden_result *result)
{
    double largest = 0; // magnitude of a seed
    bool seeded = false;
    CLA_TRY(cla_alloc(&g->used, g->file->count, sizeof *g->used));
    CLA_TRY(cla_tape_new(&g->tape, g->rt, true));
    CLA_TRY(golden_run_op(g));
    for (int i = 0; i < g->output_count; i++) {
        CLA_TRY(seed(g, &g->outputs[i], &largest, &seeded));
    }
    CLA_TRY(check_all_used(g));
    if (seeded) { // optimisers have no gradient
        CLA_TRY(cla_tape_backward(g->tape));
    }
    CLA_TRY(compare_outputs(g, result));
    CLA_TRY(compare_gradients(g, result, largest));
    result->ok = result->score <= 1;
    return CLA_OK;
}

cla_status golden_run(golden_result *result, cla_runtime *rt, const cla_st_file *file)
{
    golden g = { .file = file, .rt = rt };
    *result = (golden_result){ .ok = false };
    const cla_status status = run(&g, result);
    cla_tape_free(&g.tape);
    for (int i = 0; i < g.input_count; i++) {
        cla_tensor_free(&g.inputs[i].tensor);
    }
    for (int i = 0; i < g.row_count; i++) {
        cla_ragged_free(&g.rows[i]);
    }
    free(g.used);
    return status;
}
