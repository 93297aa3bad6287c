/* embedding.c - device against oracle: values, gradients, refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "oracle/oracle.h"
#include "support/support.h"

typedef struct lookup {
    int N, D, V;
    float scale;
    int kinds; // different ids; 0 = all of V, and some outside
    int32_t *ids;
    cla_tensor *device_ids;
} lookup;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const lookup *c = context;
    return cla_embedding(tape, y, x[0], c->device_ids, c->scale);
}

static void oracle(double *y, double *const *x, void *context)
{
    const lookup *c = context;
    oracle_embedding(y, x[0], c->ids, c->N, c->D, c->V, (double)c->scale);
}

static void make_ids(cla_runtime *rt, lookup *c)
{
    c->ids = calloc((size_t)c->N + 1, sizeof *c->ids);
    cr_assert_not_null(c->ids);
    for (int n = 0; n < c->N; n++) {
        const uint32_t counter[4] = { (uint32_t)n }, key[2] = { test_seed() };
        const uint32_t r = cla_philox4x32(counter, key).v[0];
        const int range = c->kinds ? c->kinds : c->V + 2;
        c->ids[n] = (int32_t)(r % (uint32_t)range) - (c->kinds ? 0 : 1);
    }
    TEST_OK(cla_tensor_new(&c->device_ids, rt, CLA_I32, 1, (int64_t[]){ c->N }));
    TEST_OK(cla_tensor_upload(c->device_ids, c->ids));
}

/* One rounding forward; a gradient is a sum of a few dozen rows, about eps sqrt(n). */
static const double BAR = 2e-7;

Test(embedding, matches_oracle_and_gradient)
{
    lookup cases[] = {
        { .N = 1, .D = 1, .V = 1, .scale = 1 },
        { .N = 7, .D = 5, .V = 3, .scale = 2 },
        { .N = 63, .D = 64, .V = 11, .scale = 8 },
        { .N = 64, .D = 65, .V = 101, .scale = 1, .kinds = 4 },
        { .N = 3, .D = 128, .V = 4099, .scale = 1 },
        { .N = 515, .D = 24, .V = 37, .scale = 1, .kinds = 1 },
        { .N = 0, .D = 4, .V = 3, .scale = 1 },
        { .N = 4, .D = 3, .V = 0, .scale = 1 },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lookup *c = &cases[i];
        if ((test_tiny() && c->N > 70) || (test_small() && c->V > 500)) {
            continue;
        }
        make_ids(rt, c);
        op_case op = {
            .in = { { "table", 2, { c->V, c->D } } },
            .inputs = 1,
            .rank = 2,
            .shape = { c->N, c->D },
            .device = device,
            .oracle = oracle,
            .context = c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "embedding N%d D%d V%d", c->N, c->D, c->V);
        check_op(rt, &op);
        free(c->ids);
        cla_tensor_free(&c->device_ids);
    }
    cla_runtime_free(&rt);
}

Test(embedding, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *table = NULL, *ids = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&table, rt, CLA_F32, 2, (int64_t[]){ 5, 3 }));
    TEST_OK(cla_tensor_new(&ids, rt, CLA_I32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_embedding(tape, &y, table, table, 1), CLA_E_SHAPE,
               "ids holds f32, must hold i32");
    TEST_FAILS(cla_embedding(tape, &y, ids, ids, 1), CLA_E_SHAPE,
               "table holds i32, must hold f32");
    TEST_FAILS(cla_embedding(tape, &y, NULL, ids, 1), CLA_E_SHAPE, "table is missing");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&ids);
    cla_tensor_free(&table);
    cla_runtime_free(&rt);
}
