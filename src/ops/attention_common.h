/* attention_common.h - what the attention ops share: checks, arguments, saved state. */
#pragma once

#include "cl/attention_args.h"
#include "clattn/gaussian.h"
#include "tensor/tensor.h"

enum { CLA_ATTENTION_WIDTH = 256 }; // largest head width d

/* One attention: operands, results and sizes; also what backward needs of it. */
typedef struct cla_attention_call {
    cla_tensor *q, *k, *v; // [Nq,H,d], [Nk,H,d]
    cla_tensor *o;         // [Nq,H,d]
    cla_tensor *lse;       // [H,Nq] = m + ln(sum exp) of each row; NULL when not wanted
    const cla_ragged *q_rows, *k_rows;
    int32_t sequences, heads, width; // B, H, d
    int32_t longest_q, longest_k;    // Tmax, Smax
    attention_args args;
} cla_attention_call;

/* Refuses operands that do not fit together and options that make no sense; who begins
 * the message. Errors: CLA_E_USAGE, CLA_E_SHAPE. */
cla_status cla_attention_check(const char *who, const cla_tensor *q,
                               const cla_tensor *k, const cla_tensor *v,
                               const cla_ragged *q_rows, const cla_ragged *k_rows,
                               const cla_attention_options *options);

/* Fills call from checked operands, and makes o and, for backward or a map, lse.
 * Backward must be recorded when o wants a gradient. */
cla_status cla_attention_begin(cla_attention_call *call, cla_tape *tape, cla_tensor *q,
                               cla_tensor *k, cla_tensor *v, const cla_ragged *q_rows,
                               const cla_ragged *k_rows,
                               const cla_attention_options *options);

/* What further inputs (NULLs allowed) add to begun attention: o may want a gradient for
 * their sake alone, and needs lse then. */
cla_status cla_attention_needs(cla_attention_call *call, cla_tape *tape, int n,
                               cla_tensor *const *inputs);

/* The kernels of full attention, with tables or without: sets file (tile or group, as
 * the schedule says), defines and items of a launch over tiles of sequences of at most
 * longest rows; gives the rows of a tile. */
int cla_attention_plan(cla_runtime *rt, const cla_attention_call *call, int longest,
                       const char *group, const char *tile, cla_launch *launch);

/* Whether the width and every offset and stride of a row are multiples of four floats,
 * so that kernels may read 16 bytes at once. */
bool cla_attention_is_wide(const cla_attention_call *call);

/* Gradients of q, k and v, with what to do to each (GRAD_*). Errors: those of
 * cla_grad_out. */
cla_status cla_attention_grads_of(cla_tape *tape, const cla_attention_call *call,
                                  cla_tensor *grad[3], int mode[3]);

/* The gradients a backward pass fills, with what to do to each (CLA_GRAD_*). */
typedef struct cla_attention_grads {
    const cla_tensor *o; // what flowed in
    cla_tensor *q, *k, *v;
    int q_mode, k_mode, v_mode;
    cla_memory delta; // [H,Nq] <dO_i, O_i>, computed
} cla_attention_grads;

/* Asks for the gradients; *any is false when there is nothing to do. The other one
 * queues the delta kernel too. */
cla_status cla_attention_grads_take(cla_attention_grads *grads, bool *any,
                                    cla_tape *tape, const cla_attention_call *call);
cla_status cla_attention_grads_begin(cla_attention_grads *grads, bool *any,
                                     cla_tape *tape, const cla_attention_call *call);

/* Whether a work-item can have a head of a sequence to itself: it makes scores once
 * where the passes by tiles make them twice, but a device needs many such items. Where
 * gradients share rows, these must be the same item's. */
bool cla_attention_by_heads(cla_runtime *rt, const cla_attention_call *call,
                            const cla_attention_grads *g);

/* Sets file, defines and items of such a launch. */
void cla_attention_plan_heads(cla_runtime *rt, const cla_attention_call *call,
                              cla_launch *launch);

/* Which keys a map shows, and what was added to their scores. */
typedef struct cla_attention_reach {
    int window; // positions, 0 = all
    int area;   // heads, at least 1
    cla_edge edge;
    const cla_tensor *absolute, *relative; // [H,t,t], [H,2t]; NULL for none
    int32_t t;
    const cla_gaussian *gaussian; // NULL for none
} cla_attention_reach;

/* Makes *map [B,H,Tmax,area*Smax]: the weights before dropout, 0 where there are none.
 * call.lse must be filled. Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_attention_map(cla_tape *tape, cla_tensor **map,
                             const cla_attention_call *call,
                             const cla_attention_reach *reach);
