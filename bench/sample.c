/* sample.c - times queued work.
 *
 * A queue returns before the work is done. Therefore a sample is a batch of runs with
 * one wait at its end, long enough that the wait and the clock do not matter. */
#include <math.h>

#include "bench/internal.h"

static const double SAMPLE_MS = 3.0;

typedef struct plan {
    int least;      // minimum number of samples
    double all_ms;  // minimum time of all samples
    double slow_ms; // time after which three samples are enough
    double warm_ms; // time of the warm-up
} plan;

/* Measures the milliseconds of count runs and the wait at their end. */
static cla_status time_runs(const bench *b, const bench_case *c, int count, double *ms)
{
    const int64_t begin = cla_time_ns();
    for (int i = 0; i < count; i++) {
        CLA_TRY(c->run(c->state));
    }
    if (!c->on_host) {
        CLA_TRY(cla_runtime_finish(b->rt));
    }
    *ms = (double)(cla_time_ns() - begin) * 1e-6;
    return CLA_OK;
}

/* Warms up: the first run compiles, later ones fill caches and raise clocks.
 * *fastest_ms is the fastest later run with its wait; *first_ms is by how much the
 * first one took longer. */
static cla_status warm_up(const bench *b, const bench_case *c, double warm_ms,
                          double *fastest_ms, double *first_ms)
{
    double first = 0, ms = 0, spent = 0;
    CLA_TRY(time_runs(b, c, 1, &first));
    *fastest_ms = INFINITY;
    for (int i = 0; i < 1 || (spent < warm_ms && i < 1000); i++) {
        CLA_TRY(time_runs(b, c, 1, &ms));
        *fastest_ms = fmin(*fastest_ms, ms);
        spent += ms;
    }
    *first_ms = fmax(0, first - *fastest_ms);
    return CLA_OK;
}

static bool enough(const plan *p, int count, double spent)
{
    return (count >= p->least && spent >= p->all_ms) ||
           (count >= 3 && spent >= p->slow_ms);
}

cla_status bench_sample(const bench *b, const bench_case *c, bench_samples *out)
{
    const plan p =
        b->options->quick ? (plan){ 5, 50, 300, 20 } : (plan){ 10, 300, 5000, 60 };
    double fastest_ms = 0, spent = 0;
    CLA_TRY(warm_up(b, c, p.warm_ms, &fastest_ms, &out->first_ms));
    const int batch = (int)fmin(ceil(SAMPLE_MS / fmax(fastest_ms, 1e-3)), 1000.0);
    while (!enough(&p, out->count, spent)) {
        double ms = 0;
        CLA_TRY(time_runs(b, c, batch, &ms));
        CLA_TRY(cla_grow(&out->ms, &out->cap, (size_t)out->count + 1, sizeof *out->ms));
        out->ms[out->count++] = ms / batch;
        out->runs += batch;
        spent += ms;
    }
    return CLA_OK;
}
