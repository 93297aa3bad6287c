/* ct2_read.c - reads model.bin of CTranslate2. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "exchange/ct2.h"

enum { VERSION = 6, OLDEST = 5, NEWEST = 7, LONG_NAME = 256 };

/* Returns a number in little-endian order. */
static uint32_t bits(const char *at, int bytes)
{
    uint32_t read = 0;
    for (int i = 0; i < bytes; i++) {
        read |= (uint32_t)(unsigned char)at[i] << (8 * i);
    }
    return read;
}

/* The bytes that are left. */
typedef struct cursor {
    const ct2_read *r;
    const char *at, *end;
} cursor;

static cla_status cut(const cursor *c)
{
    return cla_fail(CLA_E_INPUT, "%s: is cut off or damaged at byte %zu", c->r->path,
                    (size_t)(c->at - c->r->bytes));
}

static cla_status take(cursor *c, int bytes, uint32_t *number)
{
    if (c->end - c->at < bytes) {
        return cut(c);
    }
    *number = bits(c->at, bytes);
    c->at += bytes;
    return CLA_OK;
}

static cla_status take_name(cursor *c, const char **name)
{
    uint32_t size = 0;
    CLA_TRY(take(c, 2, &size));
    if (size > (size_t)(c->end - c->at) || strnlen(c->at, size) + 1 != size) {
        return cut(c);
    }
    *name = c->at;
    c->at += size;
    return CLA_OK;
}

static cla_status take_head(cursor *c)
{
    uint32_t version = 0, revision = 0;
    const char *spec = NULL;
    CLA_TRY(take(c, 4, &version));
    if (version != VERSION) {
        return cla_fail(CLA_E_INPUT,
                        "%s: is no model of binary version %d (it says %lu)",
                        c->r->path, VERSION, (unsigned long)version);
    }
    CLA_TRY(take_name(c, &spec));
    CLA_TRY(take(c, 4, &revision));
    assert(spec);
    return strcmp(spec, "TransformerSpec") == 0 && revision >= OLDEST &&
                   revision <= NEWEST
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s: holds a %.80s of revision %lu: TransformerSpec of %d to "
                          "%d is read",
                          c->r->path, spec, (unsigned long)revision, OLDEST, NEWEST);
}

/* ---- variables --------------------------------------------------------------- */

static const int type_bytes[] = { [CT2_F32] = 4, [CT2_I8] = 1,  [CT2_I16] = 2,
                                  [CT2_I32] = 4, [CT2_F16] = 2, [CT2_BF16] = 2 };

static cla_status add(ct2_read *r, const ct2_variable *v)
{
    CLA_TRY(cla_grow(&r->variables, &r->cap, r->count + 1, sizeof *r->variables));
    r->variables[r->count++] = *v;
    return CLA_OK;
}

static cla_status take_variable(ct2_read *r, cursor *c)
{
    ct2_variable v = { .size = 1 };
    uint32_t rank = 0, size = 0, type = 0, bytes = 0;
    CLA_TRY(take_name(c, &v.name));
    CLA_TRY(take(c, 1, &rank));
    if (rank > sizeof v.shape / sizeof *v.shape) {
        return cut(c);
    }
    v.rank = (int)rank;
    for (uint32_t i = 0; i < rank; i++) {
        CLA_TRY(take(c, 4, &size));
        v.shape[i] = size;
        v.size = v.size <= INT32_MAX ? v.size * size : INT64_MAX;
    }
    CLA_TRY(take(c, 1, &type));
    CLA_TRY(take(c, 4, &bytes));
    const bool known = type < sizeof type_bytes / sizeof *type_bytes;
    if (!known || bytes > (size_t)(c->end - c->at) || v.size > (int64_t)bytes ||
        v.size * type_bytes[type] != (int64_t)bytes) {
        return cla_fail(CLA_E_INPUT,
                        "%s: variable '%.80s' has a type or a size that does not fit",
                        r->path, v.name);
    }
    v.type = (int)type;
    v.data = c->at;
    c->at += bytes;
    return add(r, &v);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ct2_variable *)a)->name, ((const ct2_variable *)b)->name);
}

ct2_variable *cla_ct2_find(const ct2_read *r, const char *name)
{
    const ct2_variable key = { .name = name };
    return r->count ? bsearch(&key, r->variables, r->count, sizeof key, by_name) : NULL;
}

static cla_status sort(ct2_read *r)
{
    if (r->count) {
        qsort(r->variables, r->count, sizeof *r->variables, by_name);
    }
    for (size_t i = 1; i < r->count; i++) {
        if (by_name(&r->variables[i - 1], &r->variables[i]) == 0) {
            return cla_fail(CLA_E_INPUT, "%s: has two variables '%.80s'", r->path,
                            r->variables[i].name);
        }
    }
    return CLA_OK;
}

