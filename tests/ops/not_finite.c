/* not_finite.c - the rule for numbers that are not finite (cl/not_finite.clh), for each
 * kind of operator under both schedules: what depends on a NaN is NaN, what does not
 * stays, and infinities give no wrong finite number. */
#include "ops/not_finite.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dependence.h"
#include "support/support.h"
#include "tensor/tensor.h"

enum { SAMPLES = 3 };

/* The numbers of one run on the device. */
typedef struct outcome {
    float *y, *grad[CLA_OPERANDS];
    bool has[CLA_OPERANDS]; // a gradient
} outcome;

typedef struct bed {
    cla_runtime *rt;
    const small_call *call;
    kind_case c;
    char name[160];
    float *x[CLA_OPERANDS], *dy;
    int rank, x_rank[CLA_OPERANDS]; // of the result, of the inputs
    int64_t shape[4], x_shape[CLA_OPERANDS][4];
    dependence d;
    outcome base, got;
    bond *of;
    double *limit[2];
} bed;

static void *zeros(int n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);
    cr_assert_not_null(p);
    return p;
}

static int count(int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        n *= shape[i];
    }
    return (int)n;
}

static void outcome_init(outcome *o, const dependence *d)
{
    o->y = zeros(d->results, sizeof *o->y);
    for (int n = 0; n < d->inputs; n++) {
        o->grad[n] = zeros(d->size[n], sizeof(float));
    }
}

static void outcome_fini(outcome *o, const dependence *d)
{
    free(o->y);
    for (int n = 0; n < d->inputs; n++) {
        free(o->grad[n]);
    }
}

/* ---- a run ------------------------------------------------------------------- */

static void read(const bed *t, cla_tensor *y, cla_tensor *const *x, outcome *o)
{
    cr_assert_eq(cla_tensor_size(y), t->d.results, "%s", t->name);
    TEST_OK(cla_tensor_download(y, o->y));
    for (int n = 0; n < t->d.inputs; n++) {
        const cla_tensor *grad = cla_tensor_grad(x[n]);
        o->has[n] = grad != NULL;
        if (grad) {
            TEST_OK(cla_tensor_download(grad, o->grad[n]));
        }
    }
}

/* Runs a training step. */
static void run(bed *t, outcome *o)
{
    cla_tape *tape = test_tape(t->rt, true);
    cla_tensor *x[CLA_OPERANDS] = { NULL }, *y = NULL;
    for (int n = 0; n < t->d.inputs; n++) {
        TEST_OK(cla_tensor_new(&x[n], t->rt, CLA_F32, t->x_rank[n], t->x_shape[n]));
        TEST_OK(cla_tensor_upload(x[n], t->x[n]));
        cla_tensor_want_grad(x[n], true);
    }
    TEST_OK(kind_case_device(tape, &y, x, &t->c));
    cla_tensor *dy = test_tensor(tape, CLA_F32, t->rank, t->shape, t->dy);
    TEST_OK(cla_tape_seed(tape, y, dy));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_memory_check_guards(t->rt));
    read(t, y, x, o);
    cla_tape_free(&tape);
    for (int n = 0; n < t->d.inputs; n++) {
        cla_tensor_free(&x[n]);
    }
}

/* ---- what must be ------------------------------------------------------------ */

/* Vectors of gates share a division: what is beside a NaN may be rounded
 * differently. */
static bool stays(float got, float base)
{
    return fabsf(got - base) <= 1e-6f * fmaxf(1, fabsf(base));
}

/* Checks numbers that were NaN-free before against what they depend on. */
static void check_nan(const bed *t, const char *what, const char *name,
                      const float *got, const float *base, int n)
{
    int must = 0, are = 0;
    for (int i = 0; i < n; i++) {
        const bool all = !t->call->pool || !strcmp(name, "results");
        must += t->of[i] == BOND_MUST;
        are += isnan(got[i]) != 0;
        cr_assert(!all || t->of[i] != BOND_MUST || isnan(got[i]),
                  "%s, %s: %s [%d] is %g, must be NaN (CLATTN_SEED=%u)", t->name, what,
                  name, i, (double)got[i], test_seed());
        cr_assert(t->of[i] != BOND_NONE || stays(got[i], base[i]),
                  "%s, %s: %s [%d] is %g, must stay %g (CLATTN_SEED=%u)", t->name, what,
                  name, i, (double)got[i], (double)base[i], test_seed());
    }
    cr_assert(!must || are, "%s, %s: %s has no NaN", t->name, what, name);
}

