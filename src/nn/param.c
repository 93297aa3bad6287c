/* param.c - named parameters: one block of values, one of gradients. */
#include "nn/param.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/rng.h"
#include "ops/matmul.h"
#include "ops/spread.h"

__attribute__((format(printf, 6, 0))) static cla_status add(
    cla_params *params, cla_tensor **home, cla_init init, int rank,
    const int64_t *shape, const char *name, va_list args)
{
    CLA_TRY(
        cla_grow(&params->list, &params->cap, params->count + 1, sizeof *params->list));
    cla_param *p = &params->list[params->count++];
    *p = (cla_param){
        .rank = rank, .shape = { 1, 1, 1, 1 }, .init = init, .home = home
    };
    memcpy(p->shape, shape, (size_t)rank * sizeof *shape);
    vsnprintf(p->name, sizeof p->name, name, args);
    *home = NULL;
    return CLA_OK;
}

cla_status cla_param_add(cla_params *params, cla_tensor **home, cla_init init, int rank,
                         const int64_t *shape, const char *name, ...)
{
    va_list args;
    va_start(args, name);
    const cla_status status = add(params, home, init, rank, shape, name, args);
    va_end(args);
    return status;
}

cla_status cla_param_matrix(cla_params *params, cla_tensor **home, int64_t in,
                            int64_t out, const char *name, ...)
{
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, (double)in, (double)out };
    va_list args;
    va_start(args, name);
    const cla_status status =
        add(params, home, glorot, 2, (int64_t[]){ in, out }, name, args);
    va_end(args);
    return status;
}

cla_status cla_param_score(cla_params *params, cla_tensor **home, int64_t n,
                           const char *name)
{
    const double fan = sqrt((double)n);
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, fan, fan };
    return cla_param_add(params, home, glorot, 1, &n, "%s", name);
}

cla_status cla_param_zeros(cla_params *params, cla_tensor **home, int64_t n,
                           const char *name, ...)
{
    const cla_init zeros = { CLA_INIT_ZEROS, 0, 0, 0 };
    va_list args;
    va_start(args, name);
    const cla_status status = add(params, home, zeros, 1, &n, name, args);
    va_end(args);
    return status;
}

cla_status cla_param_levels(cla_params *params, cla_tensor **home, int64_t n,
                            double first, const char *name)
{
    const double logit =
        first > 0 && n > 1 ? log(first * (double)(n - 1) / (1 - first)) : 0;
    const cla_init init = { CLA_INIT_FIRST, logit, 0, 0 };
    CLA_TRY(cla_param_add(params, home, init, 1, &n, "%s", name));
    params->list[params->count - 1].levels = true;
    return CLA_OK;
}

void cla_param_for(cla_params *params, cla_param_use use)
{
    params->list[params->count - 1].use = use;
}

void cla_param_states(cla_params *params, int64_t n)
{
    params->list[params->count - 1].states = n;
}

cla_status cla_param_linear(cla_params *params, cla_tensor **w, cla_tensor **b,
                            int64_t in, int64_t out, const char *name)
{
    CLA_TRY(cla_param_matrix(params, w, in, out, "%s", name));
    cla_param_for(params, CLA_PARAM_LINEAR);
    return cla_param_zeros(params, b, out, "%s_bias", name);
}

int64_t cla_param_size(const cla_param *p)
{
    return p->shape[0] * p->shape[1] * p->shape[2] * p->shape[3];
}

/* Draws normal numbers; redraws those beyond two deviations from further streams. */
static cla_status truncated_normal(float *x, int64_t n, float scale, uint32_t seed,
                                   uint32_t stream)
{
    enum { TRIES = 12 }; // a miss has probability 0.0455: all fail once in 10^16
    float *again = NULL;
    CLA_TRY(cla_alloc(&again, (size_t)n, sizeof *again));
    cla_random_normal(x, n, 1, seed, stream);
    for (uint32_t attempt = 1; attempt < TRIES; attempt++) {
        cla_random_normal(again, n, 1, seed, stream + attempt * 0x9E3779B9u);
        for (int64_t i = 0; i < n; i++) {
            x[i] = fabsf(x[i]) > 2 ? again[i] : x[i];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] *= scale;
    }
    free(again);
    return CLA_OK;
}

