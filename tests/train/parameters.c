/* parameters.c - parameters of an application's network: first values, steps, files. */
#include "clattn/parameters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops/optimiser.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

static const int64_t SHAPE[] = { 5, 7, 3 };
enum { NUMBERS = 5 * 7 * 3 };

/* Opens a runtime without guards: parameters are parts of a block, and a guarded block
 * is a part already. */
static cla_runtime *plain_runtime(void)
{
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false);
    return rt;
}

typedef struct bed {
    cla_runtime *rt;
    cla_parameters *set;
    cla_tensor *a, *w, *b;
    char path[64];
} bed;

static void make_set(bed *t, uint32_t seed)
{
    TEST_OK(cla_parameters_new(&t->set, t->rt));
    TEST_OK(cla_parameters_add(t->set, &t->a, "a", 3, SHAPE, CLA_INITIAL_UNIFORM, 0.5));
    TEST_OK(cla_parameters_linear(t->set, &t->w, &t->b, 4, 2, "out"));
    cr_assert_null(t->a);
    TEST_OK(cla_parameters_build(t->set, seed));
}

static void begin(bed *t)
{
    *t = (bed){ .rt = plain_runtime() };
    snprintf(t->path, sizeof t->path, "/tmp/clattn-parameters-%ld", (long)getpid());
    make_set(t, 42);
}

static void end(bed *t)
{
    unlink(t->path);
    cla_parameters_free(&t->set);
    cla_runtime_free(&t->rt);
}

static bool same(const float *x, const float *y, int n)
{
    for (int i = 0; i < n; i++) {
        if (x[i] != y[i]) return false;
    }
    return true;
}

static void numbers_of(const bed *t, float x[NUMBERS])
{
    TEST_OK(cla_tensor_download(t->a, x));
}

Test(parameters, first_values)
{
    static const struct {
        cla_initial initial;
        double scale, low, high;
    } cases[] = {
        { CLA_INITIAL_ZEROS, 0, 0, 0 },
        { CLA_INITIAL_ONES, 0, 1, 1 },
        { CLA_INITIAL_CONSTANT, -2, -2, -2 },
        { CLA_INITIAL_UNIFORM, 0.5, -0.5, 0.5 },
        { CLA_INITIAL_NORMAL, 0.1, -0.6, 0.6 },
        { CLA_INITIAL_GLOROT, 0, -0.398, 0.398 }, // the root of 6 / (35 + 3)
    };
    cla_runtime *rt = plain_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_parameters *set = NULL;
        cla_tensor *a = NULL;
        float x[NUMBERS], low = INFINITY, high = -INFINITY;
        TEST_OK(cla_parameters_new(&set, rt));
        TEST_OK(cla_parameters_add(set, &a, "a", 3, SHAPE, cases[i].initial,
                                   cases[i].scale));
        TEST_OK(cla_parameters_build(set, 1));
        cr_expect_eq(cla_parameters_size(set), NUMBERS);
        TEST_OK(cla_tensor_download(a, x));
        for (int n = 0; n < NUMBERS; n++) {
            low = fminf(low, x[n]);
            high = fmaxf(high, x[n]);
        }
        const double width = cases[i].high - cases[i].low;
        cr_expect((double)low >= cases[i].low && (double)high <= cases[i].high,
                  "initial %zu: %g to %g", i, (double)low, (double)high);
        cr_expect((double)(high - low) >= 0.4 * width, "initial %zu: too narrow", i);
        cla_parameters_free(&set);
    }
    cla_runtime_free(&rt);
}

Test(parameters, a_seed_gives_the_same_numbers)
{
    bed t;
    float x[NUMBERS], y[NUMBERS];
    begin(&t);
    numbers_of(&t, x);
    cla_parameters_free(&t.set);
    make_set(&t, 42);
    numbers_of(&t, y);
    cr_assert(same(x, y, NUMBERS));
    cla_parameters_free(&t.set);
    make_set(&t, 43);
    numbers_of(&t, y);
    cr_assert(!same(x, y, NUMBERS));
    end(&t);
}

