/* attention_common.h - checks, arguments and saved state of all attention operators. */
#pragma once

#include "cl/attention_args.h"
#include "clattn/ops.h"
#include "ops/matmul.h"
#include "tensor/tensor.h"

enum { CLA_ATTENTION_WIDTH = 256 }; // largest head width d

/* One call of an attention operator: operands, results and sizes. Backward reads the
 * saved copy. */
typedef struct cla_attention_call {
    cla_tensor *q, *k, *v; // [Nq,H,d], [Nk,H,d]
    cla_tensor *o;         // [Nq,H,d]
    cla_tensor *lse; // [2,H,Nq] largest score m of each row, and log2(sum exp(s - m));
                     // NULL: unused
    const cla_ragged *q_rows, *k_rows;
    int32_t sequences, heads, width; // B, H, d
    int32_t longest_q, longest_k;    // Tmax, Smax
    attention_args args;
    const cla_unit_state *unit; // what rounds and multiplies; NULL: products are f32
} cla_attention_call;

/* Checks that the operands fit together and that the options are valid. who begins the
 * message. Errors: CLA_E_USAGE, CLA_E_SHAPE. */
cla_status cla_attention_check(const char *who, const cla_tensor *q,
                               const cla_tensor *k, const cla_tensor *v,
                               const cla_ragged *q_rows, const cla_ragged *k_rows,
                               const cla_attention_options *options);

/* Fills call from checked operands and allocates o and, for backward or a map, lse.
 * When o wants a gradient, the caller must record a backward step. */
cla_status cla_attention_begin(cla_attention_call *call, cla_tape *tape, cla_tensor *q,
                               cla_tensor *k, cla_tensor *v, const cla_ragged *q_rows,
                               const cla_ragged *k_rows,
                               const cla_attention_options *options);

/* Has the products of a begun call round numbers to bf16 where the precision in force
 * asks for it. For operators whose kernels include cl/attention_tile.clh. Errors: those
 * of cla_unit_in_force. */
cla_status cla_attention_round(cla_attention_call *call, cla_tape *tape);

/* Allocates lse unless it is there: for passes that read it without a gradient. */
cla_status cla_attention_make_lse(cla_attention_call *call, cla_tape *tape);

/* Accounts for n further inputs (NULLs allowed) of a begun call: if one of them needs a
 * gradient, o wants a gradient, too, and lse is allocated. */
cla_status cla_attention_needs(cla_attention_call *call, cla_tape *tape, int n,
                               cla_tensor *const *inputs);

/* Plans a pass of full attention, or of a variant with modified scores, over tiles of
 * rows, under the tile schedule. Sets the file and defines for sequences of at most
 * longest rows. Returns the rows of a tile. */
int cla_attention_plan(cla_runtime *rt, const cla_attention_call *call, int longest,
                       const char *tile, cla_launch *launch);

/* Returns whether a device of the tile schedule has enough to do with a work-item for
 * each head of a sequence. */
bool cla_attention_has_heads(cla_runtime *rt, const cla_attention_call *call);

/* If so, gives each work-item of a forward pass all tiles of a head: it then packs keys
 * and values once. The launch has its defines and groups. */
void cla_attention_whole(cla_runtime *rt, const cla_attention_call *call,
                         cla_launch *launch);

/* Sets the defines of a tile of vectors of VEC, ROWS of them or as many as fragments of
 * 16 rows need. Returns the rows of a tile. */
int cla_attention_define_tile(cla_runtime *rt, const cla_attention_call *call, int rows,
                              cla_launch *launch);

/* Returns whether the width and all offsets and strides of rows are multiples of four
 * floats, so that kernels may read 16 bytes at once. */
bool cla_attention_is_wide(const cla_attention_call *call);

/* Gives the gradient tensors of q, k and v and how to write each (GRAD_*). Errors:
 * those of cla_grad_out. */
cla_status cla_attention_grads_of(cla_tape *tape, const cla_attention_call *call,
                                  cla_tensor *grad[3], int mode[3]);

