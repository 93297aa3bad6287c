/* custom_call.h - one call of cla_custom_attention, and its passes inside a band. */
#pragma once

#include "cl/custom_args.h"
#include "ops/attention_common.h"
#include "ops/custom_code.h"

enum {
    CUSTOM_FAR = 1 << 29,           // apart without a window
    CUSTOM_WORKERS = 1024,          // most copies of the inputs' gradients
    CUSTOM_COPIES_BYTES = 32 << 20, // and what they may take, unless one takes more
};

_Static_assert((int)CUSTOM_INPUTS == (int)CLA_CUSTOM_INPUTS, "inputs of the API");

typedef struct custom_call {
    cla_attention_call attention;
    cla_tensor *input[CLA_CUSTOM_INPUTS]; // NULL from the end on
    bool wanted[CLA_CUSTOM_INPUTS];       // gets a gradient
    const cla_custom_code *code;
    cla_memory cells; // [B,cell_heads,cell_rows,cell_columns] bytes, where code->cells
    custom_args args;
} custom_call;

/* Adds the inputs, and cells where the launch's code has them, to its arguments. */
void cla_custom_add_inputs(cla_launch *launch, const custom_call *call);

/* Whether the kernels of a band take a call: a narrow window of self-attention by the
 * tile schedule, without an expression for weights. */
bool cla_custom_is_narrow(cla_runtime *rt, const custom_call *call);

/* Whether an item for each head of a sequence takes the backward pass: there are
 * enough, and copies of the inputs' gradients (args->slice) are few and small; and the
 * pass, with copies in parts [B*H,slice]. */
bool cla_custom_by_heads(cla_runtime *rt, const custom_call *call,
                         const cla_attention_grads *grads);
cla_status cla_custom_grad_heads(cla_runtime *rt, const custom_call *call,
                                 const cla_attention_grads *grads,
                                 const cla_memory *parts);

/* The passes of such a call. Backward gives no gradients of inputs. */
cla_status cla_custom_band_forward(cla_runtime *rt, const custom_call *call);
cla_status cla_custom_band_backward(cla_runtime *rt, const custom_call *call,
                                    const cla_attention_grads *grads);
