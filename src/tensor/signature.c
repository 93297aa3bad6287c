/* signature.c - operands by name, type and shape. */
#include "tensor/signature.h"

#include <stdlib.h>
#include <string.h>

/* ---- letters ----------------------------------------------------------------- */

/* Letters are filled up with zeros. */
static int place_of(const cla_sizes *sizes, const char letter[CLA_LETTER])
{
    int i = 0;
    while (i < sizes->count && memcmp(sizes->of[i].letter, letter, CLA_LETTER) != 0) {
        i++;
    }
    return i;
}

static int64_t get(const cla_sizes *sizes, const char letter[CLA_LETTER])
{
    const int i = place_of(sizes, letter);
    return i < sizes->count ? sizes->of[i].size : -1;
}

static void bind(cla_sizes *sizes, const char letter[CLA_LETTER], int64_t size)
{
    const int i = place_of(sizes, letter);
    if (i == sizes->count) {
        assert(i < CLA_LETTERS);
        memcpy(sizes->of[i].letter, letter, CLA_LETTER);
        sizes->of[i].size = size;
        sizes->count++;
    }
}

int64_t cla_sizes_get(const cla_sizes *sizes, const char *letter)
{
    char full[CLA_LETTER] = "";
    memccpy(full, letter, 0, sizeof full - 1);
    return get(sizes, full);
}

void cla_sizes_bind(cla_sizes *sizes, const char *letter, int64_t size)
{
    char full[CLA_LETTER] = "";
    memccpy(full, letter, 0, sizeof full - 1);
    bind(sizes, full, size);
}

static bool is_number(const char *size)
{
    return *size >= '0' && *size <= '9';
}

void cla_operand_shape(const cla_operand *o, const cla_sizes *sizes, int64_t shape[4])
{
    for (int i = 0; i < o->rank; i++) {
        shape[i] = is_number(o->size[i]) ? strtol(o->size[i], NULL, 10)
                                         : get(sizes, o->size[i]);
    }
}

static void bind_all(const cla_operand *o, const int64_t *shape, cla_sizes *sizes)
{
    for (int i = 0; i < o->rank; i++) {
        if (!is_number(o->size[i]) && *o->size[i] != '*') {
            bind(sizes, o->size[i], shape[i]);
        }
    }
}

/* ---- reading ----------------------------------------------------------------- */

/* Copies a name, a letter, a number or a star, and gives the place behind it. Each call
 * of an operator reads its signature: no library function is worth its call here. */
static const char *word(char *out, size_t size, const char *at)
{
    size_t length = 0;
    while (*at >= '0' ? *at != ':' && *at != '?' : *at == '*') {
        assert(length + 1 < size);
        out[length++] = *at++;
    }
    assert(length && size);
    return at;
}

static const char *read_sizes(cla_operand *o, const char *at)
{
    do {
        assert(o->rank < 4);
        at = word(o->size[o->rank], sizeof o->size[0], at + 1);
        o->rank++;
    } while (*at == ',');
    return at;
}

/* The operand at at, which is zero; gives the place of the next one. */
static const char *read_operand(cla_operand *o, const char *at)
{
    if (*at == '-') {
        o->output = true;
        at += 3; // "-> "
    }
    at = word(o->name, sizeof o->name, at);
    o->optional = *at == '?';
    at += o->optional;
    o->rows = *at == '(';
    at = read_sizes(o, at);
    o->dtype = *at == ':' ? CLA_I32 : CLA_F32;
    while (*at && *at != ' ') {
        at++;
    }
    return at + (*at == ' ');
}

int cla_signature_read(const cla_signature *s, cla_operand operand[CLA_OPERANDS])
{
    int count = 0;
    for (const char *at = s->text; *at; count++) {
        assert(count < CLA_OPERANDS);
        operand[count] = (cla_operand){ .output = count && operand[count - 1].output };
        at = read_operand(&operand[count], at);
    }
    return count;
}

/* ---- checking ---------------------------------------------------------------- */

static cla_status check_rows(const char *op, const cla_operand *o,
                             const cla_ragged *rows, cla_sizes *sizes)
{
    if (!rows) {
        return cla_fail(CLA_E_USAGE, "%s: %s is NULL", op, o->name);
    }
    const int64_t shape[4] = { rows->tokens, rows->sequences };
    const char *const what[] = { "tokens", "sequences" };
    for (int i = 0; i < 2; i++) {
        const int64_t bound = get(sizes, o->size[i]);
        if (bound >= 0 && bound != shape[i]) {
            return cla_fail(CLA_E_SHAPE, "%s: %s has %lld %s, must have %lld", op,
                            o->name, (long long)shape[i], what[i], (long long)bound);
        }
    }
    bind_all(o, shape, sizes);
    return CLA_OK;
}

/* A second look is for a letter that an operand has twice. */
static cla_status check_tensor(const char *op, const cla_operand *o,
                               const cla_tensor *t, cla_sizes *sizes)
{
    for (int before = -1; before < sizes->count;) {
        before = sizes->count;
        int64_t shape[4] = { 1, 1, 1, 1 };
        cla_operand_shape(o, sizes, shape);
        CLA_TRY(cla_check_shape(op, o->name, t, o->dtype, o->rank, shape));
        bind_all(o, t->shape, sizes);
    }
    return CLA_OK;
}

cla_status cla_signature_check(const cla_signature *s, const cla_given *given,
                               cla_sizes *sizes)
{
    const char *at = s->text;
    for (int i = 0; *at && *at != '-'; i++) {
        cla_operand o = { .output = false };
        at = read_operand(&o, at);
        if (o.optional && !given[i].tensor) {
            continue;
        }
        CLA_TRY(o.rows ? check_rows(s->op, &o, given[i].rows, sizes)
                       : check_tensor(s->op, &o, given[i].tensor, sizes));
    }
    return CLA_OK;
}
