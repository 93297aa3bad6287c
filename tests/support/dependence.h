/* dependence.h - which results and gradients of an operator depend on which number, by
 * its definition in double precision. */
#pragma once

#include "oracle/kind_case.h"

/* How a number follows another. */
typedef enum bond {
    BOND_NONE, // whatever the other holds, it stays as it is
    BOND_MAY,  // it follows the other at some values, or by rounding alone
    BOND_MUST, // it follows the other
} bond;

/* One call, its numbers and the weights dy of its results in a loss <dy, y>. */
typedef struct dependence {
    kind_case *c;
    double *x[CLA_OPERANDS]; // by the place among the inputs
    int size[CLA_OPERANDS], inputs, results;
    const float *dy;
    bool pool;       // a result is one of several numbers
    double *y;       // the results [results]
    double *scratch; // [results]
    char *reached;   // of result j by element i of input n: [inputs][size][results]
} dependence;

/* d has c, x, size, inputs, results, dy and pool. fini leaves these alone. */
void dependence_init(dependence *d);
void dependence_fini(dependence *d);

/* How each result, and each gradient of input n, follow element p of input a. */
void dependence_of_results(dependence *d, int a, int p, bond *of);
void dependence_of_gradient(dependence *d, int a, int p, int n, bond *of);

/* The results with element p of input a at value: into y [results]. */
void dependence_at(dependence *d, int a, int p, double value, double *y);
