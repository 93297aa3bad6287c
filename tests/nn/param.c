/* param.c - initialisers and the layout of the blocks. */
#include "nn/param.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/matmul.h"
#include "support/support.h"

enum { COUNT = 20000 };

/* Opens a runtime without guards: parameters are parts of a block, and a guarded block
 * is a part already. */
static cla_runtime *plain_runtime(void)
{
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false);
    return rt;
}

/* Checks that the mean is within 4 deviations / sqrt(n), the deviation within 3 %, and
 * no number beyond largest. */
static void check(const cla_tensor *t, double deviation, double largest)
{
    float *x = malloc(COUNT * sizeof *x);
    TEST_OK(cla_tensor_download(t, x));
    double mean = 0, square = 0, top = 0;
    for (int i = 0; i < COUNT; i++) {
        mean += (double)x[i] / COUNT;
        square += (double)x[i] * (double)x[i] / COUNT;
        top = fmax(top, fabs((double)x[i]));
    }
    const double got = sqrt(square - mean * mean);
    cr_assert(fabs(mean) <= 4 * deviation / sqrt(COUNT), "mean %g", mean);
    cr_assert(fabs(got - deviation) <= 0.03 * deviation, "deviation %g, must be %g",
              got, deviation);
    cr_assert(top <= largest, "largest %g, at most %g", top, largest);
    free(x);
}

Test(param, initialisers)
{
    cla_runtime *rt = plain_runtime();
    cla_params params = { 0 };
    cla_tensor *t[4], *one = NULL;
    const int64_t shape[] = { 100, 200 }, n = 1;
    const cla_init init[] = {
        { CLA_INIT_UNIFORM, 0.05, 0, 0 },
        { CLA_INIT_NORMAL, 0.5, 0, 0 },
        { CLA_INIT_GLOROT_UNIFORM, 0, 100, 50 },
        { CLA_INIT_GLOROT_NORMAL, 0, 100, 50 },
    };
    for (int i = 0; i < 4; i++) {
        TEST_OK(cla_param_add(&params, &t[i], init[i], 2, shape, "p%d", i));
    }
    TEST_OK(cla_param_add(&params, &one, (cla_init){ CLA_INIT_ONES, 0, 0, 0 }, 1, &n,
                          "one"));
    TEST_OK(cla_params_build(&params, rt, 7));
    cr_assert_eq(params.size, 4 * COUNT + 1);
    float value = 0;
    TEST_OK(cla_tensor_download(one, &value));
    cr_assert(value == 1);
    check(t[0], 0.05 / sqrt(3), 0.05);
    check(t[1], 0.5, 0.5 * 6);
    const double a = sqrt(6.0 / 150), s = sqrt(2.0 / 150);
    check(t[2], a / sqrt(3), a * 1.000001);
    // the deviation that remains when numbers beyond two deviations are left out
    check(t[3], s * 0.87962566, 2.000001 * s);
    cr_assert_eq(cla_params_find(&params, "p3")->tensor, t[3]);
    cr_assert_null(cla_params_find(&params, "p9"));
    cla_params_free(&params);
    cr_assert_null(t[3]);
    cla_runtime_free(&rt);
}

/* Initial weights of levels are equal, or the first is as requested; a single level has
 * the whole weight. */
Test(param, first_level_begins_with_its_weight)
{
    static const struct {
        int64_t n;
        double first, weight;
    } cases[] = { { 4, 0, 0.25 }, { 4, 0.7, 0.7 }, { 2, 0.1, 0.1 }, { 1, 0.9, 1 } };
    cla_runtime *rt = plain_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_params params = { 0 };
        cla_tensor *t = NULL;
        float c[4] = { NAN, NAN, NAN, NAN };
        TEST_OK(cla_param_levels(&params, &t, cases[i].n, cases[i].first, "levels"));
        TEST_OK(cla_params_build(&params, rt, 1));
        TEST_OK(cla_tensor_download(t, c));
        const double first = exp((double)c[0]);
        for (int64_t k = 1; k < cases[i].n; k++) {
            cr_assert(c[k] == 0);
        }
        const double weight = first / (first + (double)(cases[i].n - 1));
        cr_assert(fabs(weight - cases[i].weight) < 1e-6, "weight %g, must be %g",
                  weight, cases[i].weight);
        cla_params_free(&params);
    }
    cla_runtime_free(&rt);
}

/* A parameter's numbers depend on the seed and its name, not on other parameters. */
Test(param, values_have_a_stream_of_their_own)
{
    cla_runtime *rt = plain_runtime();
    float x[3][8];
    for (int i = 0; i < 3; i++) {
        cla_params params = { 0 };
        cla_tensor *other = NULL, *t = NULL;
        const int64_t n = 8;
        const cla_init normal = { CLA_INIT_NORMAL, 1, 0, 0 };
        if (i == 1) {
            TEST_OK(cla_param_add(&params, &other, normal, 1, &n, "other"));
        }
        TEST_OK(cla_param_add(&params, &t, normal, 1, &n, "t"));
        TEST_OK(cla_params_build(&params, rt, i == 2 ? 8 : 7));
        TEST_OK(cla_tensor_download(t, x[i]));
        cla_params_free(&params);
    }
    cr_assert_eq(memcmp(x[0], x[1], sizeof x[0]), 0);
    cr_assert_neq(memcmp(x[0], x[2], sizeof x[0]), 0);
    cla_runtime_free(&rt);
}

