/* conv_fft.h - Fourier transforms of padded maps, by clFFT. */
#pragma once

#include "tensor/tensor.h"

typedef enum cla_fft_state { CLA_FFT_NEW, CLA_FFT_WORKS, CLA_FFT_BROKEN } cla_fft_state;

/* The plans for `batch` square maps of one size. They live as long as the runtime. */
typedef struct cla_fft {
    int32_t side, batch;
    int32_t line;  // floats from row to row of a real map
    int32_t cells; // complex numbers of a spectrum: side * (side/2 + 1)
    size_t scratch_bytes;
    cla_fft_state state; // the caller sets it after a check of the results
    size_t plan[2];      // forward, inverse
} cla_fft;

/* Returns whether this build has clFFT. */
bool cla_fft_built(void);

/* Returns the smallest side of at least `least` that maps are padded to, or 0 beyond
 * the limit of clFFT. There are a few sides for each power of two, all products of
 * small primes. */
int32_t cla_fft_side(int64_t least);

/* Gives plans, which are made at the first request. This can take seconds.
 * Errors: CLA_E_USAGE (not built), CLA_E_DEVICE, CLA_E_NOMEM. */
cla_status cla_fft_get(cla_fft **out, cla_runtime *rt, int32_t side, int32_t batch);

/* Queues the transform of all maps. The inverse divides by side^2. scratch holds
 * scratch_bytes. The input is not modified. Errors: CLA_E_DEVICE, CLA_E_NOMEM. */
cla_status cla_fft_run(cla_runtime *rt, const cla_fft *fft, bool inverse,
                       const cla_memory *to, const cla_memory *from,
                       const cla_memory *scratch);
