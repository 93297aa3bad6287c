/* slopes.c - gradients of a whole network, a parameter at a time. */
#include "support/slopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

/* The longest step, the change of the loss that a step aims at, and the error of a loss
 * of a few units: float32 sums in another order. */
static const double FAR = 1, RISE = 0.004, NOISE = 2e-7;

/* The length of a direction's random part; that along the gradient has 1. What
 * a gradient lacks is orthogonal to itself: the random part alone shows it. */
static const double ASIDE = 1;

typedef struct slope {
    cla_tensor *tensor;
    size_t n;
    float *begin, *way; // [n] each, in one allocation
    double gradient;    // derivative along way
    double step;
} slope;

/* Chooses a direction that is partly that of the gradient, partly random, and a step
 * along it. */
static void choose(slope *s, const float *gradient, uint32_t stream)
{
    float *noise = test_random((int64_t)s->n, 1, stream);
    double length = 0;
    for (size_t i = 0; i < s->n; i++) {
        length += (double)gradient[i] * (double)gradient[i];
    }
    length = sqrt(length) + 1e-30;
    s->gradient = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->way[i] = (float)((double)gradient[i] / length +
                            ASIDE * (double)noise[i] / sqrt((double)s->n));
        s->gradient += (double)s->way[i] * (double)gradient[i];
    }
    s->step = fmin(FAR, RISE / length);
    free(noise);
}

static void begin(slope *s, cla_tensor *t, uint32_t stream, bool spoilt)
{
    s->tensor = t;
    s->n = (size_t)cla_tensor_size(t);
    s->begin = calloc(2 * s->n, sizeof *s->begin);
    s->way = s->begin + s->n;
    float *gradient = calloc(s->n, sizeof *gradient);
    TEST_OK(cla_tensor_download(t, s->begin));
    if (cla_tensor_grad(t)) {
        TEST_OK(cla_tensor_download(cla_tensor_grad(t), gradient));
    }
    for (size_t i = 0; i < s->n / 2 && spoilt; i++) {
        gradient[i] = 0;
    }
    choose(s, gradient, stream);
    free(gradient);
}

static double loss_at(const slopes_case *c, const slope *s, double step)
{
    float *x = calloc(s->n, sizeof *x);
    for (size_t i = 0; i < s->n; i++) {
        x[i] = s->begin[i] + (float)step * s->way[i];
    }
    TEST_OK(cla_tensor_upload(s->tensor, x));
    cla_params_changed(c->params);
    free(x);
    return c->loss(c->model, false);
}

/* Returns the derivative along s->way from two central differences. Extrapolation
 * leaves an error of the step's fourth power. */
static double difference(const slopes_case *c, const slope *s, double step)
{
    double rise[2];
    for (int k = 0; k < 2; k++) {
        const double h = step * (k + 1);
        rise[k] = (loss_at(c, s, h) - loss_at(c, s, -h)) / (2 * h);
    }
    return (4 * rise[0] - rise[1]) / 3;
}

/* Returns whether the gradient agrees with differences at one of four steps. Where a
 * maximum or a ReLU has a kink within a step, a shorter one may miss it. */
static bool agrees(const slopes_case *c, const char *name, const slope *s, double loss)
{
    enum { STEPS = 4 };
    double want = 0, bar = 0, step = s->step;
    bool close = false;
    for (int k = 0; k < STEPS && !close; k++, step /= 4) {
        bar = NOISE * fmax(fabs(loss), 1) / step;
        want = difference(c, s, step);
        close = fabs(s->gradient - want) <= bar + 0.01 * fabs(want);
    }
    loss_at(c, s, 0);
    const bool still = c->still && !strcmp(name, c->still);
    cr_assert(!close || (still ? fabs(want) <= bar : bar < 0.1 * fabs(want)),
              "%s: the slope is %g, known to %g", name, want, bar);
    if (!close) {
        cr_log_info("%s: slope is %g, must be %g", name, s->gradient, want);
    }
    return close;
}

/* Adds noise to a parameter: the initial values leave attention almost uniform, and its
 * inputs almost without influence. */
static void stir(cla_tensor *t, float size, uint32_t stream)
{
    const int64_t n = cla_tensor_size(t);
    float *x = calloc((size_t)n, sizeof *x), *noise = test_random(n, size, stream);
    TEST_OK(cla_tensor_download(t, x));
    for (int64_t i = 0; i < n; i++) {
        x[i] += noise[i];
    }
    TEST_OK(cla_tensor_upload(t, x));
    free(noise);
    free(x);
}

const char *wrong_slope(const slopes_case *c)
{
    const size_t count = c->params->count;
    const char *wrong = NULL;
    for (size_t i = 0; i < count; i++) {
        stir(c->params->list[i].tensor, c->stir > 0 ? c->stir : 0.5F,
             500 + (uint32_t)i);
    }
    cla_params_changed(c->params);
    slope *all = calloc(count, sizeof *all);
    cla_params_clear_gradients(c->params);
    const double loss = c->loss(c->model, true);
    for (size_t i = 0; i < count; i++) {
        const cla_param *p = &c->params->list[i];
        const bool spoilt = c->spoilt && !strcmp(p->name, c->spoilt);
        begin(&all[i], p->tensor, 100 + (uint32_t)i, spoilt);
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = c->params->list[i].name;
        wrong = wrong || agrees(c, name, &all[i], loss) ? wrong : name;
        free(all[i].begin);
    }
    free(all);
    return wrong;
}

void check_slopes(const slopes_case *c)
{
    const char *wrong = wrong_slope(c);
    cr_assert_null(wrong, "%s has a wrong gradient", wrong ? wrong : "");
}
