/* kind_case.c - makes a call of an operator from a line of text. */
#include "oracle/kind_case.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "clattn/ops.h"

/* ---- lines ------------------------------------------------------------------- */

/* Returns the text after "name" and the character end in a line, or NULL. */
static const char *find(const char *text, const char *name, size_t size, char end)
{
    for (const char *at = text ? text : ""; *at; at += strspn(at, " ")) {
        const size_t word = strcspn(at, " ");
        if (word >= size && !strncmp(at, name, size) &&
            (end == ' ' ? word == size : at[size] == end)) {
            return at + size + (end != ' ');
        }
        at += word;
    }
    return NULL;
}

static const char *value_of(const kind_case *c, const char *name, size_t size)
{
    const char *value = find(c->text, name, size, '=');
    return value ? value : find(c->lines->all, name, size, '=');
}

bool kind_case_says(const kind_case *c, char sign, const char *name)
{
    char word[24] = { sign };
    snprintf(word + (sign != ' '), sizeof word - 1, "%s", name);
    const size_t size = strlen(word);
    return find(c->text, word, size, ' ') || find(c->lines->all, word, size, ' ');
}

static void read_attributes(kind_case *c)
{
    const char *const *attribute = c->kind->attribute;
    for (int i = 0; i < KIND_ATTRIBUTES && attribute[i]; i++) {
        const char *value = value_of(c, attribute[i], (size_t)kind_name(attribute[i]));
        c->call.attribute[i] = value ? strtod(value, NULL) : 0;
    }
}

/* Reads lengths such as "3,0,5" or "400x20" as offsets; *count is the number of
 * sequences. */
static cla_status read_lengths(const char *at, int32_t **offsets, int *count)
{
    size_t cap = 0;
    *count = 0;
    CLA_TRY(cla_grow(offsets, &cap, 1, sizeof **offsets));
    (*offsets)[0] = 0;
    for (char *end = NULL; *at && *at != ' '; at = *end == ',' ? end + 1 : end) {
        long times = 1, length = strtol(at, &end, 10);
        if (*end == 'x') {
            times = length;
            length = strtol(end + 1, &end, 10);
        }
        CLA_TRY(cla_grow(offsets, &cap, (size_t)*count + (size_t)times + 1,
                         sizeof **offsets));
        for (; times > 0; times--, ++*count) {
            (*offsets)[*count + 1] = (*offsets)[*count] + (int32_t)length;
        }
    }
    return CLA_OK;
}

static cla_status read_rows(kind_case *c, cla_runtime *rt, int i)
{
    const cla_operand *o = &c->operand[i];
    const char *at = value_of(c, o->name, strlen(o->name));
    int count = 0;
    if (!at) {
        return cla_fail(CLA_E_USAGE, "'%s': no %s", c->text, o->name);
    }
    CLA_TRY(read_lengths(at, &c->ids[i], &count));
    CLA_TRY(cla_ragged_new(&c->rows[i], rt, count, c->ids[i]));
    c->call.rows[i] = c->rows[i];
    c->call.ids[i] = c->ids[i];
    const int64_t is[4] = { c->rows[i]->tokens, count, c->rows[i]->longest };
    for (int k = 0; k < o->rank; k++) {
        cla_sizes_bind(&c->call.sizes, o->size[k], is[k]);
    }
    return CLA_OK;
}

/* Sets P, the number of query-key pairs, for calls with a batch of queries and one of
 * keys. */
static void count_pairs(kind_case *c)
{
    const int32_t *offsets[2] = { NULL };
    int64_t pairs = 0;
    for (int i = 0, n = 0; i < c->operands && n < 2; i++) {
        offsets[n] = c->operand[i].rows ? c->ids[i] : offsets[n];
        n += c->operand[i].rows;
    }
    for (int b = 0; b < kind_size(&c->call, "B") && offsets[1]; b++) {
        pairs += (int64_t)(offsets[0][b + 1] - offsets[0][b]) *
                 (offsets[1][b + 1] - offsets[1][b]);
    }
    if (offsets[1]) {
        cla_sizes_bind(&c->call.sizes, "P", pairs);
    }
}

