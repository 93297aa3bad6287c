/* matmul.c - the definition of the matrix product. */
#include "oracle/oracle.h"

void oracle_matmul(double *y, const double *a, const double *b, int M, int N, int K,
                   bool transpose_a, bool transpose_b)
{
    for (int64_t i = 0; i < M; i++) {
        for (int64_t j = 0; j < N; j++) {
            double sum = 0;
            for (int64_t k = 0; k < K; k++) {
                sum += a[transpose_a ? k * M + i : i * K + k] *
                       b[transpose_b ? j * K + k : k * N + j];
            }
            y[i * N + j] = sum;
        }
    }
}
