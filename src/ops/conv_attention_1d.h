/* conv_attention_1d.h - inside of the attention with filters over its maps. */
#pragma once

#include "cl/conv_attention_1d_args.h"
#include "ops/attention_common.h"

/* One call; also what backward needs of it. */
typedef struct cla_table_call {
    cla_attention_call attention;
    cla_tensor *w, *b; // [H,3,t,t], [H,t]
    table_args args;
    cla_memory p, y; // maps [H,N,line] after the softmax, after the filter
    bool tile;       // the schedule it runs under, back as forward
} cla_table_call;

/* What the way back fills beside dq, dk, dv: maps of gradients, and their sums for w
 * and b, [runs,H,3*t+1,line]. */
typedef struct cla_table_grads {
    cla_attention_grads attention;
    cla_memory flow, drain, partial;
    int64_t runs; // 0: neither w nor b wants a gradient
} cla_table_grads;

/* conv_attention_1d_group.c: the group schedule, a launch a step. */
cla_status cla_table_group_forward(cla_runtime *rt, const cla_table_call *call);
cla_status cla_table_group_backward(cla_runtime *rt, const cla_table_call *call,
                                    const cla_table_grads *grads);

/* Multiply-adds, twice, of products products of T x T with the head width, and of
 * filters filters. */
double cla_table_flops(const cla_table_call *call, int products, int filters);
