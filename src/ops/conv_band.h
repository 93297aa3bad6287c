/* conv_band.h - launches over bands of rows of maps: cl/conv_attention_2d.cl and, for
 * CPU devices, cl/conv_band_tile.cl. The walk in the group schedule and the form by FFT
 * are made of them. */
#pragma once

#include "ops/conv_attention_2d.h"

/* Maps m.pair .. m.pair + pairs - 1 of a call; m also says what a band looks like. */
typedef struct conv_walk {
    cla_runtime *rt;
    const conv_call *call;
    bool tile; // a work-item for some rows instead of a work-group
    int wg;    // group schedule
    int64_t pairs;
    conv_band m;
} conv_walk;

conv_walk cla_conv_walk_begin(cla_runtime *rt, const conv_call *call, bool tile);

/* count bands for this many pairs, from the runtime's scratch (pieces CLA_WORK_BAND
 * on). */
cla_status cla_conv_bands(const conv_walk *w, cla_memory *band, int count,
                          int64_t pairs);

/* Rows m.first..m.last-1. In the order of the equations:
 * band = scale <x_i, y_j> */
cla_status cla_conv_score(const conv_walk *w, const cla_memory *band, conv_band m,
                          const cla_tensor *x, const cla_tensor *y, float scale);
/* Scores become the map, from lse where that is known; zeros around it. */
cla_status cla_conv_softmax(const conv_walk *w, const cla_memory *band, conv_band m,
                            bool known);
/* y = act(y + b) in place */
cla_status cla_conv_activate(const conv_walk *w, const cla_memory *band, conv_band m);
/* out_i = scale sum_j strip[i][j] y_j; nothing where out is NULL. */
cla_status cla_conv_mix(const conv_walk *w, const cla_tensor *out,
                        const cla_memory *strip, conv_band m, const cla_tensor *y,
                        float scale, int mode);
/* dY from dS' and the activated map in strip; zeros around it. */
cla_status cla_conv_slope(const conv_walk *w, const cla_memory *slopes,
                          const cla_memory *strip, conv_band m);
/* out_j = scale sum_i strip[i][j] y_i; the tile form takes whole maps only. */
cla_status cla_conv_spread(const conv_walk *w, const cla_tensor *out,
                           const cla_memory *strip, conv_band m, const cla_tensor *y,
                           float scale, int mode);
/* dA in place of dP */
cla_status cla_conv_softmax_back(const conv_walk *w, const cla_memory *strip,
                                 const cla_memory *map, conv_band m);

/* For kernels of one's own over the same pairs: groups of one pair each. */
cla_status cla_conv_run(const conv_walk *w, cla_launch *launch, const char *kernel);
/* Groups for an item to each column of `rows` rows of m. */
size_t cla_conv_columns(const conv_walk *w, conv_band m, int64_t rows);
size_t cla_conv_blocks(int64_t n, int64_t by); // n / by, rounded up; 0 below 1