static cla_status draw(float *x, const cla_param *p, uint32_t seed)
{
    const int64_t n = cla_param_size(p);
    const uint32_t stream = (uint32_t)XXH32(p->name, strlen(p->name), 0);
    const double fans = p->init.fan_in + p->init.fan_out;
    const float scale = (float)p->init.scale;
    switch (p->init.kind) {
    case CLA_INIT_ZEROS:
    case CLA_INIT_ONES:
    case CLA_INIT_CONSTANT:
        for (int64_t i = 0; i < n; i++) {
            x[i] = p->init.kind == CLA_INIT_CONSTANT ? scale
                   : p->init.kind == CLA_INIT_ONES   ? 1
                                                     : 0;
        }
        break;
    case CLA_INIT_FIRST:
        memset(x, 0, (size_t)n * sizeof *x);
        x[0] = scale;
        break;
    case CLA_INIT_ALIBI:
        for (int64_t i = 0; i < n; i++) {
            const int64_t h = i / (n / p->shape[0]);
            x[i] = (float)exp2(-8 * (double)(h + 1) / (double)p->shape[0]);
        }
        break;
    case CLA_INIT_UNIFORM:
        cla_random_uniform(x, n, -scale, scale, seed, stream);
        break;
    case CLA_INIT_NORMAL:
        cla_random_normal(x, n, scale, seed, stream);
        break;
    case CLA_INIT_GLOROT_UNIFORM:
        cla_random_uniform(x, n, -(float)sqrt(6 / fans), (float)sqrt(6 / fans), seed,
                           stream);
        break;
    case CLA_INIT_GLOROT_NORMAL:
        return truncated_normal(x, n, (float)sqrt(2 / fans), seed, stream);
    }
    return CLA_OK;
}

/* ---- blocks ------------------------------------------------------------------ */

int64_t cla_param_scales(const cla_param *p)
{
    return p->use == CLA_PARAM_TABLE ? p->shape[0] : p->shape[1];
}

static cla_dtype dtype_of(const cla_params *params, const cla_param *p)
{
    return p->use == CLA_PARAM_FLOATS ? CLA_F32 : params->weights;
}

static size_t aligned(const cla_params *params, size_t bytes)
{
    const size_t align = cla_memory_align(params->rt);
    return (bytes + align - 1) / align * align;
}

/* Returns the bytes of the scales: kernels read whole tiles of at most 32 columns. */
static size_t scale_bytes(const cla_param *p)
{
    enum { TILE = 32 };
    return (size_t)((cla_param_scales(p) + TILE - 1) / TILE * TILE) * sizeof(float);
}

/* Returns the bytes of a parameter, with room for its panels where inference turns it.
 */
static size_t room_of(const cla_params *params, const cla_param *p)
{
    enum { MOST = 2 }; // times the elements: a column alone would take a whole panel
    const bool table = p->use == CLA_PARAM_TABLE;
    const int64_t size = cla_param_size(p);
    int64_t room = size;
    if (params->infers && p->rank == 2 && size && cla_tiled(params->rt)) {
        const bool bytes = params->bytes && dtype_of(params, p) == CLA_I8;
        room = cla_turned_size(params->rt, p->shape, bytes, table,
                               p->shape[0] - p->states);
    }
    room = room < size || room > MOST * size ? size : room;
    return (size_t)room * cla_width(dtype_of(params, p));
}

/* Returns the bytes of a parameter and its scales. */
static size_t bytes_of(const cla_params *params, const cla_param *p)
{
    const size_t numbers = aligned(params, room_of(params, p));
    return numbers +
           (dtype_of(params, p) == CLA_I8 ? aligned(params, scale_bytes(p)) : 0);
}

/* Brings the elements of all parameters into their usual order. */
static cla_status restore(void *owner)
{
    cla_params *params = owner;
    for (size_t i = 0; i < params->count; i++) {
        const cla_tensor *t = params->list[i].tensor;
        CLA_TRY(t ? cla_memory_usual(&t->memory) : CLA_OK);
    }
    params->order.other = false;
    return CLA_OK;
}

/* Zeros the rooms behind the numbers of all parameters: kernels read whole tiles. */
static cla_status clear_rooms(const cla_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        const cla_param *p = &params->list[i];
        const size_t used = (size_t)cla_param_size(p) * cla_width(dtype_of(params, p));
        const size_t rest = bytes_of(params, p) - used;
        char *zeros = NULL;
        if (!rest) continue;
        CLA_TRY(cla_alloc(&zeros, rest, sizeof *zeros));
        const cla_status status = cla_memory_write(params->rt, &params->values,
                                                   p->offset + used, zeros, rest);
        free(zeros);
        CLA_TRY(status);
    }
    return CLA_OK;
}

