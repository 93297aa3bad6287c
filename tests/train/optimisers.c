/* optimisers.c - docs/training.md has every optimiser with its settings and moments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/optimiser.h"
#include "support/support.h"
#include "train/optim.h"

/* Returns the line of docs/training.md about the optimiser; "" if there is none. */
static const char *line_of(char line[1024], const cla_optimiser *o)
{
    char begin[64];
    FILE *page = fopen(getenv("CLATTN_TEST_TRAINING"), "r");
    cr_assert(page);
    snprintf(begin, sizeof begin, "| `%s` | ", o->signature.op);
    do {
        if (!fgets(line, 1024, page)) {
            line[0] = 0;
        }
    } while (line[0] && strncmp(line, begin, strlen(begin)) != 0);
    fclose(page);
    return line;
}

/* Checks that the line has a setting with its default, as "`lr` 0.001". */
static void check_setting(const char *line, const char *name, double usual)
{
    const char *at = line;
    char key[32];
    snprintf(key, sizeof key, "`%s` ", name);
    while ((at = strstr(at, key)) && strtod(at + strlen(key), NULL) != usual) {
        at++;
    }
    cr_expect(at, "no %s%g in: %s", key, usual, line);
}

Test(optimisers, are_on_their_page)
{
    const cla_optimiser *o = NULL;
    for (int i = 0; (o = cla_optimiser_at(i)); i++) {
        char line[1024];
        line_of(line, o);
        cr_expect(line[0], "%s is not in docs/training.md", o->signature.op);
        check_setting(line, "lr", o->usual.lr);
        for (int k = 0; k < CLA_OPTIMISER_DECAYS && o->decay[k]; k++) {
            check_setting(line, o->decay[k], o->usual.decay[k]);
        }
        if (o->usual.epsilon > 0) {
            check_setting(line, "epsilon", o->usual.epsilon);
        }
        if (o->usual.weight_decay > 0) {
            check_setting(line, "weight_decay", o->usual.weight_decay);
        }
        for (int k = 0; k < cla_optimiser_moments(o); k++) {
            char name[32];
            snprintf(name, sizeof name, "`%s` ", o->moment[k]);
            cr_expect(strstr(line, name), "no moment %sin: %s", name, line);
        }
    }
}

/* A cosine rises over the warm-up, is half-way down in the middle of the rest, and
 * stays at its end. */
Test(optimisers, follow_a_cosine)
{
    const cla_optim o = {
        .schedule = 2, .warmup = 4, .steps = 24, .last = 0.1, .rates.lr = 2
    };
    static const int64_t step[] = { 1, 2, 4, 9, 14, 24, 30 };
    static const double factor[] = {
        0.25, 0.5, 1, 0.1 + 0.9 * (1 + 0.70710678118654752) / 2, 0.55, 0.1, 0.1
    };
    for (int i = 0; i < 7; i++) {
        cr_assert_float_eq(cla_optim_rate(&o, step[i]), 2 * factor[i], 1e-12);
    }
}

/* Makes weights of three levels between two vectors, the gradients all one half, and
 * runs two updates. */
static void move_levels(double rate, double moved[3])
{
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false); // parameters are parts of a block
    cla_params params = { 0 };
    cla_tensor *home[3] = { NULL };
    cla_optim optim = cla_optim_usual("adam", 0.25);
    optim.levels = rate;
    const float half = 0.5F;
    TEST_OK(cla_param_zeros(&params, &home[0], 3, "before"));
    TEST_OK(cla_param_levels(&params, &home[1], 3, 0, "levels"));
    TEST_OK(cla_param_zeros(&params, &home[2], 3, "behind"));
    TEST_OK(cla_params_build(&params, rt, 1));
    TEST_OK(cla_optim_init(&optim, &params));
    for (int step = 1; step <= 2; step++) {
        uint32_t bits = 0;
        memcpy(&bits, &half, sizeof bits);
        TEST_OK(cla_memory_fill(rt, &params.gradients, bits));
        for (int i = 0; i < 3; i++) {
            home[i]->grad_filled = true;
        }
        TEST_OK(cla_optim_step(&optim, step));
    }
    for (int i = 0; i < 3; i++) {
        float got[3];
        TEST_OK(cla_tensor_download(home[i], got));
        moved[i] = (double)got[2];
    }
    cla_optim_fini(&optim);
    cla_params_free(&params);
    cla_runtime_free(&rt);
}

/* Weights of levels move so many times as far as other parameters, which their rate
 * does not change. */
Test(optimisers, levels_have_a_rate_of_their_own)
{
    double alike[3], fast[3], still[3];
    move_levels(1, alike);
    move_levels(8, fast);
    move_levels(0, still);
    cr_assert_float_eq(alike[0], -0.5, 1e-5);
    cr_assert_eq(alike[1], alike[0]);
    cr_assert_float_eq(fast[1], 8 * alike[1], 1e-4);
    cr_assert_eq(still[1], 0);
    for (int i = 0; i < 3; i += 2) {
        cr_assert_eq(fast[i], alike[i]);
        cr_assert_eq(still[i], alike[i]);
    }
}

/* A model without levels refuses a rate for their weights. */
Test(optimisers, no_levels_no_rate)
{
    cla_runtime *rt = test_runtime();
    cla_params params = { 0 };
    cla_tensor *home = NULL;
    cla_optim optim = cla_optim_usual("adam", 0.25);
    optim.levels = 8;
    TEST_OK(cla_param_zeros(&params, &home, 3, "alone"));
    TEST_OK(cla_params_build(&params, rt, 1));
    TEST_FAILS(cla_optim_init(&optim, &params), CLA_E_INPUT,
               "lr_levels is 8, and the model has no weights of levels");
    cla_optim_fini(&optim);
    cla_params_free(&params);
    cla_runtime_free(&rt);
}

/* Without a gradient, a step of a run shrinks matrices by lr weight_decay, and leaves
 * vectors as they are. */
Test(optimisers, matrices_alone_decay)
{
    static const char *const names[] = { "before", "matrix", "behind" };
    static const int ranks[] = { 1, 2, 1 };
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false); // parameters are parts of a block
    cla_params params = { 0 };
    cla_tensor *home[3] = { NULL };
    cla_optim optim = cla_optim_usual("adamw", 0.25);
    const cla_init ones = { CLA_INIT_ONES, 0, 0, 0 };
    optim.rates.weight_decay = 0.5;
    for (int i = 0; i < 3; i++) {
        TEST_OK(cla_param_add(&params, &home[i], ones, ranks[i], (int64_t[]){ 3, 2 },
                              "%s", names[i]));
    }
    TEST_OK(cla_params_build(&params, rt, 1));
    TEST_OK(cla_optim_init(&optim, &params));
    TEST_OK(cla_optim_step(&optim, 1));
    for (int i = 0; i < 3; i++) {
        float got[6];
        TEST_OK(cla_tensor_download(home[i], got));
        for (int k = 0; k < cla_tensor_size(home[i]); k++) {
            cr_assert_float_eq(got[k], ranks[i] > 1 ? 0.875 : 1, 1e-6, "%s", names[i]);
        }
    }
    cla_optim_fini(&optim);
    cla_params_free(&params);
    cla_runtime_free(&rt);
}
