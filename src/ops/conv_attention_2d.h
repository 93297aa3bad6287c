/* conv_attention_2d.h - the forms of convolved attention, behind one operator: a walk
 * down the rows of each map (tile schedule), launches over bands of rows (group
 * schedule), and whole maps convolved by FFT. */
#pragma once

#include "cl/conv_attention_2d_args.h"
#include "cl/conv_band_args.h"
#include "ops/attention_common.h"

enum { CLA_CONV_SIDE = 31 }; // longest side of a filter

/* One convolved attention: what forward is given, and backward needs again. */
typedef struct conv_call {
    cla_attention_call base;
    cla_tensor *w, *b;     // [H,kh,kw], [H]
    int32_t kh, kw, pairs; // pairs = B*H maps
    int32_t activation;
    bool fft;
} conv_call;

/* What a backward pass fills. dW and db come as rows of kh*kw + 1 numbers, db last,
 * that are then added up: parts of them for each pair. */
typedef struct conv_grads {
    const cla_tensor *o;        // what flowed in
    cla_tensor *q, *k, *v;      // NULL where unwanted
    int q_mode, k_mode, v_mode; // CLA_GRAD_*
    cla_memory sums;            // [sequences*H*parts,kh*kw+1]
    int sequences, parts;
    cla_tape *tape;
} conv_grads;

/* Pieces of scratch that one pass needs side by side. */
enum {
    CLA_WORK_SLABS, // tile schedule
    CLA_WORK_ROWS,  // operands of products, packed
    CLA_WORK_PANELS,
    CLA_WORK_SPECTRA,                        // of maps; of slopes
    CLA_WORK_FILTERS = CLA_WORK_SPECTRA + 2, // spectra of them, and of their gradients
    CLA_WORK_BIAS = CLA_WORK_FILTERS + 2,
    CLA_WORK_FFT,  // the library's own
    CLA_WORK_BAND, // map, strip, slopes
    CLA_WORKS = CLA_WORK_BAND + 3,
};

/* Scratch that lives no longer than one forward or backward pass: a piece of the
 * runtime's, as large as was ever asked for; valid until that piece is asked for again.
 * Errors: CLA_E_NOMEM. */
cla_status cla_conv_work(cla_runtime *rt, int piece, cla_memory *out, int64_t floats);

/* How many pieces of `floats` fit into what the device has to spare, 1 to wanted. */
int64_t cla_conv_share(cla_runtime *rt, int64_t floats, int64_t wanted);

/* Multiply-adds of one product of the map, over all pairs. */
double cla_conv_products(const conv_call *call);

/* The least power of two that is n or more. */
int32_t cla_conv_power(int32_t n);

/* What cl/conv_attention_2d_tile.clh derives from its defines. */
typedef struct conv_tile {
    int vec, block; // VEC, MR
    int panel, pad; // PANEL, PAD
    int32_t tall; // rows of the longest sequence, and those that products may run over
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

/* The side its maps are padded to; 0 where the form by FFT cannot take them. */
int32_t cla_conv_fft_side(const conv_call *call);

/* Whether the form by FFT is to be had for a call: built in, not too long, and works on
 * this device (*works; where it does not, one warning has said so).
 * Errors: CLA_E_USAGE, CLA_E_SHAPE, CLA_E_NOMEM. */
cla_status cla_conv_fft_check(bool *works, cla_runtime *rt, const conv_call *call);
