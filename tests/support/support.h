/* support.h - runtimes, seeded inputs, comparison, and one driver for all op tests. */
#pragma once

#include <criterion/criterion.h>

#include "clattn/clattn.h"

/* Fails the test with cla_error() when expr is not CLA_OK. */
#define TEST_OK(expr)                                                    \
    do {                                                                 \
        cla_status test_status_ = (expr);                                \
        cr_assert(test_status_ == CLA_OK, "%s: %s", #expr, cla_error()); \
    } while (0)

/* Fails the test unless expr gives code and its text contains part. */
#define TEST_FAILS(expr, code, part)                                                  \
    do {                                                                              \
        cla_status test_status_ = (expr);                                             \
        cr_assert(test_status_ == (code), "%s: status %d", #expr, (int)test_status_); \
        cr_assert(strstr(cla_error(), part) != NULL, "'%s' lacks '%s'", cla_error(),  \
                  part);                                                              \
    } while (0)

/* CLATTN_SEED, or 42. */
uint32_t test_seed(void);

/* True where only tiny shapes are affordable (CLATTN_TEST_SIZE=small or tiny: rusticl,
 * Oclgrind). */
bool test_small(void);
bool test_tiny(void);

/* The runtime on the default device, with NaN-filled, guarded memory. */
cla_runtime *test_runtime(void);

/* A test on a runtime of its own, rt. */
#define DEVICE_TEST(suite, name)                    \
    static void suite##_##name##_on(cla_runtime *); \
    Test(suite, name)                               \
    {                                               \
        cla_runtime *rt = test_runtime();           \
        suite##_##name##_on(rt);                    \
        cla_runtime_free(&rt);                      \
    }                                               \
    static void suite##_##name##_on(cla_runtime *rt)

/* n normal numbers, from the seed and a number for what they are. */
float *test_random(int64_t n, float scale, uint32_t what);

/* Compares got with want under two bars: above bar MARGINAL is printed, above 10 bars
 * the test fails. bar is absolute for |want| <= 1, relative above. Reports the first
 * bad index, both values, the worst error and the seed. */
void check_close(const char *what, const float *got, const double *want, int64_t n,
                 double bar);

enum { OP_INPUTS = 9 };

typedef struct op_input {
    const char *name;
    int rank;
    int64_t shape[4];
    float scale;   // deviation of the random numbers; 0 means 1
    bool constant; // no gradient
    bool column; // [N,H,d] cut out of a wider projection instead of a tensor of its own
} op_input;

/* One case of one op. device runs it; oracle is its definition in double. */
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

/* Under both schedules: the result against the oracle; for each input the device
 * gradient along random directions against central differences of the oracle; two
 * backward passes give the same bits; gradients add to what was there; guards are
 * whole. */
void check_op(cla_runtime *rt, const op_case *c);

/* A tape, and a tensor on it that holds x, or nothing yet where x is NULL. */
cla_tape *test_tape(cla_runtime *rt, bool training);
cla_tensor *test_tensor(cla_tape *tape, cla_dtype dtype, int rank, const int64_t *shape,
                        const void *x);

/* Ones flow back from y. */
void test_backward(cla_tape *tape, cla_tensor *y);

/* check_close of the first n numbers of t. */
void check_tensor(const char *what, const cla_tensor *t, const double *want, int64_t n,
                  double bar);

/* A ragged batch with these lengths; *offsets (may be NULL) gets a host copy to
 * free. */
cla_ragged *test_ragged(cla_runtime *rt, int sequences, const int *lengths,
                        int32_t **offsets);
