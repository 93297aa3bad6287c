/* support.h - runtimes, seeded inputs, comparisons and a driver for all op tests. */
#pragma once

#include <math.h>

#include <criterion/criterion.h>

#include "clattn/clattn.h"

/* Fails the test with cla_error() when expr is not CLA_OK. */
#define TEST_OK(expr)                                                    \
    do {                                                                 \
        cla_status test_status_ = (expr);                                \
        cr_assert(test_status_ == CLA_OK, "%s: %s", #expr, cla_error()); \
    } while (0)

/* Fails the test unless expr returns code and cla_error() contains part. */
#define TEST_FAILS(expr, code, part)                                                  \
    do {                                                                              \
        cla_status test_status_ = (expr);                                             \
        cr_assert(test_status_ == (code), "%s: status %d", #expr, (int)test_status_); \
        cr_assert(strstr(cla_error(), part) != NULL, "'%s' lacks '%s'", cla_error(),  \
                  part);                                                              \
    } while (0)

/* Returns CLATTN_SEED, or 42. */
uint32_t test_seed(void);

/* Return whether only small or only tiny shapes are affordable (CLATTN_TEST_SIZE=small
 * or tiny: rusticl, Oclgrind). tiny implies small. */
bool test_small(void);
bool test_tiny(void);

/* Returns whether case n of a test runs under a schedule, 0 or 1: under one of them in
 * turn where only tiny shapes are affordable. */
bool test_takes(size_t n, int schedule);

/* Returns whether tests may use FFTs: clFFT is built, and the device is not Oclgrind,
 * which tells of idle items of clFFT's own kernels that copy what they never read. */
bool test_fft(void);

/* Opens a runtime on the default device, with NaN-filled, guarded memory. */
cla_runtime *test_runtime(void);

/* The same with CLATTN_UNIT set to unit, guards around memory, the tile schedule and
 * this precision. */
cla_runtime *test_runtime_at(const char *unit, cla_precision precision);

/* The same under medium and the group schedule, with a card's unit (cla_unit of
 * runtime/runtime.h), emulated, or without one. */
cla_runtime *test_runtime_emulating(int unit);

/* Defines a test with a runtime of its own, rt. */
#define DEVICE_TEST(suite, name)                    \
    static void suite##_##name##_on(cla_runtime *); \
    Test(suite, name)                               \
    {                                               \
        cla_runtime *rt = test_runtime();           \
        suite##_##name##_on(rt);                    \
        cla_runtime_free(&rt);                      \
    }                                               \
    static void suite##_##name##_on(cla_runtime *rt)

/* Returns n normal numbers of deviation scale; the caller frees them. The seed and
 * what, the number of a stream, determine them. */
float *test_random(int64_t n, float scale, uint32_t what);

/* Returns the larger of two numbers, and NaN where one of them is: fmax leaves NaN
 * out. */
static inline double test_larger(double a, double b)
{
    return isnan(a) || b <= a ? a : b;
}

/* Compares got [n] with want [n]. An error above bar prints MARGINAL; one above 10 bar
 * fails the test. The tolerance bar is absolute for |want| <= 1, relative above.
 * Reports the index of the worst error, both values, the error and the seed. */
void check_close(const char *what, const float *got, const double *want, int64_t n,
                 double bar);

enum { OP_INPUTS = 9 };

typedef struct op_input {
    const char *name;
    int rank;
    int64_t shape[4];
    float scale;   // standard deviation of the random numbers; 0 means 1
    bool constant; // no gradient
    bool column;   // [N,H,d] is columns of a wider projection, not a tensor of its own
} op_input;

/* A case of an op. device runs it; oracle is its definition in double precision. */
typedef struct op_case {
    char name[128];
    op_input in[OP_INPUTS];
    int inputs;
    float shift[OP_INPUTS]; // means of the inputs' random numbers
    int rank;               // of the result
    int64_t shape[4];
    cla_status (*device)(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context);
    void (*oracle)(double *y, double *const *x, void *context);
    void *context;
    double bar;          // of the result: derive it in a comment
    double gradient_bar; // relative, of the directional derivative; 0 means 1e-4
} op_case;

/* Checks an op under both schedules: its result against the oracle; the gradient of
 * each input along random directions against central differences of the oracle; that a
 * second run gives the same bits; that gradients accumulate; that memory guards are
 * intact. */
void check_op(cla_runtime *rt, const op_case *c);

/* Returns the number of elements of a shape. */
int64_t op_size(int rank, const int64_t *shape);

/* Make a tape, and a tensor on a tape with the values x (NULL: not set). */
cla_tape *test_tape(cla_runtime *rt, bool training);
cla_tensor *test_tensor(cla_tape *tape, cla_dtype dtype, int rank, const int64_t *shape,
                        const void *x);

/* Runs the backward pass from y with a gradient of ones. */
void test_backward(cla_tape *tape, cla_tensor *y);

/* Runs check_close on the first n numbers of t. */
void check_tensor(const char *what, const cla_tensor *t, const double *want, int64_t n,
                  double bar);

/* Makes a ragged batch of sequences with these lengths. offsets, unless NULL, gets a
 * host copy, which the caller frees. */
cla_ragged *test_ragged(cla_runtime *rt, int sequences, const int *lengths,
                        int32_t **offsets);
