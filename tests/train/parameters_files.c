/* parameters_files.c - the optimiser's state in files of parameters: training goes on
 * with the same bits, and files that do not fit are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/safetensors.h"
#include "clattn/arithmetic.h"
#include "clattn/ops.h"
#include "clattn/parameters.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { ROWS = 5, COLUMNS = 7, NUMBERS = ROWS * COLUMNS };

/* One matrix that is trained, and one without a gradient, which may shrink, too. */
typedef struct bed {
    cla_runtime *rt;
    cla_parameters *set;
    cla_tensor *a, *idle;
    char path[64];
} bed;

static void make_set(bed *t, uint32_t seed)
{
    const int64_t shape[] = { ROWS, COLUMNS };
    TEST_OK(cla_parameters_new(&t->set, t->rt));
    TEST_OK(cla_parameters_add(t->set, &t->a, "a", 2, shape, CLA_INITIAL_NORMAL, 1));
    TEST_OK(
        cla_parameters_add(t->set, &t->idle, "idle", 2, shape, CLA_INITIAL_NORMAL, 1));
    TEST_OK(cla_parameters_build(t->set, seed));
}

/* The runtime has no guards: parameters are parts of a block, and a guarded block is a
 * part already. */
static void begin(bed *t)
{
    *t = (bed){ .rt = test_runtime() };
    cla_memory_guard(t->rt, false);
    snprintf(t->path, sizeof t->path, "/tmp/clattn-states-%ld", (long)getpid());
    make_set(t, 42);
}

static void end(bed *t)
{
    unlink(t->path);
    cla_parameters_free(&t->set);
    cla_runtime_free(&t->rt);
}

/* Steps down the mean of a^2 by an optimiser with its usual settings. */
static void train(bed *t, const char *optimiser, int steps)
{
    cla_optimiser_options options;
    cla_tape *tape = NULL;
    TEST_OK(cla_optimiser_usual(&options, optimiser));
    TEST_OK(cla_tape_new(&tape, t->rt, true));
    for (int i = 0; i < steps; i++) {
        cla_tensor *squares = NULL, *loss = NULL;
        cla_tape_reset(tape);
        TEST_OK(cla_multiply(tape, &squares, t->a, t->a));
        TEST_OK(cla_mean(tape, &loss, squares));
        TEST_OK(cla_tape_seed(tape, loss, NULL));
        TEST_OK(cla_tape_backward(tape));
        TEST_OK(cla_parameters_update(t->set, &options, 1, NULL));
    }
    cla_tape_free(&tape);
}

static void numbers_of(const bed *t, float x[2 * NUMBERS])
{
    TEST_OK(cla_tensor_download(t->a, x));
    TEST_OK(cla_tensor_download(t->idle, x + NUMBERS));
}

/* Loads the file into a new set, in place of the old one. */
static void come_back(bed *t, uint32_t seed)
{
    cla_parameters_free(&t->set);
    t->a = t->idle = NULL;
    make_set(t, seed);
    TEST_OK(cla_parameters_load(t->set, t->path));
}

/* Five steps are as two, a file and three; with other steps before the load, too. */
static void check_goes_on(const char *optimiser)
{
    bed t;
    float right[2 * NUMBERS], got[2 * NUMBERS];
    begin(&t);
    train(&t, optimiser, 2);
    TEST_OK(cla_parameters_save(t.set, t.path));
    train(&t, optimiser, 3);
    numbers_of(&t, right);
    come_back(&t, 7);
    train(&t, optimiser, 3);
    numbers_of(&t, got);
    cr_expect(memcmp(right, got, sizeof got) == 0, "%s does not go on", optimiser);
    TEST_OK(cla_parameters_load(t.set, t.path));
    train(&t, optimiser, 3);
    numbers_of(&t, got);
    cr_expect(memcmp(right, got, sizeof got) == 0, "%s keeps old means", optimiser);
    end(&t);
}

Test(parameters_files, every_optimiser_goes_on)
{
    int i = 0;
    for (const char *name = NULL; (name = cla_optimiser_name(i)); i++) {
        check_goes_on(name);
    }
    cr_assert_gt(i, 0);
}

/* A file of values alone, as older versions wrote, and that of another optimiser: both
 * begin as after cla_parameters_forget. */