/* Makes the tensor of a parameter in the blocks. Draws its values unless they are
 * loaded. */
static cla_status place(cla_params *params, cla_param *p, uint32_t seed)
{
    const cla_dtype dtype = dtype_of(params, p);
    const size_t room = room_of(params, p);
    CLA_TRY(cla_tensor_over(&p->tensor, params->rt, &params->values, p->offset, dtype,
                            p->rank, p->shape));
    p->tensor->bytes = params->bytes && dtype == CLA_I8;
    p->tensor->version = 1; // all changes go through cla_params_changed
    cla_memory whole = p->tensor->memory;
    if (room > whole.bytes) {
        CLA_TRY(cla_memory_part(&whole, params->rt, &params->values, p->offset, room));
    }
    cla_tensor_may_turn(p->tensor, &whole, &params->order);
    *p->home = p->tensor;
    if (dtype == CLA_I8) {
        CLA_TRY(cla_memory_part(&p->tensor->scale, params->rt, &params->values,
                                p->offset + aligned(params, room), scale_bytes(p)));
        p->tensor->scale.order = NULL; // scales are never turned
    }
    if (params->weights != CLA_F32) {
        return CLA_OK;
    }
    cla_tensor_want_grad(p->tensor, true);
    if (params->loads) {
        return CLA_OK;
    }
    float *values = NULL;
    CLA_TRY(cla_alloc(&values, (size_t)cla_param_size(p) + 1, sizeof *values));
    cla_status status = draw(values, p, seed);
    status = status ? status : cla_tensor_upload(p->tensor, values);
    free(values);
    return status;
}

cla_status cla_params_build(cla_params *params, cla_runtime *rt, uint32_t seed)
{
    params->rt = rt;
    params->size = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < params->count; i++) {
        params->list[i].offset = bytes;
        params->size += cla_param_size(&params->list[i]);
        bytes += bytes_of(params, &params->list[i]);
    }
    CLA_TRY(cla_memory_new(&params->values, rt, bytes));
    // filling what is written next would take its memory before the file's is free
    CLA_TRY(params->loads ? clear_rooms(params)
                          : cla_memory_fill(rt, &params->values, 0));
    params->order = (cla_order){ .owner = params, .restore = restore };
    params->values.order = &params->order;
    for (size_t i = 0; i < params->count; i++) {
        CLA_TRY(place(params, &params->list[i], seed));
    }
    return CLA_OK;
}

cla_status cla_params_train(cla_params *params)
{
    assert(params->weights == CLA_F32 && !params->gradients.mem);
    CLA_TRY(cla_memory_usual(&params->values)); // training keeps the usual order
    CLA_TRY(cla_memory_new(&params->gradients, params->rt, params->values.bytes));
    CLA_TRY(cla_memory_fill(params->rt, &params->gradients, 0));
    for (size_t i = 0; i < params->count; i++) {
        const cla_param *p = &params->list[i];
        cla_tensor_free(&p->tensor->grad); // of a backward pass without the block
        CLA_TRY(cla_tensor_over(&p->tensor->grad, params->rt, &params->gradients,
                                p->offset, CLA_F32, p->rank, p->shape));
    }
    return CLA_OK;
}

/* ---- values ------------------------------------------------------------------ */

void cla_params_free(cla_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        if (params->list[i].tensor) {
            *params->list[i].home = NULL;
        }
        cla_tensor_free(&params->list[i].tensor);
    }
    if (params->rt) {
        cla_memory_free(&params->values, params->rt);
        cla_memory_free(&params->gradients, params->rt);
    }
    free(params->list);
    *params = (cla_params){ 0 };
}

void cla_params_clear_gradients(cla_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        cla_tensor_clear_grad(params->list[i].tensor);
    }
}

cla_status cla_params_fill_gradients(cla_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        const cla_tensor *t = params->list[i].tensor;
        if (!cla_tensor_grad(t)) {
            CLA_TRY(cla_tensor_fill(t->grad, 0));
        }
    }
    return CLA_OK;
}

void cla_params_changed(cla_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        params->list[i].tensor->version++;
    }
}

cla_status cla_params_block(const cla_params *params, const cla_memory *block,
                            cla_tensor **flat)
{
    const int64_t shape[] = { (int64_t)(block->bytes / 4) };
    return cla_tensor_over(flat, params->rt, block, 0, CLA_F32, 1, shape);
}

const cla_param *cla_params_find(const cla_params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++) {
        if (strcmp(params->list[i].name, name) == 0) {
            return &params->list[i];
        }
    }
    return NULL;
}
