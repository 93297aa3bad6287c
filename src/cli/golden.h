/* golden.h - golden cases: compares what a device computes with known answers in
 * files. */
#pragma once

#include "base/safetensors.h"
#include "clattn/clattn.h"
#include "ops/optimiser.h"
#include "oracle/kind.h"

enum { GOLDEN_ATTRIBUTES = 6 };

/* A case that is being run. */
typedef struct golden golden;

/* An operator without a kind, or whose files differ from its kind. */
typedef struct golden_op {
    const char *name;
    const char *attributes[GOLDEN_ATTRIBUTES]; // all are required, no other is allowed
    cla_status (*run)(golden *g);
} golden_op;

/* Runs the operator of the case: by its row in golden_ops.c, by its kind, or as an
 * optimiser. Errors: those of golden_run. */
cla_status golden_run_op(golden *g);

/* The comparison of the tensor with the highest score. */
typedef struct golden_result {
    bool ok;
    double nmse, max_abs; // sum (x-ref)^2 / sum ref^2, largest |x-ref|; may be infinite
    char worst[64];       // "grad.k"
    int64_t at;           // element of worst with the largest error
    double score;         // largest ratio of an error to its limit; above 1: failure
} golden_result;

/* Runs a case forward and backward, and compares every out and grad tensor.
 * Errors: CLA_E_USAGE (unknown operator, or an attribute it does not take), CLA_E_INPUT
 * and CLA_E_SHAPE (tensors that are missing or do not fit), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status golden_run(golden_result *result, cla_runtime *rt, const cla_st_file *file);

/* ---- comparison -------------------------------------------------------------- */

/* Error limits of a tensor. The limit of an element is `element` * max(1, max|ref|), or
 * `zero` where the file has only zeros (or their rounding). */
typedef struct golden_limits {
    double nmse;
    double element; // relative to max(1, max|ref|)
    double zero;    // limit of an element
} golden_limits;

/* Compares got (NULL: all zeros) with want. The tensor with the highest score stays in
 * result. Errors: CLA_E_INPUT (want is not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status golden_compare(golden_result *result, const cla_tensor *got,
                          const cla_st_tensor *want, const golden_limits *limits);

/* Raises *largest to the largest magnitude in t. Errors: CLA_E_INPUT (not finite). */
cla_status golden_largest(const cla_st_tensor *t, double *largest);

/* Runs a case of an operator through its kind (golden_kind.c). Errors: those of
 * golden_run. */
cla_status golden_kind(golden *g, const op_kind *kind);

/* ---- for the operators ------------------------------------------------------- */

cla_tape *golden_tape(golden *g);
cla_runtime *golden_runtime(golden *g);
const cla_st_file *golden_file(const golden *g);

/* Returns the operands [CLA_OPERANDS] of the case's kind. They live as long as g, which
 * keeps pointers to their names. */
cla_operand *golden_operands(golden *g);

/* Uploads in.NAME or param.NAME. It wants a gradient when the file has grad.NAME. */
cla_status golden_tensor(golden *g, const char *name, cla_tensor **t);
/* Does the same; *t is NULL when the file has no such tensor. */
cla_status golden_optional(golden *g, const char *name, cla_tensor **t);
/* Reads in.NAME as the offsets of a packed batch. */
cla_status golden_rows(golden *g, const char *name, cla_ragged **rows);
/* Makes a packed batch of sequences that all have this length. */
cla_status golden_even_rows(golden *g, int64_t sequences, int64_t length,
                            cla_ragged **rows);
/* Returns whether the file has PREFIX.NAME. */
bool golden_has(const golden *g, const char *prefix, const char *name);
/* Records t as the result to compare with out.NAME. */
cla_status golden_output(golden *g, const char *name, cla_tensor *t);

/* Read an attribute. Errors: CLA_E_USAGE with key and value. */
cla_status golden_int(const golden *g, const char *key, int *value);
cla_status golden_double(const golden *g, const char *key, double *value);
cla_status golden_bool(const golden *g, const char *key, bool *value);
/* Reads an attribute that is one of names (NULL-terminated); *value is its index. */
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
