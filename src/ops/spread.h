/* spread.h - distributes elements and rows over work-items, under either schedule. */
#pragma once

#include "tensor/tensor.h"

/* Under the group schedule, groups have CLA_WG items, and neighbouring items read
 * neighbouring elements. Under the tile schedule, groups have one item, whose loop (of
 * CLA_RUN elements) becomes vector code. */
enum { CLA_WG = 64, CLA_RUN = 4096 };

/* Returns how many pieces of at most `size` n elements make. */
static inline int64_t cla_pieces(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

static inline bool cla_tiled(const cla_runtime *rt)
{
    return cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE;
}

/* Distributes n elements of a flat array, as EACH_ELEMENT of cl/elements.clh expects.
 * Sets define 0 (WG), the groups and their size. */
static inline void cla_spread_elements(cla_runtime *rt, cla_launch *launch, int64_t n)
{
    const int64_t wg = cla_tiled(rt) ? 1 : CLA_WG, each = cla_tiled(rt) ? CLA_RUN : wg;
    launch->define[0] = (cla_define){ "WG", (int)wg };
    launch->groups[0] = (size_t)((n + each - 1) / each);
    launch->local[0] = (size_t)wg;
}

/* Distributes rows: a group has `run` of them, and its items share the columns of a
 * row. Sets define 0 (WG), the groups and their size. */
static inline void cla_spread_rows(cla_runtime *rt, cla_launch *launch, int64_t rows,
                                   int run)
{
    const int wg = cla_tiled(rt) ? 1 : CLA_WG;
    launch->define[0] = (cla_define){ "WG", wg };
    launch->groups[0] = (size_t)((rows + run - 1) / run);
    launch->local[0] = (size_t)wg;
}

/* Distributes rows as EACH_ROW of cl/row.clh expects: a group of wg items has one or,
 * under the tile schedule, an item has `run` of them. Sets define 0 (WG) and, under the
 * tile schedule, 1 (VEC), the groups and their size. */
static inline void cla_spread_each_row(cla_runtime *rt, cla_launch *launch,
                                       int64_t rows, int wg, int run)
{
    const bool tile = cla_tiled(rt);
    launch->define[0] = (cla_define){ "WG", tile ? 1 : wg };
    if (tile) {
        launch->define[1] = (cla_define){ "VEC", cla_vector_width(rt) };
    }
    launch->groups[0] = (size_t)cla_pieces(rows, tile ? run : 1);
    launch->local[0] = (size_t)(tile ? 1 : wg);
}
