/* product_group.h - the tiles of cl/product_group.clh. */
#pragma once

#include "runtime/runtime.h"

/* Work-items of a group, and the sides of its tile of results. */
enum { CLA_TILE_ITEMS = 64, CLA_TILE_ROWS = 32, CLA_TILE_COLUMNS = 64 };

/* Return the number of tiles of n rows, or of n columns. */
static inline int64_t cla_tiles_down(int64_t n)
{
    return (n + CLA_TILE_ROWS - 1) / CLA_TILE_ROWS;
}
static inline int64_t cla_tiles_across(int64_t n)
{
    return (n + CLA_TILE_COLUMNS - 1) / CLA_TILE_COLUMNS;
}

/* Sets the work-group size and two defines from define[at] on. wide: all rows begin at
 * multiples of 4 floats, and memory extends to such a multiple behind them. */
static inline void cla_tile_launch(cla_runtime *rt, cla_launch *launch, int at,
                                   bool wide)
{
    launch->define[at] = (cla_define){ "WIDE", wide };
    launch->define[at + 1] =
        (cla_define){ "UNROLL", cla_tuned(rt, "matmul_group", "UNROLL", 4) };
    launch->local[0] = CLA_TILE_ITEMS;
}
