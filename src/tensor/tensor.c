/* tensor.c - shapes, ownership, views. */
#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

static const int64_t ELEMENT_LIMIT = INT32_MAX;

static const struct {
    const char *name;
    size_t bytes;
} TYPES[] = { [CLA_F32] = { "f32", 4 },
              [CLA_I32] = { "i32", 4 },
              [CLA_F16] = { "f16", 2 },
              [CLA_I8] = { "i8", 1 } };

size_t cla_width(cla_dtype dtype)
{
    return TYPES[dtype].bytes;
}

const char *cla_dtype_name(cla_dtype dtype)
{
    return TYPES[dtype].name;
}

static const char *format_shape(int rank, const int64_t *shape)
{
    enum { RING = 8, SIZE = 96 };
    static _Thread_local char ring[RING][SIZE];
    static _Thread_local int next;
    char *text = ring[next++ % RING];
    int at = snprintf(text, SIZE, "[");
    for (int i = 0; i < rank; i++) {
        at += snprintf(text + at, SIZE - (size_t)at, shape[i] < 0 ? "%s*" : "%s%lld",
                       i ? "," : "", (long long)shape[i]);
    }
    snprintf(text + at, SIZE - (size_t)at, "]");
    return text;
}

const char *cla_shape_text(const cla_tensor *t)
{
    return t ? format_shape(t->rank, t->shape) : "none";
}

/* Counts the elements. Fails from 2^31 on: kernels index with int. */
static cla_status count_elements(int rank, const int64_t *shape, int64_t *count)
{
    if (rank < 1 || rank > 4) {
        return cla_fail(CLA_E_SHAPE, "tensor: rank %d, must be 1 to 4", rank);
    }
    if (!shape) {
        return cla_fail(CLA_E_USAGE, "tensor: shape is NULL");
    }
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            return cla_fail(CLA_E_SHAPE, "tensor: size %lld of axis %d is negative",
                            (long long)shape[i], i);
        }
        empty = empty || shape[i] == 0;
    }
    *count = empty ? 0 : 1;
    for (int i = 0; i < rank && !empty; i++) {
        if (shape[i] > ELEMENT_LIMIT / *count) {
            return cla_fail(CLA_E_SHAPE, "tensor: %s has more than %lld elements",
                            format_shape(rank, shape), (long long)ELEMENT_LIMIT);
        }
        *count *= shape[i];
    }
    return CLA_OK;
}

/* Sets all of a tensor but its memory. */
static cla_status describe(cla_tensor *t, cla_runtime *rt, cla_dtype dtype, int rank,
                           const int64_t *shape)
{
    int64_t count = 0;
    t->rt = rt; // also after a failure: the tensor is then freed
    CLA_TRY(count_elements(rank, shape, &count));
    *t =
        (cla_tensor){ .rt = rt, .dtype = dtype, .rank = rank, .shape = { 1, 1, 1, 1 } };
    memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    t->stride = t->shape[1] * t->shape[2] * t->shape[3];
    return CLA_OK;
}

cla_status cla_tensor_new(cla_tensor **out, cla_runtime *rt, cla_dtype dtype, int rank,
                          const int64_t *shape)
{
    CLA_NEED(out, rt);
    CLA_HOLD(rt);
    *out = NULL;
    CLA_KNOWN("dtype", dtype, CLA_I32); // weights of fewer bits come from models
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    cla_status status = describe(*out, rt, dtype, rank, shape);
    (*out)->version = 1;
    if (!status) {
        status = cla_memory_new(&(*out)->memory, rt, (size_t)cla_size(*out) * 4);
        cla_tensor_may_turn(*out, &(*out)->memory, NULL);
    }
    if (status) {
        cla_tensor_free(out);
    }
    return status;
}

void cla_tensor_may_turn(cla_tensor *t, const cla_memory *memory, cla_order *whole)
{
    t->turned = (cla_turned){ .memory = *memory, .whole = whole };
    t->turned.memory.order = NULL;
    t->turned.order.owner = t;
    t->memory.order = &t->turned.order;
}

static void release(cla_tensor *t)
{
    for (size_t i = 0; i < sizeof t->form / sizeof *t->form; i++) {
        cla_memory_free(&t->form[i].memory, t->rt);
    }
    if (t->turned.memory.mem != t->memory.mem) {
        cla_memory_free(&t->turned.memory, t->rt);
    }
    cla_memory_free(&t->scale, t->rt);
    cla_memory_free(&t->memory, t->rt);
    free(t);
}

