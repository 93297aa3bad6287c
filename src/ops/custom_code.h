/* custom_code.h - expressions of cla_custom_attention as code for its kernels. */
#pragma once

#include "cl/custom_args.h"
#include "clattn/custom.h"
#include "tensor/tensor.h"

/* The code of one modifier. It lives as long as the runtime, which makes it once. */
typedef struct cla_custom_code {
    char *key;           // the expressions, and the inputs' names and types
    char *tile, *scalar; // generated.clh for vectors, and for single numbers
    bool cells;          // the tile's kernels are told which blocks a mask hides
    bool cells_by_head;  // heads have masks of their own
    bool reweighs;       // there is an expression for weights
    bool two_passes;     // the weight's expression must know the weight
    struct cla_custom_code *next;
} cla_custom_code;

/* Whether a modifier is one, without making code of it. Of the inputs' tensors only
 * types and ranks are read. Errors: as cla_custom_code_get. */
cla_status cla_custom_check(const cla_attention_mod *mod,
                            const bool wanted[CLA_CUSTOM_INPUTS]);

/* Finds or makes the code of a modifier. wanted: inputs that get gradients.
 * Errors: CLA_E_USAGE for expressions that are none, with a caret under the place, for
 * names of inputs that are none and for gradients that are zero everywhere;
 * CLA_E_NOMEM. */
cla_status cla_custom_code_get(const cla_custom_code **out, cla_runtime *rt,
                               const cla_attention_mod *mod,
                               const bool wanted[CLA_CUSTOM_INPUTS]);
