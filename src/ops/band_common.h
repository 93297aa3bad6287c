/* band_common.h - shared by the band attention operators in one and two dimensions. */
#pragma once

#include "cl/band_args.h"
#include "ops/attention_common.h"

/* The kernel files and kernels of an operator. */
typedef struct cla_band_op {
    const char *name; // of the operator, and of the file of its group kernels
    const char *tile; // file of the tile kernels
    const char *forward, *backward; // kernels; backward is for the tile schedule
    const char *backward_dq, *backward_dkdv; // for the group schedule
} cla_band_op;

/* Fails with CLA_E_USAGE unless window is odd and positive. who begins the message. */
cla_status cla_band_check_window(const char *who, int window);

/* Plans a launch of the tile schedule, with one work-item for each run of queries of a
 * head: sets file, defines and groups. Returns how many more keys than queries fit into
 * a piece. A window is narrow if twice its radius does not exceed this number. */
int cla_band_plan_tile(cla_runtime *rt, const char *tile,
                       const cla_attention_call *call, cla_launch *launch);

/* Runs an operator on checked operands, records its backward pass, and makes the map if
 * options request it. op must be static. */
cla_status cla_band_run(const cla_band_op *op, cla_tape *tape, cla_tensor **o,
                        cla_attention_call *call, const cla_attention_reach *reach,
                        const cla_attention_options *options);