void cla_tensor_free(cla_tensor **t)
{
    if (!t || !*t) return;
    CLA_HOLD_WAIT((*t)->rt);
    if ((*t)->grad) release((*t)->grad); // which has no gradient itself
    release(*t);
    *t = NULL;
}

cla_status cla_tensor_over(cla_tensor **out, cla_runtime *rt, const cla_memory *block,
                           size_t offset_bytes, cla_dtype dtype, int rank,
                           const int64_t *shape)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    cla_status status = describe(*out, rt, dtype, rank, shape);
    if (!status) {
        status = cla_memory_part(&(*out)->memory, rt, block, offset_bytes,
                                 (size_t)cla_size(*out) * cla_width(dtype));
    }
    if (status) {
        cla_tensor_free(out);
    }
    return status;
}

/* For tensors with memory of an arena (tape.c) or of the application (interop.c). */
cla_status cla_tensor_describe(cla_tensor *t, cla_runtime *rt, cla_dtype dtype,
                               int rank, const int64_t *shape)
{
    return describe(t, rt, dtype, rank, shape);
}

int cla_tensor_rank(const cla_tensor *t)
{
    return t ? t->rank : 0;
}

int64_t cla_tensor_dim(const cla_tensor *t, int axis)
{
    if (!t) return 0;
    return axis >= 0 && axis < t->rank ? t->shape[axis] : 1;
}

int64_t cla_tensor_size(const cla_tensor *t)
{
    return t ? cla_size(t) : 0;
}

cla_dtype cla_tensor_dtype(const cla_tensor *t)
{
    return t ? t->dtype : CLA_F32;
}

void cla_tensor_want_grad(cla_tensor *t, bool wanted)
{
    if (t) t->wants_grad = wanted;
}

void cla_tensor_clear_grad(cla_tensor *t)
{
    if (t) t->grad_filled = false;
}

cla_tensor *cla_tensor_grad(const cla_tensor *t)
{
    return t && t->grad_filled ? t->grad : NULL;
}

const cla_runtime *cla_runtime_of_tensor(const cla_tensor *t)
{
    return t ? t->rt : NULL;
}

const cla_runtime *cla_runtime_of_rows(const cla_ragged *rows)
{
    return rows ? rows->rt : NULL;
}

const cla_runtime *cla_runtime_of_other(const void *other)
{
    (void)other;
    return NULL;
}

/* Writes the name at place i of names, which ", " separates; "weights->w" becomes
 * "weights.w". */
static void copy_name(char *out, size_t size, const char *names, size_t i)
{
    size_t at = 0;
    for (; i; i--) {
        names = strchr(names, ',') + strlen(", ");
    }
    for (; *names && *names != ','; names++) {
        const bool arrow = names[0] == '-' && names[1] == '>';
        names += arrow;
        if (at + 1 < size) out[at++] = arrow ? '.' : *names;
    }
    out[at] = '\0';
}

cla_status cla_same_runtime(const char *who, const char *names, const cla_runtime *rt,
                            const cla_runtime *const *owners, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (owners[i] && owners[i] != rt) {
            char name[64];
            copy_name(name, sizeof name, names, i);
            return cla_fail(
                CLA_E_USAGE, "%s: %s belongs to another runtime, on device '%s'",
                who + strlen("cla_"), name, cla_runtime_device(owners[i])->name);
        }
    }
    return CLA_OK;
}

cla_status cla_check_shape(const char *who, const char *name, const cla_tensor *t,
                           cla_dtype dtype, int rank, const int64_t *shape)
{
    if (!t) {
        return cla_fail(CLA_E_USAGE, "%s: %s is NULL", who, name);
    }
    if (t->dtype != dtype) {
        return cla_fail(CLA_E_SHAPE, "%s: %s holds %s, must hold %s", who, name,
                        cla_dtype_name(t->dtype), cla_dtype_name(dtype));
    }
    bool same = t->rank == rank;
    for (int i = 0; i < rank && same; i++) {
        same = shape[i] < 0 || t->shape[i] == shape[i];
    }
    if (!same) {
        return cla_fail(CLA_E_SHAPE, "%s: %s is %s, must be %s", who, name,
                        cla_shape_text(t), format_shape(rank, shape));
    }
    if (cla_is_columns(t)) {
        return cla_fail(CLA_E_SHAPE, "%s: %s is a column view, must be a tensor", who,
                        name);
    }
    return CLA_OK;
}