/* The gradients of a backward pass, and how to write each (GRAD_*). */
typedef struct cla_attention_grads {
    const cla_tensor *o; // gradient of the result
    cla_tensor *q, *k, *v;
    int q_mode, k_mode, v_mode;
    cla_memory delta; // [H,Nq] <dO_i, O_i>, from cla_attention_delta
} cla_attention_grads;

/* Fills grads but for delta; *any is false when no gradient has reached the result. */
cla_status cla_attention_grads_take(cla_attention_grads *grads, bool *any,
                                    cla_tape *tape, const cla_attention_call *call);

/* Allocates delta, and queues a kernel that computes it unless that happens inside the
 * kernel for the gradients of queries, which the caller queues next. */
cla_status cla_attention_delta(cla_tape *tape, const cla_attention_call *call,
                               cla_attention_grads *grads, bool inside);

/* What a way of attention changes in the passes of plain attention. */
typedef struct cla_attention_change {
    const char *tile;      // file of the tile schedule's kernels
    const char *define[2]; // what kernels of the group schedule get as 1
    bool lean;  // items need registers: fewer columns each, shorter unrolled loops
    bool whole; // the tile schedule's forward pass knows cla_attention_whole
    const char *text; // replaces generated.clh; NULL: that file itself
    int64_t workers;  // groups of grad_q, each with tiles of its own; 0: one for each
    cla_arg args[20]; // behind those of the kernels, with CLA_ARG_END
} cla_attention_change;

/* Queue the passes over tiles, under either schedule: o and lse, the gradient of q with
 * delta, those of k and v, which may be NULL. change: NULL for plain attention. layers:
 * the groups that grad_q has along the sequences. Kernels with a change load no tiles
 * ahead. */
cla_status cla_attention_forward(cla_runtime *rt, const cla_attention_call *call,
                                 const cla_attention_change *change);
cla_status cla_attention_grad_q(cla_runtime *rt, const cla_attention_call *call,
                                const cla_attention_grads *g,
                                const cla_attention_change *change, int64_t layers);
cla_status cla_attention_grads_kv(cla_runtime *rt, const cla_attention_call *call,
                                  const cla_attention_grads *g,
                                  const cla_attention_change *change);

/* Queues what weights of a change need that any function replaces: o from lse or, with
 * g, delta from lse and the gradient of o. Group schedule. */
cla_status cla_attention_weighted(cla_runtime *rt, const cla_attention_call *call,
                                  const cla_attention_grads *g,
                                  const cla_attention_change *change);

/* Returns how many queries a tile of cla_attention_grad_q has; *most is set to the rows
 * of the highest tile of any pass, a multiple of them. */
int cla_attention_grad_q_rows(cla_runtime *rt, const cla_attention_call *call,
                              const cla_attention_change *change, int *most);

/* Most rows of a tile of either side under the group schedule. */
enum { CLA_ATTENTION_TILE = 256 };

/* Returns whether backward should use one work-item for each head of a sequence. This
 * computes the scores once, while the passes over tiles compute them twice, but needs
 * many such items. Gradients that share rows must belong to the same item. */
bool cla_attention_by_heads(cla_runtime *rt, const cla_attention_call *call,
                            const cla_attention_grads *g);

/* Sets file, defines, groups and flops of such a launch. */
void cla_attention_plan_heads(cla_runtime *rt, const cla_attention_call *call,
                              cla_launch *launch);

/* Queues such a launch of plain attention. */
cla_status cla_attention_grad_heads(cla_runtime *rt, const cla_attention_call *call,
                                    const cla_attention_grads *g);

/* The keys that a map shows, and the terms that were added to their scores. */
typedef struct cla_attention_reach {
    int window; // positions, 0 = all
    int area;   // heads, at least 1
    cla_edge edge;
    const cla_tensor *absolute, *relative; // [H,t,t], [H,2t]; NULL for none
    int32_t t;
} cla_attention_reach;

/* Makes *map [B,H,Tmax,area*Smax], the attention weights before dropout, with 0 for
 * padding and hidden keys. call.lse must be filled. Errors: CLA_E_SHAPE, CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status cla_attention_map(cla_tape *tape, cla_tensor **map,
                             const cla_attention_call *call,
                             const cla_attention_reach *reach);
