/* signature.c - parses signatures and checks operands by name, type and shape. */
#include "tensor/signature.h"

#include <stdio.h>
#include <string.h>

/* ---- letters ----------------------------------------------------------------- */

/* Returns the index of a letter, which is padded with zeros, or count. */
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

/* A size: the sum of its bound terms, and an unbound letter with its factor. */
typedef struct sum {
    int64_t value, factor;
    char open[CLA_LETTER];
    int letters; // number of unbound letters; 2 for *
} sum;

/* Adds the term at `at`, such as 2, n or 4n; returns the place behind it. */
static const char *add_term(sum *s, const char *at, const cla_sizes *sizes)
{
    int64_t factor = 1, size = 1;
    if (*at >= '0' && *at <= '9') {
        for (factor = 0; *at >= '0' && *at <= '9'; at++) {
            factor = factor * 10 + *at - '0';
        }
    }
    char letter[CLA_LETTER] = "";
    for (int i = 0; *at && *at != '+'; at++) {
        letter[i++] = *at;
    }
    if (*letter && (size = get(sizes, letter)) < 0) {
        memcpy(s->open, letter, CLA_LETTER);
        s->factor = factor;
        s->letters++;
        return at;
    }
    s->value += factor * size;
    return at;
}

static sum sum_of(const char *size, const cla_sizes *sizes)
{
    sum s = { .letters = *size == '*' ? 2 : 0 };
    while (*size && *size != '*') {
        size = add_term(&s, size, sizes);
        size += *size == '+';
    }
    return s;
}

int cla_operand_missing(const cla_operand *o, const cla_sizes *sizes)
{
    return o->lead && get(sizes, o->size[0]) == 0;
}

int cla_operand_shape(const cla_operand *o, const cla_sizes *sizes, int64_t shape[4])
{
    const int missing = cla_operand_missing(o, sizes), rank = o->rank - missing;
    for (int i = 0; i < rank; i++) {
        const sum s = sum_of(o->size[missing + i], sizes);
        shape[i] = s.letters ? -1 : s.value;
    }
    if (!o->rank) {
        memcpy(shape, sizes->shape, sizeof sizes->shape);
    }
    return o->rank ? rank : sizes->rank;
}

/* Binds the only unbound letter of a size. Returns false if no value gives the size. */
static bool bind_size(const char *text, int64_t size, cla_sizes *sizes)
{
    const sum s = sum_of(text, sizes);
    if (s.letters != 1) {
        return true;
    }
    const int64_t rest = size - s.value;
    if (rest < 0 || rest % s.factor) {
        return false;
    }
    bind(sizes, s.open, rest / s.factor);
    return true;
}

/* Binds the letters of an operand, those in sums last: other sizes may bind some. */
static bool bind_all(const cla_operand *o, const int64_t *shape, cla_sizes *sizes)
{
    const int missing = cla_operand_missing(o, sizes);
    for (int sums = 0; sums < 2; sums++) {
        for (int i = missing; i < o->rank; i++) {
            const int64_t size = shape[i - missing];
            const bool is_sum = memchr(o->size[i], '+', CLA_LETTER) != NULL;
            if (is_sum == (sums == 1) && !bind_size(o->size[i], size, sizes)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- parsing ----------------------------------------------------------------- */

/* Copies a name or a size, and returns the place behind it. Each call of an operator
 * parses its signature, so this avoids the cost of library functions. */
static const char *word(char *out, size_t size, const char *at)
{
    size_t length = 0;
    while (*at >= '0' ? *at != ':' && *at != '?' && *at != '~' && *at != '^'
                      : *at == '*' || *at == '+') {
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
        o->lead |= *at == '?';
        at += *at == '?';
        o->rank++;
    } while (*at == ',');
    return at;
}

/* Parses the operand at `at` into o, which is zero; returns the next one's place. */
static const char *read_operand(cla_operand *o, const char *at)
{
    if (*at == '-') {
        o->output = true;
        at += 3; // "-> "
    }
    at = word(o->name, sizeof o->name, at);
    o->optional = *at == '?';
    at += o->optional;
    o->columns = *at == '~';
    at += o->columns;
    o->weights = *at == '^';
    at += o->weights;
    o->rows = *at == '(';
    at = at[1] == '.' ? at + sizeof "..." : read_sizes(o, at);
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
    const int64_t shape[4] = { rows->tokens, rows->sequences, rows->longest };
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

/* Fails with "w is [5,6], must be [in+n,4n]", with numbers for the known sizes. */
static cla_status fail_sizes(const char *op, const cla_operand *o, const cla_tensor *t,
                             const cla_sizes *sizes)
{
    char must[64];
    size_t at = 0;
    int64_t shape[4] = { 0 };
    const int rank = cla_operand_shape(o, sizes, shape);
    const int missing = cla_operand_missing(o, sizes);
    for (int i = 0; i < rank; i++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)shape[i]);
        at += (size_t)snprintf(must + at, sizeof must - at, "%s%s", i ? "," : "",
                               shape[i] < 0 ? o->size[missing + i] : number);
    }
    return cla_fail(CLA_E_SHAPE, "%s: %s is %s, must be [%s]", op, o->name,
                    cla_shape_text(t), must);
}

/* Checks a shape and binds its letters; repeats this, as a letter may occur twice. */
static cla_status check_sizes(const char *op, const cla_operand *o, const cla_tensor *t,
                              cla_sizes *sizes)
{
    for (int before = -1; before < sizes->count;) {
        before = sizes->count;
        int64_t shape[4] = { 1, 1, 1, 1 };
        const int rank = cla_operand_shape(o, sizes, shape);
        const cla_dtype dtype = o->weights && cla_stored(t) ? t->dtype : o->dtype;
        CLA_TRY(cla_check_shape(op, o->name, t, dtype, rank, shape));
        if (!bind_all(o, t->shape, sizes)) {
            return fail_sizes(op, o, t, sizes);
        }
    }
    return CLA_OK;
}

static cla_status check_tensor(const char *op, const cla_operand *o,
                               const cla_tensor *t, cla_sizes *sizes)
{
    if (!t) {
        return cla_fail(CLA_E_USAGE, "%s: %s is NULL", op, o->name);
    }
    if (o->columns) { // checks a view as if it were packed
        cla_tensor packed = *t;
        packed.base = NULL;
        return check_sizes(op, o, &packed, sizes);
    }
    if (o->lead && t->rank == o->rank - 1 && get(sizes, o->size[0]) < 0) {
        bind(sizes, o->size[0], 0);
    }
    if (o->rank) {
        return check_sizes(op, o, t, sizes);
    }
    if (!sizes->rank) {
        CLA_TRY(cla_check_f32(op, o->name, t));
        sizes->rank = t->rank;
        memcpy(sizes->shape, t->shape, sizeof sizes->shape);
        return CLA_OK;
    }
    return cla_check_shape(op, o->name, t, CLA_F32, sizes->rank, sizes->shape);
}

cla_status cla_signature_check(const cla_signature *s, const cla_given *given,
                               cla_sizes *sizes)
{
    cla_operand operand[CLA_OPERANDS];
    const int count = cla_signature_read(s, operand);
    for (int i = 0; i < count; i++) {
        if (operand[i].rows && !operand[i].output) {
            CLA_TRY(check_rows(s->op, &operand[i], given[i].rows, sizes));
        }
    }
    for (int i = 0; i < count; i++) {
        const cla_operand *o = &operand[i];
        if (!o->rows && !o->output && (given[i].tensor || !o->optional)) {
            CLA_TRY(check_tensor(s->op, o, given[i].tensor, sizes));
        }
    }
    return CLA_OK;
}