/* A step that does not use a parameter gives it a gradient of zero, not the last
 * one. */
Test(param, untouched_gradients_are_zero)
{
    cla_runtime *rt = plain_runtime();
    cla_params params = { 0 };
    cla_tensor *t = NULL;
    const int64_t n = 5;
    float got[5];
    TEST_OK(
        cla_param_add(&params, &t, (cla_init){ CLA_INIT_ONES, 0, 0, 0 }, 1, &n, "t"));
    TEST_OK(cla_params_build(&params, rt, 1));
    TEST_OK(cla_params_train(&params));
    TEST_OK(cla_tensor_fill(t->grad, 3));
    cla_params_clear_gradients(&params);
    TEST_OK(cla_params_fill_gradients(&params));
    TEST_OK(cla_tensor_download(t->grad, got));
    cr_assert(got[0] == 0 && got[4] == 0);
    cla_params_free(&params);
    cla_runtime_free(&rt);
}

/* ---- weights in panels ----------------------------------------------------------- */

enum { MATRICES = 3 };

typedef struct turning {
    cla_params params;
    cla_tensor *t[MATRICES], *bias;
    char *plain;
} turning;

/* Builds a matrix, a table and the weights of a recurrence, none of whole panels, and
 * reads the block. */
static void build_turning(turning *s, cla_runtime *rt, bool infers)
{
    enum { IN = 20, OUT = 60, ENTRIES = 70, VECTOR = 16, STATES = 9 };
    *s = (turning){ .params = { .infers = infers } };
    TEST_OK(cla_param_linear(&s->params, &s->t[0], &s->bias, IN, OUT, "linear"));
    TEST_OK(cla_param_matrix(&s->params, &s->t[1], ENTRIES, VECTOR, "table"));
    cla_param_for(&s->params, CLA_PARAM_TABLE);
    TEST_OK(cla_param_matrix(&s->params, &s->t[2], IN + STATES, OUT, "recurrence"));
    cla_param_states(&s->params, STATES);
    TEST_OK(cla_params_build(&s->params, rt, 7));
    s->plain = malloc(s->params.values.bytes);
    TEST_OK(
        cla_memory_read(rt, &s->params.values, 0, s->plain, s->params.values.bytes));
}

/* Turns all matrices; returns how many are turned. */
static int turn_all(turning *s, cla_runtime *rt)
{
    int turned = 0;
    for (int i = 0; i < MATRICES; i++) {
        const cla_param *p = &s->params.list[i ? i + 1 : 0];
        const bool table = p->use == CLA_PARAM_TABLE;
        TEST_OK(cla_turn(rt, s->t[i], table,
                         table ? p->shape[1] : p->shape[0] - p->states));
        turned += s->t[i]->turned.order.other;
    }
    return turned;
}

static void check_block(const turning *s, cla_runtime *rt)
{
    const size_t bytes = s->params.values.bytes;
    char *now = malloc(bytes);
    TEST_OK(cla_memory_read(rt, &s->params.values, 0, now, bytes));
    cr_assert(!memcmp(now, s->plain, bytes), "the block has other numbers");
    free(now);
}

/* Parameters for inference have room for panels. Whoever reads or trains the block
 * finds the elements in their usual order, and zeros in the gaps. */
Test(param, matrices_have_room_for_panels)
{
    cla_runtime *rt = plain_runtime();
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_TILE);
    turning s;
    build_turning(&s, rt, true);
    const uint64_t before = cla_runtime_peak_bytes(rt);
    cr_assert_eq(turn_all(&s, rt), MATRICES);
    cr_assert_lt(cla_runtime_peak_bytes(rt) - before, s.params.values.bytes);
    check_block(&s, rt);
    cr_assert_eq(turn_all(&s, rt), MATRICES);
    TEST_OK(cla_params_train(&s.params));
    for (int i = 0; i < MATRICES; i++) {
        cr_assert(!s.t[i]->turned.order.other);
    }
    check_block(&s, rt);
    cr_assert_eq(turn_all(&s, rt), 0, "turned while they are trained");
    free(s.plain);
    cla_params_free(&s.params);
    cla_runtime_free(&rt);
}

/* Neither parameters for training nor those of the group schedule have such room. */
Test(param, only_inference_has_room_for_panels)
{
    cla_runtime *rt = plain_runtime();
    size_t bytes[3];
    for (int i = 0; i < 3; i++) {
        turning s;
        cla_runtime_set_schedule(rt, i == 1 ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        build_turning(&s, rt, i > 0);
        bytes[i] = s.params.values.bytes;
        cr_assert_eq(turn_all(&s, rt), i == 2 ? MATRICES : 0);
        free(s.plain);
        cla_params_free(&s.params);
    }
    cr_assert_eq(bytes[0], bytes[1]);
    cr_assert_lt(bytes[0], bytes[2]);
    cla_runtime_free(&rt);
}
