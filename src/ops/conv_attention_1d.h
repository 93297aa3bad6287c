/* conv_attention_1d.h - internals of attention with filters over its maps. */
#pragma once

#include "cl/conv_attention_1d_args.h"
#include "ops/attention_common.h"

/* One call. Backward reads the saved copy. */
typedef struct cla_table_call {
    cla_attention_call attention;
    cla_tensor *w, *b; // [H,3,t,t], [H,t]
    table_args args;
    cla_memory p, y; // maps [H,N,line] after the softmax and after the filter
    bool tile;       // forward and backward use the tile schedule
} cla_table_call;

/* Memory that backward fills beside dq, dk and dv: maps of gradients (flow: of the
 * filter's result, drain: of its input and then of the scores), and partial sums for w
 * and b, [runs,H,3*t+1,line]. */
typedef struct cla_table_grads {
    cla_attention_grads attention;
    cla_memory flow, drain, partial;
    int64_t runs; // 0: neither w nor b wants a gradient
} cla_table_grads;

/* Run the group schedule, one launch a step (conv_attention_1d_group.c). */
cla_status cla_table_group_forward(cla_runtime *rt, const cla_table_call *call);
cla_status cla_table_group_backward(cla_runtime *rt, const cla_table_call *call,
                                    const cla_table_grads *grads);

/* Returns twice the multiply-adds of `products` T x T x d products and of `filters`
 * filters over all maps, T being the longest sequence. */
double cla_table_flops(const cla_table_call *call, int products, int filters);
