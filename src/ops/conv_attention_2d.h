/* conv_attention_2d.h - the three implementations of convolved attention: one kernel
 * that goes down the rows of each map (tile schedule), launches over bands of rows
 * or whole maps (group schedule), and convolution of whole maps by FFT. */
#pragma once

#include "cl/conv_attention_2d_args.h"
#include "cl/conv_band_args.h"
#include "ops/attention_common.h"

/* One call of convolved attention. Backward reads the saved copy. */
typedef struct conv_call {
    cla_attention_call base; // in lse [2,H,N]: m, 1 / sum exp(s - m)
    cla_tensor *w, *b;       // [H,kh,kw], [H]
    int32_t kh, kw, pairs;   // pairs = B*H maps
    int32_t activation;
    bool fft;
} conv_call;

/* The gradients of a backward pass. dW and db come as partial sums, rows of kh*kw + 1
 * numbers with db last, which the operator then adds up. */
typedef struct conv_grads {
    const cla_tensor *o;        // gradient of the result
    cla_tensor *q, *k, *v;      // NULL when not wanted
    int q_mode, k_mode, v_mode; // GRAD_*
    cla_memory sums;            // [sequences*H*parts,kh*kw+1]
    int sequences, parts;
    bool many; // partial sums: a work-group for each result
    cla_tape *tape;
} conv_grads;

/* The pieces of scratch memory that a pass uses at the same time. */
enum {
    CLA_WORK_SLABS, // tile schedule
    CLA_WORK_ROWS,  // packed operands of products
    CLA_WORK_PANELS,
    CLA_WORK_SPECTRA,                        // of the maps, of the slopes
    CLA_WORK_FILTERS = CLA_WORK_SPECTRA + 2, // spectra of filters, of their gradients
    CLA_WORK_BIAS = CLA_WORK_FILTERS + 2,
    CLA_WORK_FFT,                          // scratch of clFFT
    CLA_WORK_BAND,                         // bands: map, strip, slopes
    CLA_WORK_PARTIALS = CLA_WORK_BAND + 3, // of rows of scores
    CLA_WORK_LSE,
    CLA_WORKS,
};

/* Gives scratch memory for one forward or backward pass. The runtime keeps each piece
 * at the largest size requested so far; the memory is valid until the next request for
 * the same piece. Errors: CLA_E_NOMEM. */
cla_status cla_conv_work(cla_runtime *rt, int piece, cla_memory *out, int64_t floats);

/* Frees a piece. */
void cla_conv_drop(cla_runtime *rt, int piece);

/* Returns how many pieces of `floats` floats fit into the memory that the device has to
 * spare: a sixteenth, at most its largest buffer; of a CPU's at most 256 MiB, since a
 * worker keeps its slab in its cache. */
int64_t cla_conv_fitting(cla_runtime *rt, int64_t floats);

/* The same, from 1 to wanted. */
int64_t cla_conv_share(cla_runtime *rt, int64_t floats, int64_t wanted);

/* Returns whether two gradients have elements in common. Either may be NULL. */
bool cla_conv_overlap(const cla_tensor *a, const cla_tensor *b);

/* Returns the multiply-adds of one T x T x d product, summed over all pairs. */
double cla_conv_products(const conv_call *call);

/* Returns the least power of two that is n or more. */
int32_t cla_conv_power(int32_t n);

/* The sizes that cl/conv_attention_2d_tile.clh derives from its defines. */
typedef struct conv_tile {
    int vec, block; // VEC, MR
    int panel, pad; // PANEL, PAD
    int32_t tall;   // rows of the longest sequence, and spare rows for products
} conv_tile;
conv_tile cla_conv_tile(cla_runtime *rt, const conv_call *call);

cla_status cla_conv_tile_forward(cla_runtime *rt, const conv_call *call);
cla_status cla_conv_tile_backward(cla_runtime *rt, const conv_call *call,
                                  conv_grads *grads);
cla_status cla_conv_band_forward(cla_runtime *rt, const conv_call *call);
cla_status cla_conv_band_backward(cla_runtime *rt, const conv_call *call,
                                  conv_grads *grads);
cla_status cla_conv_fft_forward(cla_runtime *rt, const conv_call *call);
cla_status cla_conv_fft_backward(cla_runtime *rt, const conv_call *call,
                                 conv_grads *grads);

/* Returns the side that the maps are padded to, or 0 if they are too large for FFT. */
int32_t cla_conv_fft_side(const conv_call *call);

/* Sets *works if FFT can serve a call. If the device fails or computes wrong results,
 * *works is false, and the first call for these plans logs a warning.
 * Errors: CLA_E_USAGE (no clFFT in this build), CLA_E_SHAPE (a sequence is too long),
 * CLA_E_NOMEM. */
cla_status cla_conv_fft_check(bool *works, cla_runtime *rt, const conv_call *call);
