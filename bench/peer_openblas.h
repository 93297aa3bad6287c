/* peer_openblas.h - OpenBLAS as a speed reference, where it is installed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The product y [M,N] = op(a) [M,K] op(b) [K,N] of packed row-major matrices. */
typedef struct peer_product {
    int M, N, K;
    bool transpose_a, transpose_b;
    const float *a, *b;
    float *y;
} peer_product;

/* Returns whether OpenBLAS is installed. The first call of either function loads it. */
bool peer_openblas_found(void);
void peer_openblas_run(const peer_product *p);