/* The loss is the sum of a: every gradient is 1, and clipping to a norm of 2 makes it
 * g = 2 / sqrt(NUMBERS). The first step of Adam is lr g / (g + eps). Other parameters
 * do not change. */
Test(parameters, a_step_of_adam)
{
    const cla_adam_options adam = {
        .lr = 0.01F, .beta1 = 0.9F, .beta2 = 0.999F, .eps = 1
    };
    const double g = 2 / sqrt(NUMBERS);
    bed t;
    float x[NUMBERS], y[NUMBERS], w[8], moved[8];
    double norm = 0;
    cla_tape *tape = NULL;
    begin(&t);
    numbers_of(&t, x);
    TEST_OK(cla_tensor_download(t.w, w));
    TEST_OK(cla_tape_new(&tape, t.rt, true));
    TEST_OK(cla_tape_seed(tape, t.a, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_parameters_step(t.set, &adam, 2, &norm));
    cr_assert_float_eq(norm, sqrt(NUMBERS), 1e-5);
    numbers_of(&t, y);
    for (int i = 0; i < NUMBERS; i++) {
        cr_assert_float_eq((double)(x[i] - y[i]), 0.01 * g / (g + 1), 1e-6);
    }
    TEST_OK(cla_tensor_download(t.w, moved));
    cr_assert(same(w, moved, 8));
    TEST_FAILS(cla_parameters_step(t.set, &adam, -1, NULL), CLA_E_USAGE, "limit is -1");
    TEST_FAILS(cla_parameters_step(t.set, &(cla_adam_options){ 0 }, 1, NULL),
               CLA_E_USAGE, "adam: eps is 0, must be above 0");
    numbers_of(&t, x);
    cr_assert(same(x, y, NUMBERS));
    cla_tape_free(&tape);
    end(&t);
}

/* ---- other optimisers ------------------------------------------------------------ */

/* One step of a set whose loss is the sum of a: every gradient of a is 1. */
static void update(bed *t, const cla_optimiser_options *options)
{
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, t->rt, true));
    TEST_OK(cla_tape_seed(tape, t->a, NULL));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_parameters_update(t->set, options, 0, NULL));
    cla_tape_free(&tape);
}

/* Steps numbers by the oracle, from running means of 0. */
static void step_oracle(double *x, int n, const char *name, double gradient, int steps)
{
    oracle_optimiser *oracle = oracle_optimiser_named(name);
    cr_assert(oracle, "%s has no oracle", name);
    for (int i = 0; i < n; i++) {
        double a = 0, b = 0, *moments[] = { &a, &b };
        for (int step = 1; step <= steps; step++) {
            oracle(&x[i], moments, gradient, step, &cla_optimiser_named(name)->usual);
        }
    }
}

static void wide(double *x, const float *y, int n)
{
    for (int i = 0; i < n; i++) {
        x[i] = (double)y[i];
    }
}

/* w has no gradient and is trained, or is frozen, and then stays. */
static void check_update(const char *name, bool frozen)
{
    cla_optimiser_options options;
    bed t;
    float x[NUMBERS], w[8], moved[8];
    double right[NUMBERS], right_w[8];
    begin(&t);
    cla_tensor_want_grad(t.w, !frozen);
    numbers_of(&t, x);
    TEST_OK(cla_tensor_download(t.w, w));
    wide(right, x, NUMBERS);
    wide(right_w, w, 8);
    TEST_OK(cla_optimiser_usual(&options, name));
    for (int step = 0; step < 3; step++) {
        update(&t, &options);
    }
    step_oracle(right, NUMBERS, name, 1, 3);
    step_oracle(right_w, frozen ? 0 : 8, name, 0, 3);
    numbers_of(&t, x);
    TEST_OK(cla_tensor_download(t.w, moved));
    check_close(name, x, right, NUMBERS, 1e-5);
    check_close(name, moved, right_w, 8, 1e-6);
    cr_expect(!frozen || same(w, moved, 8), "%s moved a frozen parameter", name);
    end(&t);
}

