/* param.h - the named parameters of a model, in one block with one block of gradients.
 * */
#pragma once

#include "tensor/tensor.h"

/* Initialisers. Fans are the caller's: a fused matrix has the fans of its parts. */
typedef enum cla_init_kind {
    CLA_INIT_ZEROS,
    CLA_INIT_ONES,
    CLA_INIT_CONSTANT,       // scale
    CLA_INIT_FIRST,          // scale, and zeros behind it
    CLA_INIT_ALIBI,          // 2^(-8 (h+1) / H) for all numbers of row h of [H,...]
    CLA_INIT_UNIFORM,        // U(-scale, scale)
    CLA_INIT_NORMAL,         // N(0, scale)
    CLA_INIT_GLOROT_UNIFORM, // U(-a, a), a = sqrt(6 / (in + out))
    CLA_INIT_GLOROT_NORMAL,  // normal, redrawn beyond 2 s; s = sqrt(2 / (in + out))
} cla_init_kind;

typedef struct cla_init {
    cla_init_kind kind;
    double scale;
    double fan_in, fan_out;
} cla_init;

/* What a matrix becomes in a model that is loaded with fewer bits than floats have. */
typedef enum cla_param_use {
    CLA_PARAM_FLOATS, // stays floats: the operators that read it know no others
    CLA_PARAM_LINEAR, // w [in,out] of cla_linear: a scale for each column
    CLA_PARAM_TABLE,  // [V,D] of cla_embedding and cla_tied_linear: one for each row
} cla_param_use;

typedef struct cla_param {
    char name[64]; // "layer.0.qkv"
    int rank;
    int64_t shape[4];
    cla_init init;
    cla_param_use use;
    size_t offset; // bytes into the block
    cla_tensor *tensor;
    cla_tensor **home; // where the layer keeps it
} cla_param;

typedef struct cla_params {
    cla_runtime *rt;
    cla_param *list;
    size_t count, cap;
    cla_dtype weights; // CLA_F32; CLA_F16 or CLA_I8 before cla_params_build: linear
                       // and table parameters hold these, and there are no gradients
    cla_memory values, gradients; // one block each
    int64_t size;                 // numbers in all parameters
} cla_params;

/* Names a parameter; *home is set by cla_params_build and cleared by cla_params_free.
 * */
cla_status cla_param_add(cla_params *params, cla_tensor **home, cla_init init, int rank,
                         const int64_t *shape, const char *name, ...)
    __attribute__((format(printf, 6, 7)));

/* The same with the usual initialisers: a matrix [in,out] and a vector [n] that scores
 * are multiplied with, of Glorot's numbers (fans in and out; twice the root of n), and
 * a vector [n] of zeros, such as a bias. */
cla_status cla_param_matrix(cla_params *params, cla_tensor **home, int64_t in,
                            int64_t out, const char *name, ...)
    __attribute__((format(printf, 5, 6)));
cla_status cla_param_score(cla_params *params, cla_tensor **home, int64_t n,
                           const char *name);
cla_status cla_param_zeros(cla_params *params, cla_tensor **home, int64_t n,
                           const char *name, ...) __attribute__((format(printf, 4, 5)));

/* Logits c [n] of weights softmax(c): the first weight begins as `first`, the others
 * share the rest; 0: all begin equal. */
cla_status cla_param_levels(cla_params *params, cla_tensor **home, int64_t n,
                            double first, const char *name);

/* Says what the parameter that was added last is for. */
void cla_param_for(cla_params *params, cla_param_use use);

/* A matrix name [in,out] of cla_linear and a bias name_bias [out]. */
cla_status cla_param_linear(cla_params *params, cla_tensor **w, cla_tensor **b,
                            int64_t in, int64_t out, const char *name);

/* Makes the blocks and draws the values from the seed; each parameter has a stream of
 * its
 * own, so adding one changes no other. Those of fewer bits are zeros until
 * cla_param_write. Errors: CLA_E_NOMEM, CLA_E_DEVICE, CLA_E_SHAPE.
 * */
cla_status cla_params_build(cla_params *params, cla_runtime *rt, uint32_t seed);
void cla_params_free(cla_params *params);

/* Numbers for a parameter, in the bits that it holds; those of fewer bits are made of
 * floats on the way: halves to nearest, ties to even; 8 bits as cla_quantise.
 * cla_params_changed comes after it. Errors: CLA_E_INPUT (beyond what halves hold),
 * CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_param_write(const cla_params *params, const cla_param *p,
                           const float *numbers);

/* The same of 8 bits with their scales as they are, which p has to hold. */
cla_status cla_param_write_packed(const cla_params *params, const cla_param *p,
                                  const int8_t *q, const float *scale);

/* Rows of the last two axes that have a scale each, or columns. */
int64_t cla_param_scales(const cla_param *p);

/* Before a step: no gradient holds numbers. */
void cla_params_clear_gradients(cla_params *params);
/* After it: parameters that the step did not touch get zero. */
cla_status cla_params_fill_gradients(cla_params *params);

/* After writing to the block of values: forms that were packed from it are out of date.
 * */
void cla_params_changed(cla_params *params);

/* A block as a flat tensor of floats (with the gaps, which stay zero). */
cla_status cla_params_block(const cla_params *params, const cla_memory *block,
                            cla_tensor **flat);
const cla_param *cla_params_find(const cla_params *params, const char *name);