static bool is_input(const bed *t, int a, const char *name)
{
    return name && strcmp(t->c.operand[t->c.input[a]].name, name) == 0;
}

/* Lets an input of weights reach what it does not by definition; so a pool may take a
 * number without gradient. */
static void soften(bed *t, int a, int n, bool gradient)
{
    for (int i = 0; i < n && is_input(t, a, t->call->ends); i++) {
        const bool taken = gradient && t->call->pool;
        t->of[i] = t->of[i] == BOND_NONE || taken ? BOND_MAY : t->of[i];
    }
}

/* Checks a run with NaN in element p of input a. */
static void check_poisoned(bed *t, int a, int p)
{
    char what[48], of[48];
    snprintf(what, sizeof what, "NaN in %s [%d]", t->c.operand[t->c.input[a]].name, p);
    dependence_of_results(&t->d, a, p, t->of);
    soften(t, a, t->d.results, false);
    check_nan(t, what, "results", t->got.y, t->base.y, t->d.results);
    for (int n = 0; n < t->d.inputs; n++) {
        if (t->got.has[n]) {
            snprintf(of, sizeof of, "d%s", t->c.operand[t->c.input[n]].name);
            dependence_of_gradient(&t->d, a, p, n, t->of);
            soften(t, a, t->d.size[n], true);
            check_nan(t, what, of, t->got.grad[n], t->base.grad[n], t->d.size[n]);
        }
    }
}

/* Checks the results of a run with an infinity, or the lowest number, in element p of
 * input a. Where the definition has a limit, a result is the limit, or not finite as
 * an infinity times 0 is. */
static void check_extreme(bed *t, int a, int p, float value)
{
    const double sign = value < 0 ? -1 : 1;
    dependence_of_results(&t->d, a, p, t->of);
    soften(t, a, t->d.results, false);
    dependence_at(&t->d, a, p, sign * 1e30, t->limit[0]);
    dependence_at(&t->d, a, p, sign * 1e34, t->limit[1]);
    for (int j = 0; j < t->d.results; j++) {
        const double near = t->limit[0][j], far = t->limit[1][j];
        const double got = (double)t->got.y[j], off = 1e-5 * fmax(1, fabs(far));
        const bool keyless =
            isinf(value) && (t->call->layered || (t->call->softmax && got == 0));
        cr_assert(t->of[j] != BOND_NONE || stays(t->got.y[j], t->base.y[j]),
                  "%s, %g in %s [%d]: result [%d] is %g, must stay %g", t->name,
                  (double)value, t->c.operand[t->c.input[a]].name, p, j, got,
                  (double)t->base.y[j]);
        cr_assert(keyless || !isfinite(near) || !(fabs(near - far) < off) ||
                      !isfinite(got) || fabs(got - far) < off,
                  "%s, %g in %s [%d]: result [%d] is %g, must be %g", t->name,
                  (double)value, t->c.operand[t->c.input[a]].name, p, j, got, far);
    }
}

/* ---- beds -------------------------------------------------------------------- */

static void make_input(bed *t, int n)
{
    const cla_operand *o = &t->c.operand[t->c.input[n]];
    const bool positive = is_input(t, n, t->call->positive);
    t->x_rank[n] = cla_operand_shape(o, &t->c.call.sizes, t->x_shape[n]);
    t->d.size[n] = count(t->x_rank[n], t->x_shape[n]);
    t->x[n] = test_random(t->d.size[n], 1, (uint32_t)n + 1);
    t->d.x[n] = zeros(t->d.size[n], sizeof(double));
    for (int i = 0; i < t->d.size[n]; i++) {
        t->x[n][i] = positive ? 0.5f + fabsf(t->x[n][i]) : t->x[n][i];
        t->d.x[n][i] = (double)t->x[n][i];
    }
}

static void bed_init(bed *t, cla_runtime *rt, const small_call *call)
{
    *t = (bed){ .rt = rt, .call = call };
    TEST_OK(kind_case_open(&t->c, rt, &call->lines, call->text));
    t->rank = kind_case_result(&t->c, t->shape);
    t->d.c = &t->c;
    t->d.inputs = t->c.inputs;
    t->d.results = count(t->rank, t->shape);
    int most = t->d.results;
    for (int n = 0; n < t->d.inputs; n++) {
        make_input(t, n);
        most = t->d.size[n] > most ? t->d.size[n] : most;
    }
    t->dy = test_random(t->d.results, 1, 100);
    t->d.dy = t->dy;
    t->d.pool = call->pool;
    t->of = zeros(most, sizeof *t->of);
    t->limit[0] = zeros(t->d.results, sizeof(double));
    t->limit[1] = zeros(t->d.results, sizeof(double));
    outcome_init(&t->base, &t->d);
    outcome_init(&t->got, &t->d);
    dependence_init(&t->d);
}

