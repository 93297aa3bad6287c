/* peer_openblas.h - OpenBLAS as a speed reference, where it is installed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* y = op(a) op(b), packed row-major matrices. */
typedef struct peer_product {
    int M, N, K;
    bool transpose_a, transpose_b;
    const float *a, *b;
    float *y;
} peer_product;

/* The library is loaded when first asked for. */
bool peer_openblas_found(void);
void peer_openblas_run(const peer_product *p);