Test(parameters, steps_of_every_optimiser)
{
    int i = 0;
    for (const char *name = NULL; (name = cla_optimiser_name(i)); i++) {
        check_update(name, false);
        check_update(name, true);
    }
    cr_assert_not_null(cla_optimiser_at(i - 1));
    cr_assert_null(cla_optimiser_at(i));
    cr_assert_null(cla_optimiser_name(-1));
}

Test(parameters, another_optimiser_begins_anew)
{
    static const char *const names[] = { "adam", "lion", "adam" };
    bed t;
    float x[NUMBERS];
    double right[NUMBERS];
    begin(&t);
    numbers_of(&t, x);
    wide(right, x, NUMBERS);
    for (int i = 0; i < 3; i++) {
        cla_optimiser_options options;
        TEST_OK(cla_optimiser_usual(&options, names[i]));
        update(&t, &options);
        step_oracle(right, NUMBERS, names[i], 1, 1);
    }
    numbers_of(&t, x);
    check_close("adam, lion, adam", x, right, NUMBERS, 1e-5);
    end(&t);
}

Test(parameters, updates_refused)
{
    cla_optimiser_options options = { .name = "none" };
    bed t;
    begin(&t);
    TEST_FAILS(cla_optimiser_usual(&options, "Adam"), CLA_E_USAGE,
               "there is no optimiser 'Adam'");
    TEST_FAILS(cla_parameters_update(t.set, &options, 0, NULL), CLA_E_USAGE,
               "there is no optimiser 'none'");
    options.name = NULL;
    TEST_FAILS(cla_parameters_update(t.set, &options, 0, NULL), CLA_E_USAGE,
               "there is no optimiser ''");
    TEST_OK(cla_optimiser_usual(&options, "lion"));
    TEST_FAILS(cla_parameters_update(t.set, &options, -1, NULL), CLA_E_USAGE,
               "limit is -1");
    options.weight_decay = -1;
    TEST_FAILS(cla_parameters_update(t.set, &options, 0, NULL), CLA_E_USAGE,
               "lion: weight_decay is -1, must be 0 or more");
    options.reserved[3] = 1;
    TEST_FAILS(cla_parameters_update(t.set, &options, 0, NULL), CLA_E_USAGE,
               "reserved");
    end(&t);
}

/* ---- files ----------------------------------------------------------------------- */

Test(parameters, come_back_from_a_file)
{
    bed t, other;
    float x[NUMBERS], y[NUMBERS];
    begin(&t);
    numbers_of(&t, x);
    TEST_OK(cla_parameters_save(t.set, t.path));
    other = t;
    other.a = NULL;
    make_set(&other, 7);
    TEST_OK(cla_parameters_load(other.set, t.path));
    numbers_of(&other, y);
    cr_assert(same(x, y, NUMBERS));
    cla_parameters_free(&other.set);
    end(&t);
}

/* Checks that a set that does not fit its file is not loaded and stays as it was. */
static void check_refused(bed *t, const char *name, int rank, const int64_t *shape,
                          const char *part)
{
    cla_parameters *set = NULL;
    cla_tensor *x = NULL, *w = NULL, *b = NULL;
    TEST_OK(cla_parameters_new(&set, t->rt));
    TEST_OK(cla_parameters_add(set, &x, name, rank, shape, CLA_INITIAL_ONES, 0));
    TEST_OK(cla_parameters_linear(set, &w, &b, 4, 2, "out"));
    TEST_OK(cla_parameters_build(set, 1));
    TEST_FAILS(cla_parameters_load(set, t->path), CLA_E_INPUT, part);
    float numbers[NUMBERS];
    TEST_OK(cla_tensor_download(x, numbers));
    cr_assert_float_eq(numbers[0], 1, 0);
    cla_parameters_free(&set);
}

