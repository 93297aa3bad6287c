/* recurrent_steps.c - a launch for each token of all sequences (group schedule). */
#include "ops/product_group.h"
#include "ops/recurrent.h"
#include "ops/spread.h"

/* Places and columns of a group's tile, as in cl/recurrent_step.clh, and its items. */
typedef struct step_tile {
    int rows, columns, items, teams;
} step_tile;

/* Returns the tile of a product whose results are so many columns. Where large tiles
 * leave cores idle, small ones have four times as many groups, and eight teams in each
 * share the inner index. The number of directions does not count: both at once give the
 * same bits as one after the other. */
static step_tile tile_of(cla_runtime *rt, const cla_recurrence *r, int64_t columns)
{
    static const step_tile large = { 32, 64, 64, 1 }, small = { 16, 32, 32, 8 };
    const int64_t groups =
        cla_pieces(r->shape.sequences, large.rows) * cla_pieces(columns, large.columns);
    const int64_t cores = cla_runtime_device(rt)->compute_units;
    return groups < cores * cla_tuned(rt, "recurrent", "GROUPS", 2) ? small : large;
}

/* Returns the number of sequences with a token t, the first of the sorted ones; all for
 * t = -1. */
static int64_t count_on(const cla_ragged *rows, int64_t t)
{
    int64_t on = 0;
    for (int64_t b = 0; b < rows->sequences; b++) {
        on += rows->offsets[b + 1] - rows->offsets[b] > t;
    }
    return on;
}

cla_arg cla_step_rows(const cla_recurrence *r, const cla_memory *memory)
{
    const int64_t tokens = r->rows->tokens, sequences = r->rows->sequences;
    return cla_mem_some(memory, memory && tokens
                                    ? memory->bytes / (size_t)tokens * (size_t)sequences
                                    : 0);
}

cla_arg cla_step_weights(const cla_recurrence *r, const cla_memory *w, int gates)
{
    const size_t n = (size_t)r->shape.width;
    return cla_mem_some(w, (size_t)gates * n * n * sizeof(float));
}

cla_status cla_recurrence_step(cla_tape *tape, const cla_recurrence *r,
                               const cla_step_part *part, int64_t t)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const int64_t on = count_on(r->rows, t);
    const step_tile tile = tile_of(rt, r, part->columns);
    cla_launch launch = part->launch;
    launch.groups[0] = (size_t)cla_pieces(on, tile.rows);
    launch.groups[1] = (size_t)cla_pieces(part->columns, tile.columns);
    launch.groups[2] = (size_t)part->directions;
    cla_tile_launch(rt, &launch, 0, r->shape.width % 4 == 0);
    launch.define[2] = (cla_define){ "TEAMS", tile.teams };
    launch.local[0] = (size_t)tile.items;
    launch.local[1] = (size_t)tile.teams;
    launch.args[part->args] = cla_mem(&r->rows->device_offsets);
    launch.args[part->args + 1] = cla_bytes(&r->shape, sizeof r->shape);
    if (t >= 0) {
        launch.args[part->args + 2] = cla_i32(t);
    }
    launch.flops = 2.0 * (double)on * (double)part->inner * (double)part->columns *
                   (part->directions > 1 ? 2 : 1);
    return cla_enqueue(rt, &launch);
}
