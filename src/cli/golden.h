/* golden.h - known answers in files, held against what a device computes. */
#pragma once

#include "base/safetensors.h"
#include "clattn/clattn.h"
#include "ops/optimiser.h"
#include "oracle/kind.h"

enum { GOLDEN_ATTRIBUTES = 6 };

/* A case on its way through its operator. */
typedef struct golden golden;

/* An operator whose files are not as its kind says, or that has none. */
typedef struct golden_op {
    const char *name;
    const char *attributes[GOLDEN_ATTRIBUTES]; // each must be given, and no other
    cla_status (*run)(golden *g);
} golden_op;

/* Runs the operator of the case: by its row in golden_ops.c, by its kind, or as an
 * optimiser. Errors: as golden_run. */
cla_status golden_run_op(golden *g);

/* How the tensor that is furthest off compares with the file. */
typedef struct golden_result {
    bool ok;
    double nmse, max_abs; // sum (x-ref)^2 / sum ref^2, largest |x-ref|; may be infinite
    char worst[64];       // "grad.k"
    int64_t at;           // element of worst that is furthest off
    double score;         // times the limit; above 1 is failure
} golden_result;

/* Runs a case forward and backward, and compares every out and grad tensor.
 * Errors: CLA_E_USAGE (unknown operator, or an attribute it does not take), CLA_E_INPUT
 * and CLA_E_SHAPE (tensors that are missing or do not fit), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status golden_run(golden_result *result, cla_runtime *rt, const cla_st_file *file);

/* ---- comparison -------------------------------------------------------------- */

/* What a tensor may be off by; beside it stands 1e-4 * max(1, max|ref|) an element. */
typedef struct golden_limits {
    double nmse;
    double zero; // an element, where the file has zeros, or their rounding, only
} golden_limits;

/* Takes got (NULL is all zeros) into account; the one furthest off stays in result.
 * Errors: CLA_E_INPUT (want is not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status golden_compare(golden_result *result, const cla_tensor *got,
                          const cla_st_tensor *want, const golden_limits *limits);

/* Raises *largest to the largest magnitude in t. Errors: CLA_E_INPUT (not finite). */
cla_status golden_largest(const cla_st_tensor *t, double *largest);

/* Runs the case of an operator from its kind (golden_kind.c). Errors: as golden_run. */
cla_status golden_kind(golden *g, const op_kind *kind);

/* ---- for the operators ------------------------------------------------------- */

cla_tape *golden_tape(golden *g);
cla_runtime *golden_runtime(golden *g);
const cla_st_file *golden_file(const golden *g);

/* [CLA_OPERANDS] of the case's kind, as long as it lives: tensors go by their names. */
cla_operand *golden_operands(golden *g);

/* in.NAME or param.NAME on the device; wants a gradient when the file has one. */
cla_status golden_tensor(golden *g, const char *name, cla_tensor **t);
/* The same, or *t is NULL when the file has no such tensor. */
cla_status golden_optional(golden *g, const char *name, cla_tensor **t);
/* in.NAME as the offsets of a packed batch. */
cla_status golden_rows(golden *g, const char *name, cla_ragged **rows);
/* A packed batch of sequences that are all length long. */
cla_status golden_even_rows(golden *g, int64_t sequences, int64_t length,
                            cla_ragged **rows);
/* Whether the file has PREFIX.NAME. */
bool golden_has(const golden *g, const char *prefix, const char *name);
/* t is out.NAME. */
cla_status golden_output(golden *g, const char *name, cla_tensor *t);

/* Attributes. Errors: CLA_E_USAGE with key and value. */
cla_status golden_int(const golden *g, const char *key, int *value);
cla_status golden_double(const golden *g, const char *key, double *value);
cla_status golden_bool(const golden *g, const char *key, bool *value);
/* The position of the value among names (NULL-terminated). */
cla_status golden_choice(const golden *g, const char *key, const char *const *names,
                         int *value);

/* ---- golden_layers.c: operators around the attention -------------------------- */

cla_status golden_char_cnn(golden *g);
cla_status golden_matmul(golden *g);
cla_status golden_optimiser(golden *g, const cla_optimiser *o);

/* ---- golden_custom.c: attention with scores of expressions ----------------------- */

cla_status golden_custom_attention(golden *g);

/* ---- golden_hard.c: hard attention and its policy gradient ---------------------- */

cla_status golden_hard_attention(golden *g);
cla_status golden_reinforce(golden *g);
