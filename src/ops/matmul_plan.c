/* matmul_plan.c - chooses the tile of a product under the group schedule, and the parts
 * of its inner index.
 *
 * The choice depends on shape, device and tuning only, so that two runs give the same
 * bits. A tile does not change the order of a sum; parts do. Therefore only products
 * whose a is transposed are cut, which are gradients of weights: there the inner index
 * counts rows. A row of any other product has the same bits in every batch. */
#include <math.h>

#include "ops/matmul.h"
#include "ops/spread.h"

int cla_group_tile_rows(const cla_group_tile *t)
{
    return 4 * t->down * t->blocks_down;
}

int cla_group_tile_columns(const cla_group_tile *t)
{
    return 4 * t->across * t->blocks_across;
}

static int64_t groups_of(const cla_product *p, const cla_group_tile *t)
{
    return cla_pieces(p->M, cla_group_tile_rows(t)) *
           cla_pieces(p->N, cla_group_tile_columns(t)) * p->batch;
}

/* Returns the time of a product without its sum of parts, in multiplications that a
 * core could do. The busiest core has `turns` tiles. It does not get far without many
 * results at work: on an H100 2,048 of them gave 0.36 of the bound, 8,192 gave 0.83. */
static double time_of_tiles(double cores, const cla_product *p, const cla_group_tile *t,
                            int64_t parts, int64_t depth)
{
    enum { START = 64 }; // inner indices whose time a tile takes to start and to end
    const double area = (double)cla_group_tile_rows(t) * cla_group_tile_columns(t);
    const double turns = ceil((double)(groups_of(p, t) * parts) / cores);
    const double full = turns * area / 16384;
    return turns * area * (double)(depth + START) / (t->share * full / (full + 0.12));
}

/* Returns the time of a launch that sums parts: a core moves a number in the time of 64
 * multiplications. */
static double time_of_sum(double cores, const cla_product *p, int64_t parts)
{
    const double launch = 700e3; // 3 us
    return launch +
           (double)(2 * parts + 1) * (double)p->M * (double)p->N * 64.0 / cores;
}

/* Returns the most parts that a product may have. */
static int64_t most_parts(const cla_product *p)
{
    enum { MOST = 256, LEAST_DEPTH = 128 };
    const int64_t room = 1 << 24; // floats of all parts
    if (!p->transpose_a || p->batch != 1 || cla_product_stored(p)) {
        return 1;
    }
    int64_t parts = p->K / LEAST_DEPTH < MOST ? p->K / LEAST_DEPTH : MOST;
    parts = room / (p->M * p->N) < parts ? room / (p->M * p->N) : parts;
    return parts > 1 ? parts : 1;
}

/* Takes a tile with its best number of parts if that is faster than the plan. */
static void consider(cla_group_plan *plan, double *best, double cores,
                     const cla_product *p, const cla_group_tile *t)
{
    enum { STEP = 16 }; // as TK of cl/matmul.cl
    const int64_t most = most_parts(p);
    for (int64_t n = 1; n <= most; n += 1 + n / 4) {
        const int64_t depth =
            n > 1 ? cla_pieces(cla_pieces(p->K, n), STEP) * STEP : p->K;
        const int64_t parts = n > 1 ? cla_pieces(p->K, depth) : 1;
        const double time = time_of_tiles(cores, p, t, parts, depth) +
                            (parts > 1 ? time_of_sum(cores, p, parts) : 0);
        if (time < *best) {
            *best = time;
            *plan = (cla_group_plan){ *t, groups_of(p, t), parts, depth };
        }
    }
}

cla_group_plan cla_group_plan_of(double cores, int side, const cla_product *p,
                                 bool unit)
{
    // shares of the peak: bounds of docs/gpu.md, rounded
    static const cla_group_tile narrow = { 4, 16, 1, 1, 0.45 }; // 16 x 64
    static const cla_group_tile tiles[] = {
        { 16, 16, 2, 2, 0.9 }, // 128 x 128
        { 8, 16, 2, 1, 0.7 },  // 64 x 64
        { 8, 8, 1, 1, 0.5 },   // 32 x 32
    };
    static const cla_group_tile low = { 8, 16, 1, 1, 0.5 }; // 32 x 64, of a unit
    cla_group_plan plan = { 0 };
    double best = INFINITY;
    if (p->M <= 16 && !unit) {
        consider(&plan, &best, cores, p, &narrow);
        return plan;
    }
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        if (cla_group_tile_rows(&tiles[i]) <= (side > 32 ? side : 32)) {
            consider(&plan, &best, cores, p,
                     unit && tiles[i].across == 8 ? &low : &tiles[i]);
        }
    }
    return plan;
}

cla_group_plan cla_product_plan(cla_runtime *rt, const cla_product *p, bool unit)
{
    enum { FULL = 512 }; // ITEMS of a compute unit that is a core
    const double cores = (double)cla_tuned(rt, "matmul_group", "ITEMS", FULL) *
                         cla_runtime_device(rt)->compute_units / FULL;
    return cla_group_plan_of(cores > 1 ? cores : 1,
                             cla_tuned(rt, "matmul_group", "SIDE", 128), p, unit);
}