static void bed_fini(bed *t)
{
    dependence_fini(&t->d);
    outcome_fini(&t->got, &t->d);
    outcome_fini(&t->base, &t->d);
    free(t->limit[1]);
    free(t->limit[0]);
    free(t->of);
    free(t->dy);
    for (int n = 0; n < t->d.inputs; n++) {
        free(t->x[n]);
        free(t->d.x[n]);
    }
    kind_case_close(&t->c);
}

/* Runs with another number in element p of input a. */
static void run_with(bed *t, int a, int p, float value)
{
    const float kept = t->x[a][p];
    t->x[a][p] = value;
    run(t, &t->got);
    t->x[a][p] = kept;
}

static void check_nans(bed *t, int a)
{
    const int size = t->d.size[a], samples = test_tiny() ? 1 : SAMPLES;
    const int at[SAMPLES] = { size / 2, 0, size - 1 };
    for (int s = 0; s < samples && s < size; s++) {
        run_with(t, a, at[s], NAN);
        check_poisoned(t, a, at[s]);
    }
}

static void check_extremes(bed *t, int a)
{
    const int size = t->d.size[a], at = size / 2;
    const float extreme[] = { INFINITY, -INFINITY, -FLT_MAX };
    const int kinds = t->call->no_lowest ? 2 : 3;
    for (int e = 0; e < kinds && size && !test_tiny(); e++) {
        run_with(t, a, at, extreme[e]);
        check_extreme(t, a, at, extreme[e]);
    }
}

static void check_call(cla_runtime *rt, const small_call *call, const char *where,
                       bool extremes)
{
    bed t;
    bed_init(&t, rt, call);
    snprintf(t.name, sizeof t.name, "%s %s (%s)", call->lines.op, call->text, where);
    run(&t, &t.base);
    for (int a = 0; a < (test_tiny() ? 1 : t.d.inputs); a++) {
        check_nans(&t, a);
        if (extremes) {
            check_extremes(&t, a);
        }
    }
    bed_fini(&t);
}

/* ---- tests ------------------------------------------------------------------- */

/* CLATTN_TEST_KIND=lstm runs one kind. */
static bool is_wanted(const char *op)
{
    const char *only = getenv("CLATTN_TEST_KIND");
    return !only || strcmp(only, op) == 0;
}

static void check_all(cla_schedule schedule)
{
    cla_runtime *rt = test_runtime();
    const char *where = schedule == CLA_SCHEDULE_TILE ? "tile" : "group";
    cla_runtime_set_schedule(rt, schedule);
    const op_kind *kind = NULL;
    for (size_t i = 0; (kind = op_kind_at(i)) != NULL; i++) {
        const char *op = op_kind_name(kind);
        const bool takes = test_takes(i, schedule == CLA_SCHEDULE_GROUP);
        bool seen = false;
        for (const small_call *call = small_calls; call->text; call++) {
            const bool own = strcmp(call->lines.op, op) == 0;
            if (own && takes && is_wanted(op) && !(seen && test_tiny())) {
                check_call(rt, call, where, true);
            }
            seen = seen || own;
        }
        cr_assert(seen, "%s: no call in tests/ops/not_finite_lines.c", op);
    }
    cla_runtime_free(&rt);
}

Test(not_finite, every_kind_on_tile)
{
    check_all(CLA_SCHEDULE_TILE);
}

Test(not_finite, every_kind_on_group)
{
    check_all(CLA_SCHEDULE_GROUP);
}

/* Rounding moves what an extreme number leaves; a NaN stays one. */
Test(not_finite, attention_on_units_of_cards, .timeout = 900)
{
    for (int unit = CLA_UNIT_MMA; unit < CLA_UNITS && !test_tiny(); unit++) {
        cla_runtime *rt = test_runtime_emulating(unit);
        for (const small_call *call = small_calls; call->text; call++) {
            if (strcmp(call->lines.op, "attention") == 0) {
                check_call(rt, call, cla_unit_name((cla_unit)unit), false);
            }
        }
        cla_runtime_free(&rt);
    }
}
