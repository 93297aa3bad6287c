/* param.h - the named parameters of a model: one block of values, one of gradients. */
#pragma once

#include "tensor/tensor.h"

/* Initialisers. The caller gives the fans; a fused matrix has those of its parts. */
typedef enum cla_init_kind {
    CLA_INIT_ZEROS,
    CLA_INIT_ONES,
    CLA_INIT_CONSTANT,       // scale
    CLA_INIT_FIRST,          // scale, then zeros
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

/* How a parameter is stored in a model that is loaded with reduced precision. */
typedef enum cla_param_use {
    CLA_PARAM_FLOATS, // as floats, which its operators need
    CLA_PARAM_LINEAR, // w [in,out] of cla_linear; in 8 bits, a scale a column
    CLA_PARAM_TABLE,  // [V,D] of cla_embedding, cla_tied_linear; a scale a row
} cla_param_use;

typedef struct cla_param {
    char name[64]; // "layer.0.qkv"
    int rank;
    int64_t shape[4];
    cla_init init;
    cla_param_use use;
    bool levels;    // logits of the weights of levels
    int64_t states; // rows of a recurrence's state, the last ones; 0: none
    size_t offset;  // bytes into the block
    cla_tensor *tensor;
    cla_tensor **home; // the layer's pointer to tensor
} cla_param;

typedef struct cla_params {
    cla_runtime *rt;
    cla_param *list;
    size_t count, cap;
    cla_dtype weights; // CLA_F32, or set before cla_params_build to CLA_F16 or CLA_I8:
                       // type of linear and table parameters, without gradients
    bool bytes;        // set before cla_params_build: products with weights of CLA_I8
                       // round their rows to 8 bits
    bool infers;       // set before cla_params_build: no training is planned, and there
                       // is room for weights that are turned into panels
    bool loads;        // set before cla_params_build: the caller writes all values
                       // next, so that none is drawn
    cla_memory values; // one block
    cla_order order;   // of values: the tensors' orders
    cla_memory gradients; // one block, made by cla_params_train
    int64_t size;         // numbers in all parameters
} cla_params;

/* Adds a parameter with a formatted name. cla_params_build sets *home, cla_params_free
 * clears it. */
cla_status cla_param_add(cla_params *params, cla_tensor **home, cla_init init, int rank,
                         const int64_t *shape, const char *name, ...)
    __attribute__((format(printf, 6, 7)));

/* Add a parameter with a usual initialiser: a matrix [in,out] (Glorot uniform with fans
 * in and out), the vector [n] of an additive score (Glorot uniform, both fans sqrt(n)),
 * and a vector [n] of zeros, such as a bias. */
cla_status cla_param_matrix(cla_params *params, cla_tensor **home, int64_t in,
                            int64_t out, const char *name, ...)
    __attribute__((format(printf, 5, 6)));
cla_status cla_param_score(cla_params *params, cla_tensor **home, int64_t n,
                           const char *name);
cla_status cla_param_zeros(cla_params *params, cla_tensor **home, int64_t n,
                           const char *name, ...) __attribute__((format(printf, 4, 5)));

/* Adds logits c [n] of weights softmax(c). The first weight is initially `first`, the
 * others share the rest; 0: all are equal. */
cla_status cla_param_levels(cla_params *params, cla_tensor **home, int64_t n,
                            double first, const char *name);

/* Sets the use of the parameter that was added last. */
void cla_param_for(cla_params *params, cla_param_use use);

/* Says that the last n rows of the matrix that was added last belong to the state of a
 * recurrence. */
void cla_param_states(cla_params *params, int64_t n);

/* Adds the matrix `name` [in,out] and the bias `name`_bias [out] of cla_linear. */
cla_status cla_param_linear(cla_params *params, cla_tensor **w, cla_tensor **b,
                            int64_t in, int64_t out, const char *name);

/* Allocates the block of values and draws them. Each parameter has a random
 * stream of its own, so adding one does not change the others. With reduced precision
 * all values are zeros until cla_param_write. Errors: CLA_E_NOMEM, CLA_E_DEVICE,
 * CLA_E_SHAPE. */
cla_status cla_params_build(cla_params *params, cla_runtime *rt, uint32_t seed);
/* Allocates the block of gradients, which inference does without. Call it once, before
 * the first backward pass whose gradients matter. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_params_train(cla_params *params);
void cla_params_free(cla_params *params);

/* Writes the values of a parameter, converted from floats to its type: to halves by
 * rounding to nearest, ties to even; to 8 bits by cla_quantise. Call cla_params_changed
 * afterwards. Errors: CLA_E_INPUT (too large for a half), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_param_write(const cla_params *params, const cla_param *p,
                           const float *numbers);

/* Writes 8-bit values and their scales unchanged; p must have the type CLA_I8. */
cla_status cla_param_write_packed(const cla_params *params, const cla_param *p,
                                  const int8_t *q, const float *scale);

/* Returns the number of elements of p. */
int64_t cla_param_size(const cla_param *p);

/* Returns the number of scales of p: its rows (CLA_PARAM_TABLE) or else its columns. */
int64_t cla_param_scales(const cla_param *p);

/* Marks all gradients as empty, before a step. */
void cla_params_clear_gradients(cla_params *params);
/* Fills gradients that are still empty with zeros, after the backward pass. */
cla_status cla_params_fill_gradients(cla_params *params);

/* Marks all forms that were packed from the values as out of date; call it after
 * writing to the block of values. */
void cla_params_changed(cla_params *params);

/* Makes a flat tensor of floats over a block, including the gaps, which stay zero. */
cla_status cla_params_block(const cla_params *params, const cla_memory *block,
                            cla_tensor **flat);

/* Returns the parameter of this name, or NULL. */
const cla_param *cla_params_find(const cla_params *params, const char *name);
