/* band_common.h - band attention in one dimension and in two: one engine, two ops. */
#pragma once

#include "cl/band_args.h"
#include "ops/attention_common.h"

/* What tells one operator from the other: names of files and kernels, and its reach. */
typedef struct cla_band_op {
    const char *name;               // of the operator and its group kernels' file
    const char *tile;               // file of the tile kernels
    const char *forward, *backward; // kernels; backward is the tile schedule's
    const char *backward_dq, *backward_dkdv; // the group schedule's
} cla_band_op;

/* Refuses a window that is even or not positive; who begins the message. */
cla_status cla_band_check_window(const char *who, int window);

/* The tile schedule: sets file, defines and items of a launch, one item for each run of
 * queries of a head; returns how many more keys than queries fit into a piece, which
 * twice the radius of a narrow window does not exceed. */
int cla_band_plan_tile(cla_runtime *rt, const char *tile,
                       const cla_attention_call *call, cla_launch *launch);

/* Runs the op on checked operands, records its backward pass and draws the map asked
 * for. op must be static. */
cla_status cla_band_run(const cla_band_op *op, cla_tape *tape, cla_tensor **o,
                        cla_attention_call *call, const cla_attention_reach *reach,
                        const cla_attention_options *options);