/* Takes aliases, which are variables of the same data. They are sorted in behind all,
 * since they refer to variables alone. */
static cla_status take_aliases(ct2_read *r, cursor *c, uint32_t count)
{
    ct2_read aliases = { .path = r->path };
    cla_status status = CLA_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        const char *name = NULL, *of = NULL;
        status = take_name(c, &name);
        status = status ? status : take_name(c, &of);
        const ct2_variable *v = status ? NULL : cla_ct2_find(r, of);
        if (!status && !v) {
            status = cla_fail(CLA_E_INPUT, "%s: '%.80s' is an alias of nothing",
                              r->path, name);
        }
        ct2_variable alias = v ? *v : (ct2_variable){ 0 };
        alias.name = name;
        status = status ? status : add(&aliases, &alias);
    }
    for (size_t i = 0; i < aliases.count && !status; i++) {
        status = add(r, &aliases.variables[i]);
    }
    free(aliases.variables);
    return status;
}

static cla_status take_all(ct2_read *r, size_t size)
{
    cursor c = { r, r->bytes, r->bytes + size };
    uint32_t count = 0;
    CLA_TRY(take_head(&c));
    CLA_TRY(take(&c, 4, &count));
    for (uint32_t i = 0; i < count; i++) {
        CLA_TRY(take_variable(r, &c));
    }
    CLA_TRY(sort(r));
    CLA_TRY(take(&c, 4, &count));
    CLA_TRY(take_aliases(r, &c, count));
    CLA_TRY(sort(r));
    return c.at == c.end ? CLA_OK : cut(&c);
}

// NOLINTNEXTLINE(readability-non-const-parameter): cla_ct2_close frees bytes
cla_status cla_ct2_open(ct2_read *r, const char *path, char *bytes, size_t size)
{
    *r = (ct2_read){ .path = path, .bytes = bytes };
    return take_all(r, size);
}

void cla_ct2_close(ct2_read *r)
{
    free(r->variables);
    free(r->bytes);
    *r = (ct2_read){ 0 };
}

/* ---- numbers ----------------------------------------------------------------- */

static float number(const ct2_variable *v, int64_t i)
{
    const uint32_t raw = bits(v->data + i * type_bytes[v->type], type_bytes[v->type]);
    const uint32_t wide = v->type == CT2_BF16 ? raw << 16 : raw;
    float value = 0;
    switch (v->type) {
    case CT2_I8:
        return (float)(int8_t)raw;
    case CT2_I16:
        return (float)(int16_t)raw;
    case CT2_I32:
        return (float)(int32_t)raw;
    case CT2_F16:
        return cla_half_to_float((uint16_t)raw);
    default:
        memcpy(&value, &wide, sizeof value);
        return value;
    }
}

bool cla_ct2_scalar(const ct2_read *r, const char *name, double *value)
{
    ct2_variable *v = cla_ct2_find(r, name);
    if (!v || v->size != 1) {
        return false;
    }
    v->used = true;
    *value = (double)number(v, 0);
    return true;
}

/* Finds the scales of whole numbers: one for each row, or one for all. */
static cla_status find_scales(const ct2_read *r, const ct2_variable *v,
                              ct2_variable **scales)
{
    char name[LONG_NAME];
    snprintf(name, sizeof name, "%s_scale", v->name);
    *scales = cla_ct2_find(r, name);
    for (size_t i = 0; i < r->count && !*scales; i++) { // those of an alias's variable
        if (r->variables[i].data == v->data) {
            snprintf(name, sizeof name, "%s_scale", r->variables[i].name);
            *scales = cla_ct2_find(r, name);
        }
    }
    const bool fits = *scales && v->rank && (*scales)->type != CT2_I8 &&
                      ((*scales)->size == 1 || (*scales)->size == v->shape[0]);
    if (!fits) {
        return cla_fail(CLA_E_INPUT,
                        "%s: variable '%.80s' holds whole numbers without their scales",
                        r->path, v->name);
    }
    (*scales)->used = true;
    return CLA_OK;
}

cla_status cla_ct2_floats(const ct2_read *r, ct2_variable *v, float *out)
{
    const bool whole = v->type == CT2_I8 || v->type == CT2_I16 || v->type == CT2_I32;
    ct2_variable *scales = NULL;
    v->used = true;
    CLA_TRY(whole ? find_scales(r, v, &scales) : CLA_OK);
    const int64_t columns = v->rank && v->shape[0] ? v->size / v->shape[0] : 1;
    for (int64_t i = 0; i < v->size; i++) {
        const int64_t row = scales && scales->size > 1 ? i / columns : 0;
        out[i] = number(v, i) / (scales ? number(scales, row) : 1);
        if (!isfinite(out[i])) {
            return cla_fail(CLA_E_NUMERIC,
                            "%s: variable '%.80s' holds numbers that are not finite",
                            r->path, v->name);
        }
    }
    return CLA_OK;
}
