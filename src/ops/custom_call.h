/* custom_call.h - a call of cla_custom_attention, and its passes in a narrow window. */
#pragma once

#include "cl/custom_args.h"
#include "ops/attention_common.h"
#include "ops/custom_code.h"

enum {
    CUSTOM_FAR = 1 << 29,           // args.apart without a window
    CUSTOM_WORKERS = 1024,          // limit for copies of the inputs' gradients
    CUSTOM_COPIES_BYTES = 32 << 20, // and for their bytes, unless one copy is larger
};

_Static_assert((int)CUSTOM_INPUTS == (int)CLA_CUSTOM_INPUTS, "inputs of the API");

typedef struct custom_call {
    cla_attention_call attention;
    cla_tensor *input[CLA_CUSTOM_INPUTS]; // NULL behind the last
    bool wanted[CLA_CUSTOM_INPUTS];       // the input gets a gradient
    bool learns;                          // some input does
    bool direct[CLA_CUSTOM_INPUTS];       // without copies: each query has its own
    bool exact; // sums of gradients are as exact as those of a score's own kernel
    const cla_custom_code *code;
    cla_memory cells; // [B,cell_heads,cell_rows,cell_columns] bytes, if code->cells
    custom_args args;
} custom_call;

/* The gradients of the inputs, and the copies whose sums they are. */
typedef struct custom_grads {
    cla_tensor *grad[CLA_CUSTOM_INPUTS]; // NULL: not wanted
    int add[CLA_CUSTOM_INPUTS];
    int64_t workers;
    cla_memory parts; // [workers,slice]
} custom_grads;

/* Runs an operator on checked operands, records its backward pass, and makes the map if
 * options request it. call: zero but for exact. */
cla_status cla_custom_run(custom_call *call, cla_tape *tape, cla_tensor **o,
                          cla_tensor *const qkv[3], const cla_ragged *const rows[2],
                          const cla_attention_mod *mod,
                          const cla_attention_options *options);

/* Check a modifier's window and inputs; store its inputs and their sizes; and, when the
 * call has begun, find out which gradients need no copies, and the places of the others
 * in a copy. Errors: CLA_E_USAGE, CLA_E_SHAPE. */
cla_status cla_custom_inputs_check(const cla_attention_mod *mod);
void cla_custom_inputs_take(custom_call *call, const cla_tape *tape,
                            const cla_attention_mod *mod);
cla_status cla_custom_inputs_place(custom_call *call, cla_runtime *rt);

/* Put the inputs, and the gradients of which each query has an element of its own, into
 * arguments; the latter returns behind them. */
void cla_custom_put_inputs(cla_arg *args, const custom_call *call);
cla_arg *cla_custom_put_own(cla_arg *args, const custom_call *call,
                            const custom_grads *p);

/* Appends cells, if the launch's code has them, and the inputs to its arguments. */
void cla_custom_add_inputs(cla_launch *launch, const custom_call *call);

/* Returns whether the kernels of a band can serve a call: self-attention in a narrow
 * window, under the tile schedule, without an expression for weights. */
bool cla_custom_is_narrow(cla_runtime *rt, const custom_call *call);

/* Returns whether the backward pass uses one work-item for each head of a sequence:
 * there are enough, copies of the inputs' gradients (args.slice) are few and small, and
 * there is no window, no expression for weights, no gradient that a query's keys share
 * and no need of exact sums. cla_custom_grad_heads runs this
 * pass, with the copies in parts [B*H,slice]. */
bool cla_custom_by_heads(cla_runtime *rt, const custom_call *call,
                         const cla_attention_grads *grads);
cla_status cla_custom_grad_heads(cla_runtime *rt, const custom_call *call,
                                 const cla_attention_grads *grads,
                                 const cla_memory *parts);

/* Run the passes of a narrow call. Backward computes no gradients of inputs. */
cla_status cla_custom_band_forward(cla_runtime *rt, const custom_call *call);
cla_status cla_custom_band_backward(cla_runtime *rt, const custom_call *call,
                                    const cla_attention_grads *grads);

/* Queue the passes under the group schedule: o and lse; the delta of weights that any
 * function replaces; the gradients of queries and inputs, a launch for each tile of the
 * workers' runs; those of keys and values. Rows: how many queries a tile has. */
cla_status cla_custom_group_forward(cla_runtime *rt, const custom_call *call);
cla_status cla_custom_group_delta(cla_runtime *rt, const custom_call *call,
                                  const cla_attention_grads *grads);
int cla_custom_group_rows(cla_runtime *rt, const custom_call *call);
cla_status cla_custom_group_grad_q(cla_runtime *rt, const custom_call *call,
                                   const cla_attention_grads *grads,
                                   const custom_grads *p, custom_args args);
cla_status cla_custom_group_grads_kv(cla_runtime *rt, const custom_call *call,
                                     const cla_attention_grads *grads);
