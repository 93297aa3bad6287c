/* product_group.h - tiles of products as cl/product_group.clh cuts them. */
#pragma once

#include "runtime/runtime.h"

/* Items of a group, and the results they have. */
enum { CLA_TILE_ITEMS = 64, CLA_TILE_ROWS = 32, CLA_TILE_COLUMNS = 64 };

/* How many tiles n rows, or n columns, take. */
static inline int64_t cla_tiles_down(int64_t n)
{
    return (n + CLA_TILE_ROWS - 1) / CLA_TILE_ROWS;
}
static inline int64_t cla_tiles_across(int64_t n)
{
    return (n + CLA_TILE_COLUMNS - 1) / CLA_TILE_COLUMNS;
}

/* Sets items and two defines from at on. wide: all rows begin at multiples of 4 floats,
 * and memory goes on to such a one behind them. */
static inline void cla_tile_launch(cla_runtime *rt, cla_launch *launch, int at,
                                   bool wide)
{
    launch->define[at] = (cla_define){ "WIDE", wide };
    launch->define[at + 1] =
        (cla_define){ "UNROLL", cla_tuned(rt, "matmul_group", "UNROLL", 4) };
    launch->local[0] = CLA_TILE_ITEMS;
}
