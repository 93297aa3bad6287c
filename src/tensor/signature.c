/* signature.c - operands by name, type and shape. */
#include "tensor/signature.h"

#include <stdlib.h>
#include <string.h>

/* ---- letters ----------------------------------------------------------------- */

int64_t cla_sizes_get(const cla_sizes *sizes, const char *letter)
{
    for (int i = 0; i < sizes->count; i++) {
        if (strcmp(sizes->of[i].letter, letter) == 0) {
            return sizes->of[i].size;
        }
    }
    return -1;
}

void cla_sizes_bind(cla_sizes *sizes, const char *letter, int64_t size)
{
    if (cla_sizes_get(sizes, letter) < 0) {
        assert(sizes->count < CLA_LETTERS);
        memccpy(sizes->of[sizes->count].letter, letter, 0,
                sizeof sizes->of->letter - 1);
        sizes->of[sizes->count++].size = size;
    }
}

static bool is_number(const char *size)
{
    return *size >= '0' && *size <= '9';
}

void cla_operand_shape(const cla_operand *o, const cla_sizes *sizes, int64_t shape[4])
{
    for (int i = 0; i < o->rank; i++) {
        shape[i] = is_number(o->size[i]) ? strtol(o->size[i], NULL, 10)
                                         : cla_sizes_get(sizes, o->size[i]);
    }
}

static void bind_all(const cla_operand *o, const int64_t *shape, cla_sizes *sizes)
{
    for (int i = 0; i < o->rank; i++) {
        if (!is_number(o->size[i]) && *o->size[i] != '*') {
            cla_sizes_bind(sizes, o->size[i], shape[i]);
        }
    }
}

/* ---- reading ----------------------------------------------------------------- */

/* Copies up to one of the marks, and gives the place of that. */
static const char *word(char *out, size_t size, const char *at, const char *marks)
{
    const size_t length = strcspn(at, marks);
    assert(length && length < size);
    memcpy(out, at, length);
    out[length] = 0;
    return at + length;
}

static const char *read_sizes(cla_operand *o, const char *at, const char *marks)
{
    do {
        assert(o->rank < 4);
        at = word(o->size[o->rank], sizeof o->size[0], at + 1, marks);
        o->rank++;
    } while (*at == ',');
    return at;
}

static const char *read_operand(cla_operand *o, const char *at)
{
    at = word(o->name, sizeof o->name, at, "?:( ");
    o->optional = *at == '?';
    at += o->optional;
    o->rows = *at == '(';
    if (o->rows) {
        return read_sizes(o, at, ",)") + 1;
    }
    at = read_sizes(o, at, ",: ");
    o->dtype = *at == ':' ? CLA_I32 : CLA_F32;
    return at + strcspn(at, " ");
}

int cla_signature_read(const cla_signature *s, cla_operand operand[CLA_OPERANDS])
{
    bool output = false;
    int count = 0;
    for (const char *at = s->text; *at; at += strspn(at, " ")) {
        if (*at == '-') {
            output = true;
            at += 2;
            continue;
        }
        assert(count < CLA_OPERANDS);
        operand[count] = (cla_operand){ .output = output };
        at = read_operand(&operand[count++], at);
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
        const int64_t bound = cla_sizes_get(sizes, o->size[i]);
        if (bound >= 0 && bound != shape[i]) {
            return cla_fail(CLA_E_SHAPE, "%s: %s has %lld %s, must have %lld", op,
                            o->name, (long long)shape[i], what[i], (long long)bound);
        }
    }
    bind_all(o, shape, sizes);
    return CLA_OK;
}

/* The second look is for a letter that an operand has twice. */
static cla_status check_tensor(const char *op, const cla_operand *o,
                               const cla_tensor *t, cla_sizes *sizes)
{
    for (int look = 0; look < 2; look++) {
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
    cla_operand operand[CLA_OPERANDS];
    const int count = cla_signature_read(s, operand);
    for (int i = 0; i < count && !operand[i].output; i++) {
        const cla_operand *o = &operand[i];
        const bool absent = o->rows ? !given[i].rows : !given[i].tensor;
        if (absent && o->optional) {
            continue;
        }
        CLA_TRY(o->rows ? check_rows(s->op, o, given[i].rows, sizes)
                        : check_tensor(s->op, o, given[i].tensor, sizes));
    }
    return CLA_OK;
}