static void read_shape(kind_case *c, const char *at)
{
    cla_sizes *s = &c->call.sizes;
    for (int i = 0; i < 4; i++) {
        s->shape[i] = 1;
    }
    while (*at && *at != ' ') {
        char *end = NULL;
        s->shape[s->rank++] = strtol(at, &end, 10);
        at = end + (*end == ',');
    }
}

/* Returns whether a term of some operand's sizes is this letter. */
static bool is_letter(const kind_case *c, const char *name, size_t size)
{
    for (int i = 0; i < c->operands; i++) {
        for (int k = 0; k < c->operand[i].rank; k++) {
            for (const char *at = c->operand[i].size[k]; *at; at += *at == '+') {
                at += strspn(at, "0123456789");
                const size_t length = strcspn(at, "+");
                if (length == size && !strncmp(at, name, size)) {
                    return true;
                }
                at += length;
            }
        }
    }
    return false;
}

static void read_letters(kind_case *c, const char *text)
{
    for (const char *at = text ? text : ""; *at; at += strspn(at, " ")) {
        char letter[CLA_LETTER] = "";
        const size_t size = strcspn(at, " ="), word = strcspn(at, " ");
        if (at[size] == '=' && size < CLA_LETTER && is_letter(c, at, size)) {
            memcpy(letter, at, size);
            cla_sizes_bind(&c->call.sizes, letter, strtol(at + size + 1, NULL, 10));
        }
        at += word;
    }
}

static cla_status read_sizes(kind_case *c, cla_runtime *rt)
{
    const char *shape = value_of(c, "...", 3);
    if (shape) {
        read_shape(c, shape);
    }
    for (int i = 0; i < c->operands; i++) {
        CLA_TRY(c->operand[i].rows ? read_rows(c, rt, i) : CLA_OK);
    }
    count_pairs(c);
    read_letters(c, c->text);
    read_letters(c, c->lines->all);
    for (int i = 0; i < c->operands; i++) { // missing, if no case says otherwise
        const cla_operand *o = &c->operand[i];
        if (o->lead && cla_sizes_get(&c->call.sizes, o->size[0]) < 0) {
            cla_sizes_bind(&c->call.sizes, o->size[0], 0);
        }
    }
    return CLA_OK;
}

/* ---- a case ------------------------------------------------------------------ */

static cla_status add_ids(kind_case *c, cla_runtime *rt, int i)
{
    int64_t shape[4], n = 1;
    const int rank = cla_operand_shape(&c->operand[i], &c->call.sizes, shape);
    for (int k = 0; k < rank; k++) {
        n *= shape[k];
    }
    CLA_TRY(cla_alloc(&c->ids[i], (size_t)n + 1, sizeof *c->ids[i]));
    c->lines->fill(c->ids[i], n, &c->call, i);
    c->call.ids[i] = c->ids[i];
    CLA_TRY(cla_tensor_new(&c->call.in[i], rt, CLA_I32, rank, shape));
    return cla_tensor_upload(c->call.in[i], c->ids[i]);
}

cla_status kind_case_open(kind_case *c, cla_runtime *rt, const kind_lines *lines,
                          const char *text)
{
    *c = (kind_case){ .lines = lines, .kind = op_kind_find(lines->op), .text = text };
    if (!c->kind) {
        return cla_fail(CLA_E_USAGE, "no kind of operator is named '%s'", lines->op);
    }
    c->operands = cla_signature_read(c->kind->signature, c->operand);
    read_attributes(c);
    CLA_TRY(read_sizes(c, rt));
    for (int i = 0; i < c->operands; i++) {
        const cla_operand *o = &c->operand[i];
        c->outputs += !o->output;
        if (o->output) {
            c->call.wanted[i] = o->optional ? kind_case_says(c, '+', o->name)
                                            : !kind_case_says(c, '-', o->name);
        } else if (o->dtype == CLA_I32 && !kind_case_says(c, '-', o->name)) {
            CLA_TRY(add_ids(c, rt, i));
        } else if (!o->rows && !kind_case_says(c, '-', o->name)) {
            c->input[c->inputs++] = i;
        }
    }
    return CLA_OK;
}

