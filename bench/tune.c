/* tune.c - tunes one knob after the other, each on a benchmark case that it affects. */
#include "bench/tune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover.h"
#include "bench/internal.h"
#include "runtime/runtime.h"

/* A candidate must take less than this share of the time: smaller gains are noise. */
static const double GAIN = 0.97;

enum { VALUES = 8 };

/* A constant of cla_tuned(), its candidates, and the case that it affects. */
typedef struct knob {
    const char *name, *key; // kernel file and define
    cla_schedule schedule;  // the schedule that reads it
    const char *suite, *test;
    int values[VALUES]; // ends at 0
} knob;

#define SOFTMAX   "softmax", "masked_softmax fwd B8 H8 T256 S256"
#define GEMM      "gemm", "matmul fwd M1024 N1024 K1024"
#define ATTENTION "attention", "attention fwd+bwd B64 H8 T64 d64"
#define BAND      "band", "band_attention fwd+bwd B8 H8 T512 d64 w11"

// clang-format off
static const knob knobs[] = {
    { "matmul_tile", "MR", CLA_SCHEDULE_TILE, GEMM, { 6, 8, 12, 14 } },
    { "matmul_tile", "DEPTH", CLA_SCHEDULE_TILE, GEMM, { 128, 192, 256, 384, 512 } },
    { "matmul_tile", "ROWS", CLA_SCHEDULE_TILE, GEMM, { 48, 96, 128, 192, 256 } },
    { "matmul_tile", "COLUMNS", CLA_SCHEDULE_TILE, GEMM, { 128, 256, 512, 1024 } },
    { "masked_softmax_tile", "ROWS", CLA_SCHEDULE_TILE, SOFTMAX, { 4, 8, 16, 32 } },
    { "attention_tile", "ROWS", CLA_SCHEDULE_TILE, ATTENTION, { 1, 2, 4 } },
    { "attention_backward_tile", "ROWS", CLA_SCHEDULE_TILE, ATTENTION, { 1, 2, 4 } },
    { "band_attention_tile", "QUERIES", CLA_SCHEDULE_TILE, BAND, { 16, 32 } },
    { "band_attention_tile", "KEYS", CLA_SCHEDULE_TILE, BAND, { 48, 64, 96, 128 } },
    { "matmul_group", "SIDE", CLA_SCHEDULE_GROUP, GEMM, { 32, 64, 128 } },
    { "matmul_group", "UNROLL", CLA_SCHEDULE_GROUP, GEMM, { 1, 2, 4, 16 } },
    { "attention", "QUADS", CLA_SCHEDULE_GROUP, ATTENTION, { 1, 2 } },
    { "attention", "ROWS", CLA_SCHEDULE_GROUP, ATTENTION, { 32, 64, 128 } },
    { "attention", "UNROLL", CLA_SCHEDULE_GROUP, ATTENTION, { 1, 2, 4, 16 } },
    { "masked_softmax", "WG", CLA_SCHEDULE_GROUP, SOFTMAX, { 32, 64, 128, 256 } },
    { "band_attention", "ROWS", CLA_SCHEDULE_GROUP, BAND, { 32, 64 } },
    { "band_attention", "UNROLL", CLA_SCHEDULE_GROUP, BAND, { 1, 2, 4, 16 } },
};
// clang-format on

enum { KNOBS = sizeof knobs / sizeof *knobs };

/* Returns the milliseconds of the knob's case with the current constants; INFINITY when
 * its result is wrong or the device cannot run it, so that the candidate loses. */
static double try_now(bench *b, const knob *k)
{
    const int failed = b->failed;
    b->only = k->test;
    b->row_count = 0;
    if (bench_suites_each(b, k->suite)) {
        printf("    %s\n", cla_error());
        return INFINITY;
    }
    return b->failed == failed && b->row_count ? b->rows[0].ms.median : INFINITY;
}

static bool time_is_up(const bench *b)
{
    return cla_time_ns() > b->deadline_ns;
}

/* Prints a value; 0 is the built-in constant, which may differ between shapes. */
static void print_value(int value)
{
    if (value) {
        printf("    %8d", value);
    } else {
        printf("    built-in");
    }
}

static cla_status set_value(bench *b, const knob *k, int value)
{
    if (value) {
        return cla_tuning_set(b->rt, k->name, k->key, value);
    }
    cla_tuning_clear(b->rt, k->name, k->key);
    return CLA_OK;
}

static cla_status try_value(bench *b, const knob *k, int value, double *ms)
{
    CLA_TRY(set_value(b, k, value));
    *ms = try_now(b, k);
    print_value(value);
    printf(isinf(*ms) ? "      wrong\n" : " %10.3f ms\n", *ms);
    fflush(stdout);
    return CLA_OK;
}

static cla_status turn(bench *b, const knob *k)
{
    const int before = cla_tuned(b->rt, k->name, k->key, 0);
    int best = before;
    double before_ms = 0, ms = 0;
    printf("%s %s on %s\n", k->name, k->key, k->test);
    CLA_TRY(try_value(b, k, before, &before_ms));
    double best_ms = GAIN * before_ms;
    for (int i = 0; i < VALUES && k->values[i] && !time_is_up(b); i++) {
        if (k->values[i] == before) {
            continue;
        }
        CLA_TRY(try_value(b, k, k->values[i], &ms));
        if (ms < best_ms) {
            best = k->values[i];
            best_ms = ms;
        }
    }
    print_value(best);
    printf(" is kept\n");
    return set_value(b, k, best);
}

static cla_status turn_all(bench *b)
{
    const cla_schedule own = cla_runtime_schedule(b->rt);
    for (int i = 0; i < KNOBS; i++) {
        if (knobs[i].schedule != own) {
            continue;
        }
        if (time_is_up(b)) {
            printf("time is up before %s %s; --seconds gives more\n", knobs[i].name,
                   knobs[i].key);
            break;
        }
        CLA_TRY(turn(b, &knobs[i]));
    }
    return CLA_OK;
}

static cla_status tune(bench *b, const bench_tune_options *options)
{
    CLA_TRY(cla_runtime_new(&b->rt, options->device));
    CLA_TRY(cla_tuning_writable(b->rt));
    bench_report_device(b);
    b->silent = true;
    b->peaks.gbs = b->peaks.gflops = 1; // shares are not printed here
    const char *path = NULL;
    CLA_TRY(turn_all(b));
    CLA_TRY(bench_cross_matmul(b));
    CLA_TRY(cla_tuning_save(b->rt, &path));
    printf("written to %s\n", path);
    return CLA_OK;
}

cla_status bench_tune(const bench_tune_options *options)
{
    const bench_options how = { .verify = true };
    bench b = { .options = &how, .file = -1 };
    b.deadline_ns = cla_time_ns() + (int64_t)(options->seconds * 1e9);
    const cla_status status = tune(&b, options);
    cla_runtime_free(&b.rt);
    free(b.rows);
    return status;
}
