/* hard_gates.c - the maps of a packed batch, their gates, and lists of open ones. */
#include "ops/hard_gates.h"

#include "cl/hard_attention_args.h"
#include "ops/spread.h"

cla_status cla_hard_batch_check(const char *who, cla_hard_batch *batch,
                                const cla_ragged *q_rows, const cla_ragged *k_rows)
{
    *batch = (cla_hard_batch){ .q_rows = q_rows, .k_rows = k_rows };
    if (q_rows->sequences != k_rows->sequences) {
        return cla_fail(CLA_E_SHAPE, "%s: %lld query sequences, %lld key sequences",
                        who, (long long)q_rows->sequences,
                        (long long)k_rows->sequences);
    }
    for (int64_t b = 0; b < q_rows->sequences; b++) {
        const int64_t T = q_rows->offsets[b + 1] - q_rows->offsets[b];
        const int64_t S = k_rows->offsets[b + 1] - k_rows->offsets[b];
        batch->pairs += T * S;
        if (batch->pairs > INT32_MAX) {
            return cla_fail(CLA_E_SHAPE,
                            "%s: %lld pairs of a query and a key up to sequence %lld, "
                            "must stay below 2^31",
                            who, (long long)batch->pairs, (long long)b);
        }
    }
    return CLA_OK;
}

cla_status cla_hard_batch_begin(cla_tape *tape, cla_hard_batch *batch)
{
    const int64_t sequences = batch->q_rows->sequences;
    CLA_TRY(
        cla_tape_scratch(tape, &batch->maps, ((size_t)sequences + 1) * sizeof(int)));
    const cla_launch launch = {
        .file = "hard_gates",
        .kernel = "hard_maps",
        .define = { { "WG", cla_tiled(cla_tape_runtime(tape)) ? 1 : CLA_WG } },
        .groups = { 1 },
        .args = { cla_mem(&batch->maps), cla_mem(&batch->q_rows->device_offsets),
                  cla_mem(&batch->k_rows->device_offsets), cla_i32(sequences) },
    };
    return cla_enqueue(cla_tape_runtime(tape), &launch);
}

/* Queues a kernel with `longest` work-groups for each sequence. */
static cla_status launch_rows(cla_tape *tape, const cla_hard_batch *batch,
                              int64_t longest, cla_launch *launch)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_spread_rows(rt, launch, longest, 1);
    launch->file = "hard_gates";
    launch->groups[1] = (size_t)batch->q_rows->sequences;
    return batch->q_rows->sequences ? cla_enqueue(rt, launch) : CLA_OK;
}

cla_status cla_hard_gates(cla_tape *tape, const cla_hard_batch *batch,
                          const cla_tensor *gates, const cla_tensor *scores,
                          const cla_hard_options *options)
{
    gate_args args = { .gate = (int32_t)options->gate, .top = options->top };
    if (options->gate == CLA_GATE_SAMPLE) {
        const cla_stream draws = cla_tape_stream(tape);
        args.seed = draws.seed;
        args.step = draws.step;
        args.stream = draws.stream;
        args.first_row = draws.first_row;
    }
    cla_launch launch = {
        .kernel = options->gate == CLA_GATE_TOP ? "hard_top" : "hard_gates",
        .args = { cla_buf(gates), cla_buf(scores),
                  cla_mem(&batch->q_rows->device_offsets),
                  cla_mem(&batch->k_rows->device_offsets), cla_mem(&batch->maps),
                  cla_bytes(&args, sizeof args) },
        .flops = 30.0 * (double)batch->pairs,
    };
    return launch_rows(tape, batch, batch->q_rows->longest, &launch);
}

cla_status cla_hard_norm(cla_tape *tape, const cla_hard_batch *batch, cla_memory *norm,
                         const cla_tensor *gates)
{
    CLA_TRY(
        cla_tape_scratch(tape, norm, (size_t)batch->q_rows->tokens * sizeof(float)));
    cla_launch launch = {
        .kernel = "hard_norm",
        .args = { cla_mem(norm), cla_buf(gates),
                  cla_mem(&batch->q_rows->device_offsets),
                  cla_mem(&batch->k_rows->device_offsets), cla_mem(&batch->maps) },
        .flops = (double)batch->pairs,
    };
    return launch_rows(tape, batch, batch->q_rows->longest, &launch);
}

cla_status cla_hard_list(cla_tape *tape, const cla_hard_batch *batch,
                         cla_hard_lists *lists, const cla_tensor *gates, bool by_key)
{
    const cla_ragged *rows = by_key ? batch->k_rows : batch->q_rows;
    const int64_t wg = cla_tiled(cla_tape_runtime(tape)) ? 1 : CLA_WG;
    CLA_TRY(cla_tape_scratch(tape, &lists->places, (size_t)batch->pairs * sizeof(int)));
    CLA_TRY(cla_tape_scratch(tape, &lists->count, (size_t)rows->tokens * sizeof(int)));
    cla_launch launch = {
        .kernel = "hard_list",
        .args = { cla_mem(&lists->places), cla_mem(&lists->count), cla_buf(gates),
                  cla_mem(&batch->q_rows->device_offsets),
                  cla_mem(&batch->k_rows->device_offsets), cla_mem(&batch->maps),
                  cla_i32(by_key) },
        .flops = (double)batch->pairs,
    };
    return launch_rows(tape, batch, (rows->longest + wg - 1) / wg, &launch);
}
