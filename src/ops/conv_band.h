/* conv_band.h - launches over bands of rows of maps: cl/conv_attention_2d.cl and, for
 * CPU devices, cl/conv_band_tile.cl. The group schedule and the implementation by FFT
 * consist of them. */
#pragma once

#include "ops/conv_attention_2d.h"

enum { CLA_CONV_TEAM = 16 }; // work-items of a row, cl/conv_team.clh

/* The maps m.pair .. m.pair + pairs - 1 of a call, and the layout m of a band. */
typedef struct conv_walk {
    cla_runtime *rt;
    const conv_call *call;
    bool tile; // one work-item, not a work-group, for some rows
    int wg;    // work-group size of the group schedule
    int64_t pairs;
    conv_band m;
} conv_walk;

conv_walk cla_conv_walk_begin(cla_runtime *rt, const conv_call *call, bool tile);

/* Gives count bands for this many pairs from the runtime's scratch (pieces
 * CLA_WORK_BAND on). */
cla_status cla_conv_bands(const conv_walk *w, cla_memory *band, int count,
                          int64_t pairs);

/* The functions below queue work on rows m.first .. m.last - 1, in the order of the
 * equations.
 *
 * Computes band[i][j] = scale <x_i, y_j>. */
cla_status cla_conv_score(const conv_walk *w, const cla_memory *band, conv_band m,
                          const cla_tensor *x, const cla_tensor *y, float scale);
/* Turns scores into the map, from lse if that is known, and writes zeros around it.
 * Otherwise computes lse, too, unless it is NULL. */
cla_status cla_conv_softmax(const conv_walk *w, const cla_memory *band, conv_band m,
                            bool known);
/* Computes y = act(y + b) in place. */
cla_status cla_conv_activate(const conv_walk *w, const cla_memory *band, conv_band m);
/* Computes out_i = scale sum_j strip[i][j] y_j. Does nothing if out is NULL. */
cla_status cla_conv_mix(const conv_walk *w, const cla_tensor *out,
                        const cla_memory *strip, conv_band m, const cla_tensor *y,
                        float scale, int mode);
/* Computes dY from dS', in place, with the activated map in strip; writes zeros around
 * it. */
cla_status cla_conv_slope(const conv_walk *w, const cla_memory *slopes,
                          const cla_memory *strip, conv_band m);
/* Computes out_j = scale sum_i strip[i][j] y_i. Does nothing if out is NULL. The tile
 * kernel takes whole maps only. */
cla_status cla_conv_spread(const conv_walk *w, const cla_tensor *out,
                           const cla_memory *strip, conv_band m, const cla_tensor *y,
                           float scale, int mode);
/* Computes dA in place of dP. */
cla_status cla_conv_softmax_back(const conv_walk *w, const cla_memory *strip,
                                 const cla_memory *map, conv_band m);

/* A product of maps with tokens' rows y. out: NULL if it is left out. */
typedef struct conv_product {
    const cla_tensor *out, *y;
    float scale;
    int mode; // GRAD_*
} conv_product;

/* Queues up to three products in one launch of the group schedule: out_i = scale sum_j
 * map[i][j] y_j, out_j = scale sum_i map[i][j] y_i, and the latter of strip. */
cla_status cla_conv_three(const conv_walk *w, const cla_memory *map,
                          const cla_memory *strip, conv_band m,
                          const conv_product p[3]);

/* For other launches of the group schedule. cla_conv_tiles queues a kernel of
 * conv_attention_2d.cl, a work-group for each tile of rows x columns results; wide:
 * cla_conv_wide of all operands. */
cla_status cla_conv_tiles(const conv_walk *w, cla_launch *launch, const char *kernel,
                          int64_t rows, int64_t columns, bool wide);
bool cla_conv_wide(const conv_band *m, const conv_tokens *r);
conv_tokens cla_conv_tokens(const conv_walk *w, const cla_tensor *x,
                            const cla_tensor *y, float scale, int mode);
double cla_conv_flops(const conv_walk *w, int64_t rows); // of a product with the map

/* Queues another kernel over the same pairs, with work-groups of one pair each. */
cla_status cla_conv_run(const conv_walk *w, cla_launch *launch, const char *kernel);
/* Returns the work-groups for an item to each column of `rows` rows of m. */
size_t cla_conv_columns(const conv_walk *w, conv_band m, int64_t rows);
size_t cla_conv_blocks(int64_t n, int64_t by); // n / by, rounded up; 0 if n < 1
