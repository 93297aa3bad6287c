/* crossover.c - finds the size from which another provider is faster. */
#include "bench/crossover.h"

#include <math.h>
#include <stdio.h>

#include "bench/internal.h"
#include "ops/matmul.h"

/* ---- one timing -------------------------------------------------------------- */

static cla_status time_case(bench *b, const bench_case *c, double *ms)
{
    bench_samples samples = { 0 };
    const cla_status status = bench_sample(b, c, &samples);
    *ms = status ? INFINITY : bench_stats_of(samples.ms, samples.count).median;
    free(samples.ms);
    return status;
}

/* A race of two providers at rising sizes. Its result is the smallest size from which
 * the second one always wins, or a size beyond the last. */
typedef struct race {
    const char *names[2];
    const int *sizes;
    int count;
    cla_status (*time)(bench *b, int size, int way, double *ms);
} race;

static cla_status run_race(bench *b, const race *r, int *from)
{
    *from = r->sizes[r->count - 1] + 1;
    for (int i = r->count - 1; i >= 0; i--) { // large sizes first: they matter most
        double ms[2] = { 0 };
        if (cla_time_ns() > b->deadline_ns) {
            break;
        }
        CLA_TRY(r->time(b, r->sizes[i], 0, &ms[0]));
        CLA_TRY(r->time(b, r->sizes[i], 1, &ms[1]));
        printf("    %8d %10.3f ms %s %10.3f ms %s\n", r->sizes[i], ms[0], r->names[0],
               ms[1], r->names[1]);
        fflush(stdout);
        if (ms[1] >= ms[0]) {
            break;
        }
        *from = r->sizes[i];
    }
    return CLA_OK;
}

/* ---- products ---------------------------------------------------------------- */

typedef struct square {
    cla_runtime *rt;
    cla_tensor *a, *b, *y;
    int side;
} square;

static cla_status run_square(void *state)
{
    const square *s = state;
    const cla_product p = {
        .M = s->side,
        .N = s->side,
        .K = s->side,
        .a = { .memory = &s->a->memory },
        .b = { .memory = &s->b->memory },
        .y = { .memory = &s->y->memory },
    };
    return cla_product_run(s->rt, &p);
}

static cla_status time_square(bench *b, int side, int clblast, double *ms)
{
    const int64_t shape[] = { side, side };
    square s = { .rt = b->rt, .side = side };
    const bench_case c = { .run = run_square, .state = &s };
    cla_status status = bench_tensor(b, &s.a, 2, shape, false);
    status = status ? status : bench_tensor(b, &s.b, 2, shape, false);
    status = status ? status : bench_tensor(b, &s.y, 2, shape, false);
    status = status ? status
                    : cla_product_set_provider(b->rt, clblast ? CLA_PROVIDER_CLBLAST
                                                              : CLA_PROVIDER_OWN);
    status = status ? status : time_case(b, &c, ms);
    cla_product_set_provider(b->rt, CLA_PROVIDER_AUTO);
    cla_tensor_free(&s.a);
    cla_tensor_free(&s.b);
    cla_tensor_free(&s.y);
    return status;
}

cla_status bench_cross_matmul(bench *b)
{
    static const int sides[] = { 64, 128, 256, 512, 1024, 2048 };
    const race r = { { "group", "clblast" }, sides, 6, time_square };
    int from = 0;
    if (!cla_clblast_built() || cla_runtime_schedule(b->rt) == CLA_SCHEDULE_TILE) {
        return CLA_OK;
    }
    printf("matmul CLBLAST_FROM on squares\n");
    CLA_TRY(run_race(b, &r, &from));
    printf("    %8d is kept\n", from);
    return cla_tuning_set(b->rt, "matmul", "CLBLAST_FROM", from);
}