Test(parameters_files, other_files_begin_anew)
{
    bed t;
    float right[2 * NUMBERS], got[2 * NUMBERS];
    begin(&t);
    train(&t, "adam", 2);
    TEST_OK(cla_parameters_save(t.set, t.path));
    TEST_OK(cla_parameters_forget(t.set));
    train(&t, "lion", 2);
    numbers_of(&t, right);
    come_back(&t, 7);
    train(&t, "lion", 2);
    numbers_of(&t, got);
    cr_expect(memcmp(right, got, sizeof got) == 0, "a file of adam, steps of lion");

    TEST_OK(cla_parameters_load(t.set, t.path));
    TEST_OK(cla_parameters_forget(t.set));
    TEST_OK(cla_parameters_save(t.set, t.path));
    cla_st_file file;
    TEST_OK(cla_st_open(&file, t.path));
    cr_expect_eq(file.count, 2, "%zu tensors", file.count);
    cla_st_close(&file);
    train(&t, "adam", 3);
    numbers_of(&t, right);
    TEST_OK(cla_parameters_load(t.set, t.path));
    train(&t, "adam", 3);
    numbers_of(&t, got);
    cr_expect(memcmp(right, got, sizeof got) == 0, "a file of values alone");
    end(&t);
}

/* Writes the set's file with other metadata, and without its last `fewer` tensors. */
static void rewrite(bed *t, size_t fewer, const char *optimiser, const char *step)
{
    cla_st_file file;
    TEST_OK(cla_parameters_save(t->set, t->path));
    TEST_OK(cla_st_open(&file, t->path));
    json_t *meta = json_pack("{s:s, s:s}", "optimiser", optimiser, "step", step);
    TEST_OK(cla_st_save(t->path, file.tensors, file.count - fewer, meta));
    json_decref(meta);
    cla_st_close(&file);
}

static void check_refused(bed *t, const char *part)
{
    float before[2 * NUMBERS], after[2 * NUMBERS];
    numbers_of(t, before);
    TEST_FAILS(cla_parameters_load(t->set, t->path), CLA_E_INPUT, part);
    numbers_of(t, after);
    cr_expect(memcmp(before, after, sizeof after) == 0, "changed in spite of '%s'",
              part);
}

Test(parameters_files, states_that_do_not_fit)
{
    bed t;
    begin(&t);
    train(&t, "adam", 1);
    rewrite(&t, 0, "adagrad", "1");
    check_refused(&t, "there is no optimiser 'adagrad'");
    rewrite(&t, 0, "adam", "0");
    check_refused(&t, "step is '0', must be 1 or more");
    rewrite(&t, 0, "adam", "one");
    check_refused(&t, "step is 'one'");
    rewrite(&t, 1, "adam", "1");
    check_refused(&t, "'adam.square/idle' is missing");
    rewrite(&t, 0, "lion", "1");
    check_refused(&t, "'lion.mean/a' is missing");
    rewrite(&t, 0, "adam", "1");
    TEST_OK(cla_parameters_load(t.set, t.path));
    end(&t);
}

Test(parameters_files, a_name_of_a_running_mean)
{
    const int64_t shape[] = { ROWS, COLUMNS };
    cla_tensor *more = NULL;
    bed t;
    begin(&t);
    cla_parameters_free(&t.set);
    TEST_OK(cla_parameters_new(&t.set, t.rt));
    TEST_OK(cla_parameters_add(t.set, &t.a, "a", 2, shape, CLA_INITIAL_NORMAL, 1));
    TEST_OK(
        cla_parameters_add(t.set, &more, "adam.mean/a", 2, shape, CLA_INITIAL_ONES, 0));
    TEST_FAILS(cla_parameters_forget(t.set), CLA_E_USAGE, "was not called");
    TEST_OK(cla_parameters_build(t.set, 1));
    TEST_OK(cla_parameters_save(t.set, t.path));
    TEST_OK(cla_parameters_load(t.set, t.path));
    train(&t, "adam", 1);
    TEST_FAILS(cla_parameters_save(t.set, t.path), CLA_E_USAGE,
               "'adam.mean/a' has the name of a running mean of 'a'");
    train(&t, "lion", 1);
    TEST_OK(cla_parameters_save(t.set, t.path));
    end(&t);
}