Test(parameters, files_that_do_not_fit)
{
    bed t;
    begin(&t);
    TEST_OK(cla_parameters_save(t.set, t.path));
    check_refused(&t, "other", 3, SHAPE, "'other' is missing");
    check_refused(&t, "a", 2, SHAPE, "'a' has another shape than the parameter [5,7]");
    check_refused(&t, "a", 3, (int64_t[]){ 5, 3, 7 }, "another shape");
    cla_parameters *set = NULL;
    cla_tensor *a = NULL;
    TEST_OK(cla_parameters_new(&set, t.rt));
    TEST_OK(cla_parameters_add(set, &a, "a", 3, SHAPE, CLA_INITIAL_ONES, 0));
    TEST_OK(cla_parameters_build(set, 1));
    TEST_FAILS(cla_parameters_load(set, t.path), CLA_E_INPUT,
               "is no parameter of this set");
    TEST_FAILS(cla_parameters_load(set, "/nonexistent/file"), CLA_E_IO, "nonexistent");
    cla_parameters_free(&set);

    float x[NUMBERS] = { NAN };
    TEST_OK(cla_tensor_upload(t.a, x));
    TEST_OK(cla_parameters_save(t.set, t.path));
    TEST_FAILS(cla_parameters_load(t.set, t.path), CLA_E_NUMERIC, "'a' is not finite");
    FILE *file = fopen(t.path, "r+b");
    cr_assert_not_null(file);
    fseek(file, -1, SEEK_END);
    fputc(1, file);
    fclose(file);
    TEST_FAILS(cla_parameters_load(t.set, t.path), CLA_E_INPUT, t.path);
    end(&t);
}

Test(parameters, refuses)
{
    bed t;
    cla_parameters *set = NULL;
    cla_tensor *x = NULL;
    char longer[65] = { 0 };
    memset(longer, 'n', sizeof longer - 1);
    begin(&t);
#define ADD(name, rank, shape, initial, scale) \
    cla_parameters_add(set, &x, name, rank, shape, initial, scale)
    const cla_adam_options adam = { .lr = 1 };
    TEST_OK(cla_parameters_new(&set, t.rt));
    TEST_FAILS(cla_parameters_build(set, 1), CLA_E_USAGE, "no parameters");
    TEST_OK(ADD("x", 1, SHAPE, CLA_INITIAL_ZEROS, 0));
    TEST_FAILS(ADD("x", 1, SHAPE, CLA_INITIAL_ZEROS, 0), CLA_E_USAGE, "there already");
    TEST_FAILS(ADD("", 1, SHAPE, CLA_INITIAL_ZEROS, 0), CLA_E_USAGE, "1 to 63 bytes");
    TEST_FAILS(ADD(longer, 1, SHAPE, CLA_INITIAL_ZEROS, 0), CLA_E_USAGE, "1 to 63");
    TEST_FAILS(ADD("y", 0, SHAPE, CLA_INITIAL_ZEROS, 0), CLA_E_SHAPE, "rank is 0");
    TEST_FAILS(ADD("y", 5, SHAPE, CLA_INITIAL_ZEROS, 0), CLA_E_SHAPE, "rank is 5");
    TEST_FAILS(ADD("y", 1, ((int64_t[]){ 0 }), CLA_INITIAL_ZEROS, 0), CLA_E_SHAPE,
               "size 0 is 0");
    TEST_FAILS(ADD("y", 1, SHAPE, (cla_initial)9, 0), CLA_E_USAGE, "initial is 9");
    TEST_FAILS(ADD("y", 1, SHAPE, CLA_INITIAL_NORMAL, NAN), CLA_E_USAGE, "scale is");
#undef ADD
    TEST_FAILS(cla_parameters_save(set, t.path), CLA_E_USAGE, "was not called");
    TEST_FAILS(cla_parameters_load(set, t.path), CLA_E_USAGE, "was not called");
    TEST_FAILS(cla_parameters_step(set, &adam, 0, NULL), CLA_E_USAGE, "was not called");
    TEST_FAILS(cla_parameters_build(t.set, 1), CLA_E_USAGE, "built already");
    cla_parameters_free(&set);
    end(&t);
}
