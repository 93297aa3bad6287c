/* custom_code.h - translates expressions of cla_custom_attention to kernel code. */
#pragma once

#include "cl/custom_args.h"
#include "clattn/custom.h"
#include "tensor/tensor.h"

/* The code of one modifier. It is made once and lives as long as the runtime. */
typedef struct cla_custom_code {
    char *key;                  // expressions, inputs, wanted gradients
    char *tile, *scalar;        // generated.clh for vectors and for scalars
    bool cells;                 // tile kernels get the blocks that the mask hides
    bool cells_by_head;         // each head has its own mask
    bool reweighs;              // the modifier has an expression for weights
    bool two_passes;            // that expression needs the weight itself
    bool adds;                  // the score adds to s a term without it
    bool rows;                  // it has gradients that a query's keys share
    int own[CLA_CUSTOM_INPUTS]; // cla_custom_own of each input
    struct cla_custom_code *next;
} cla_custom_code;

/* Checks a modifier without making its code. Of the inputs' tensors only types and
 * ranks are read. Errors: those of cla_custom_code_get. */
cla_status cla_custom_check(const cla_attention_mod *mod,
                            const bool wanted[CLA_CUSTOM_INPUTS]);

/* Finds or makes the code of a modifier. wanted: the inputs that get gradients.
 * Errors: CLA_E_USAGE (an invalid expression, with a caret under the place; an invalid
 * name of an input; an input that no expression reads; a gradient that is zero
 * everywhere), CLA_E_NOMEM. */
cla_status cla_custom_code_get(const cla_custom_code **out, cla_runtime *rt,
                               const cla_attention_mod *mod,
                               const bool wanted[CLA_CUSTOM_INPUTS]);
