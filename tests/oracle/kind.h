/* kind.h - what tests, bench and golden files share of an operator: its signature, how
 * the device runs it, and its definition. */
#pragma once

#include <string.h>

#include "tensor/signature.h"

enum { KIND_ATTRIBUTES = 6 };

/* One call. Arrays are in the order of the signature; NULL where an operand is absent
 * or of another type. */
typedef struct op_call {
    cla_sizes sizes;
    double attribute[KIND_ATTRIBUTES];
    cla_tensor *in[CLA_OPERANDS];
    const cla_ragged *rows[CLA_OPERANDS];
    const double *x[CLA_OPERANDS];    // numbers on the host
    const int32_t *ids[CLA_OPERANDS]; // whole numbers, and offsets of rows
    bool wanted[CLA_OPERANDS];        // of outputs that a caller may do without
} op_call;

/* Operations and bytes moved, 0 where they make no sense. */
typedef struct kind_cost {
    double flops, bytes;
} kind_cost;

typedef struct op_kind {
    const cla_signature *signature;
    /* Names, and after '=' the words that a choice has, in the order of its values:
     * "eps", "activation=none|relu|tanh", "causal=0|1". One with a '?' is 0 where it is
     * not given: "dropout?". One with a '#' is a whole number: "window#". */
    const char *attribute[KIND_ATTRIBUTES];
    /* y: the outputs in order; the oracle's are NULL where not wanted. */
    cla_status (*device)(cla_tape *tape, cla_tensor **y, const op_call *c);
    void (*oracle)(double *const *y, const op_call *c);
    kind_cost (*cost)(const op_call *c, bool backward); // NULL: nothing is said
    const char *name; // where an operator has two kinds; NULL: the signature's
} op_kind;

/* NULL when there is none of that name. */
const op_kind *op_kind_find(const char *name);

/* All kinds in turn, and NULL behind the last. */
const op_kind *op_kind_at(size_t index);

static inline const char *op_kind_name(const op_kind *kind)
{
    return kind->name ? kind->name : kind->signature->op;
}

/* The size of a letter, as oracles take it. */
static inline int kind_size(const op_call *c, const char *letter)
{
    return (int)cla_sizes_get(&c->sizes, letter);
}

/* Numbers of an operand of any shape, "...". */
static inline int64_t kind_total(const op_call *c)
{
    const int64_t *s = c->sizes.shape;
    return s[0] * s[1] * s[2] * s[3];
}

/* The length of an attribute's name. */
static inline int kind_name(const char *attribute)
{
    return (int)strcspn(attribute, "=?#");
}
