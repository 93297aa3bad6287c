/* compare_run.c - runs two programs in turns and compares them case by case.
 *
 * The speed of a machine drifts by more than most changes gain. Therefore each round
 * runs both programs in succession, A first in one round and B in the next. The result
 * is the median of the rounds' ratios with its confidence interval. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "base/text.h"
#include "bench/compare.h"
#include "bench/compare_print.h"

enum { ROUNDS = BENCH_MOST_ROUNDS };

typedef struct rounds {
    const bench_compare_options *options;
    bench_results a[ROUNDS], b[ROUNDS];
    double log_sum[ROUNDS]; // of the ratios of a round's cases
    bench_compare_totals sum;
} rounds;

/* ---- one run of a program ---------------------------------------------------- */

static cla_status read_all(int from, cla_text *text)
{
    char buffer[4096];
    for (;;) {
        const int64_t got = cla_os_read(from, buffer, sizeof buffer);
        if (got == 0) {
            return CLA_OK;
        }
        if (got < 0 && errno != EINTR) {
            return cla_fail(CLA_E_IO, "compare: %s", strerror(errno));
        }
        CLA_TRY(got > 0 ? cla_text_append(text, buffer, (size_t)got) : CLA_OK);
    }
}

static cla_status start(const bench_compare_options *o, const char *program, int output,
                        int64_t *child)
{
    const char *argv[16] = { program, "bench", "--json", "-" };
    const struct {
        const char *name, *value;
    } given[] = { { "--suite", o->suite },
                  { "--filter", o->filter },
                  { "--device", o->device } };
    int count = 4;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i].value) {
            argv[count++] = given[i].name;
            argv[count++] = given[i].value;
        }
    }
    if (o->quick) {
        argv[count] = "--quick";
    }
    const int code = cla_os_spawn(child, argv, NULL, output);
    return code ? cla_fail(CLA_E_IO, "compare: cannot run '%s': %s", program,
                           strerror(code))
                : CLA_OK;
}

static cla_status check_end(const char *program, cla_os_end end)
{
    if (end.exited && end.code == 0) {
        return CLA_OK;
    }
    return end.exited
               ? cla_fail(CLA_E_INPUT, "compare: '%s bench' ended with status %d",
                          program, end.code)
               : cla_fail(CLA_E_INPUT, "compare: '%s bench' was ended by signal %d",
                          program, end.code);
}

static cla_status run_once(const bench_compare_options *o, const char *program,
                           bench_results *out)
{
    int ends[2];
    int64_t child = 0;
    cla_text text = { 0 };
    if (!cla_os_pipe(ends)) {
        return cla_fail(CLA_E_IO, "compare: no pipe");
    }
    cla_status status = start(o, program, ends[1], &child);
    cla_os_close(ends[1]);
    if (!status) {
        status = read_all(ends[0], &text);
        const cla_os_end end = cla_os_await(child);
        status = status ? status : check_end(program, end);
    }
    cla_os_close(ends[0]);
    if (!status) {
        status = text.data ? bench_results_parse(out, program, text.data)
                           : cla_fail(CLA_E_INPUT, "compare: '%s bench' gave no rows",
                                      program);
    }
    cla_text_free(&text);
    return status;
}

static cla_status run_round(rounds *r, int i)
{
    const bench_compare_options *o = r->options;
    for (int turn = 0; turn < 2; turn++) {
        const bool second = (turn + i) % 2;
        fprintf(stderr, "round %d of %d: %s\n", i + 1, o->rounds, second ? "B" : "A");
        CLA_TRY(run_once(o, second ? o->b : o->a, second ? &r->b[i] : &r->a[i]));
    }
    return CLA_OK;
}

/* ---- results ----------------------------------------------------------------- */

static const bench_result *find(const bench_results *t, const bench_result *like)
{
    for (size_t i = 0; i < t->count; i++) {
        const bench_result *row = &t->rows[i];
        if (strcmp(row->name, like->name) == 0 &&
            strcmp(row->provider, like->provider) == 0 &&
            bench_same_device(row, like)) {
            return row;
        }
    }
    return NULL;
}

/* Gets both programs' times of a case in all rounds; false when one is missing. */
static bool collect(const rounds *r, const bench_result *like, double *a, double *b)
{
    for (int i = 0; i < r->options->rounds; i++) {
        const bench_result *of_a = find(&r->a[i], like), *of_b = find(&r->b[i], like);
        if (!of_a || !of_b) {
            return false;
        }
        a[i] = of_a->ms.median;
        b[i] = of_b->ms.median;
    }
    return true;
}

static cla_status compare_case(rounds *r, const bench_result *like)
{
    const int n = r->options->rounds;
    double a[ROUNDS], b[ROUNDS], ratio[ROUNDS];
    if (!collect(r, like, a, b)) {
        r->sum.only_a++;
        return CLA_OK;
    }
    for (int i = 0; i < n; i++) {
        ratio[i] = a[i] / b[i];
        r->log_sum[i] += log(ratio[i]);
    }
    bench_compared c = {
        .a = like,
        .b = like,
        .a_ms = bench_stats_of(a, n).median,
        .b_ms = bench_stats_of(b, n).median,
        .rounds = n,
    };
    c.ratio = bench_interval_of(ratio, n);
    c.verdict = bench_verdict_of(&c.ratio, BENCH_MARGIN);
    return bench_compare_print(r->options, &c, &r->sum);
}

static cla_status compare_all(rounds *r)
{
    const int n = r->options->rounds;
    double mean[ROUNDS];
    const bench_result *first = r->a[0].rows;
    CLA_TRY(bench_compare_heading(r->options, &r->a[0], &r->b[0]));
    for (size_t i = 1; i < r->a[0].count; i++) {
        r->sum.several |= !bench_same_device(first, &r->a[0].rows[i]);
    }
    for (size_t i = 0; i < r->a[0].count; i++) {
        CLA_TRY(compare_case(r, &r->a[0].rows[i]));
    }
    for (size_t i = 0; i < r->b[0].count; i++) {
        r->sum.only_b += !find(&r->a[0], &r->b[0].rows[i]);
    }
    if (!r->sum.pairs) {
        return cla_fail(CLA_E_INPUT, "compare: %s and %s have no case in common",
                        r->options->a, r->options->b);
    }
    for (int i = 0; i < n; i++) {
        mean[i] = exp(r->log_sum[i] / r->sum.pairs);
    }
    const bench_interval all = bench_interval_of(mean, n);
    return bench_compare_end(r->options, &r->sum, &all);
}

static cla_status run_rounds(rounds *r)
{
    for (int i = 0; i < r->options->rounds; i++) {
        CLA_TRY(run_round(r, i));
    }
    return compare_all(r);
}

cla_status bench_compare_run(const bench_compare_options *options, int *slower)
{
    rounds *r = NULL;
    CLA_TRY(cla_alloc(&r, 1, sizeof *r));
    cla_os_setenv("CLATTN_LOG", "error"); // otherwise each round repeats the warnings
    r->options = options;
    const cla_status status = run_rounds(r);
    *slower = r->sum.slower;
    for (int i = 0; i < ROUNDS; i++) {
        bench_results_fini(&r->a[i]);
        bench_results_fini(&r->b[i]);
    }
    free(r);
    return status;
}
