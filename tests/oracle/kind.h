/* kind.h - what tests, bench and golden files share of an operator: its signature, how
 * the device runs it, and its definition. */
#pragma once

#include "tensor/signature.h"

enum { KIND_ATTRIBUTES = 4 };

/* One call. Arrays are in the order of the signature; NULL where an operand is absent
 * or of another type. */
typedef struct op_call {
    cla_sizes sizes;
    double attribute[KIND_ATTRIBUTES];
    cla_tensor *in[CLA_OPERANDS];
    const cla_ragged *rows[CLA_OPERANDS];
    const double *x[CLA_OPERANDS];    // numbers on the host
    const int32_t *ids[CLA_OPERANDS]; // whole numbers, and offsets of rows
} op_call;

typedef struct op_kind {
    const cla_signature *signature;
    /* Names, and after '=' the words that a choice has, in the order of its values:
     * "eps", "activation=none|relu|tanh", "causal=0|1". */
    const char *attribute[KIND_ATTRIBUTES];
    cla_status (*device)(cla_tape *tape, cla_tensor **y, const op_call *c);
    void (*oracle)(double *const *y, const op_call *c);
} op_kind;

extern const op_kind cross_entropy_kind, embedding_kind, layer_norm_kind, linear_kind,
    masked_softmax_kind;

/* NULL when there is none of that name. */
const op_kind *op_kind_find(const char *name);

/* The size of a letter, as oracles take it. */
static inline int kind_size(const op_call *c, const char *letter)
{
    return (int)cla_sizes_get(&c->sizes, letter);
}