void kind_case_close(kind_case *c)
{
    for (int i = 0; i < c->operands; i++) {
        free(c->ids[i]);
        cla_ragged_free(&c->rows[i]);
        if (c->operand[i].dtype == CLA_I32) {
            cla_tensor_free(&c->call.in[i]);
        }
    }
}

static int64_t size_of(const kind_case *c, int i)
{
    int64_t shape[4], n = 1;
    const int rank = cla_operand_shape(&c->operand[i], &c->call.sizes, shape);
    for (int k = 0; k < rank; k++) {
        n *= shape[k];
    }
    return n;
}

int kind_case_result(const kind_case *c, int64_t shape[4])
{
    int first = 0, wanted = 0;
    int64_t n = 0;
    for (int i = c->operands - 1; i >= c->outputs; i--) {
        first = c->call.wanted[i] ? i : first;
        wanted += c->call.wanted[i];
        n += c->call.wanted[i] ? size_of(c, i) : 0;
    }
    if (wanted == 1) {
        return cla_operand_shape(&c->operand[first], &c->call.sizes, shape);
    }
    shape[0] = 1;
    shape[1] = n;
    return 2;
}

/* Appends an output, flattened, to y. */
static cla_status join(cla_tape *tape, cla_tensor **y, cla_tensor *next)
{
    const int64_t shape[2] = { 1, cla_tensor_size(next) };
    cla_tensor *flat = NULL;
    CLA_TRY(cla_tensor_reshape(tape, &flat, next, 2, shape));
    if (!*y) {
        *y = flat;
        return CLA_OK;
    }
    return cla_concat(tape, y, *y, flat);
}

cla_status kind_case_device(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                            void *context)
{
    kind_case *c = context;
    cla_tensor *out[CLA_OPERANDS] = { NULL };
    int wanted = 0, last = 0;
    for (int i = 0; i < c->inputs; i++) {
        c->call.in[c->input[i]] = x[i];
    }
    *y = NULL;
    CLA_TRY(c->kind->device(tape, out, &c->call));
    for (int i = c->outputs; i < c->operands; i++) {
        wanted += c->call.wanted[i];
        last = c->call.wanted[i] ? i - c->outputs : last;
    }
    *y = wanted == 1 ? out[last] : NULL;
    for (int i = c->outputs; i < c->operands && wanted > 1; i++) {
        CLA_TRY(c->call.wanted[i] ? join(tape, y, out[i - c->outputs]) : CLA_OK);
    }
    return CLA_OK;
}

void kind_case_oracle(double *y, double *const *x, void *context)
{
    kind_case *c = context;
    double *out[CLA_OPERANDS] = { NULL }, *unread[CLA_OPERANDS] = { NULL };
    for (int i = 0; i < c->inputs; i++) {
        c->call.x[c->input[i]] = x[i];
    }
    for (int i = c->outputs; i < c->operands; i++) {
        const int k = i - c->outputs;
        if (c->call.wanted[i]) {
            out[k] = y;
            y += size_of(c, i);
        } else if (!c->operand[i].optional) {
            unread[k] = calloc((size_t)size_of(c, i) + 1, sizeof(double));
            out[k] = unread[k];
        }
    }
    c->kind->oracle(out, &c->call);
    for (int k = 0; k < CLA_OPERANDS; k++) {
        free(unread[k]);
    }
}
