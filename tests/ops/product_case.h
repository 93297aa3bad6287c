/* product_case.h - cases of products for tests. */
#pragma once

#include "ops/matmul.h"

/* A product of matrices with gaps of NaN around them, each in a buffer of its own. */
typedef struct inner_case {
    int M, N, K, batch;
    bool ta, tb;
    int offset, gap, pad; // in front, between rows, between matrices
    bool shared_b;        // stride 0
    bool bias, residual, add;
    cla_activation activation;
    bool rounded; // the definition rounds a and b to bf16
} inner_case;

/* Runs the product and compares every element of y's buffer. The second function also
 * gives that buffer, to free. */
void check_inner(cla_runtime *rt, const inner_case *c, const char *who);
float *check_inner_results(cla_runtime *rt, const inner_case *c, const char *who);
