/* compare_print.c - prints comparisons of cases as a table or as JSON. */
#include "bench/compare_print.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "base/locale.h"
#include "base/terminal.h"

enum { WIDE = 118, NAME = 50 };

static bool is_compact(void)
{
    return cla_terminal_columns(STDOUT_FILENO, WIDE) < WIDE;
}

/* Prints a name, in a narrow terminal on a line of its own. */
static void print_name(const char *name)
{
    if (is_compact()) {
        printf("%s\n  ", name);
    } else {
        printf("%-*s ", NAME, name);
    }
}

cla_status bench_compare_heading(const bench_compare_options *o, const char *a_device,
                                 const char *b_device)
{
    if (o->json) {
        return CLA_OK;
    }
    printf("A  %s: %s\nB  %s: %s\n\n", o->a, a_device, o->b, b_device);
    print_name("case");
    printf("%-8s %10s  %-8s %10s %8s  %s\n", "A", "ms", "B", "ms", "A/B",
           o->run ? "95 % interval  verdict" : "verdict");
    return CLA_OK;
}

static cla_status print_object(json_t *o)
{
    const locale_t before = cla_locale_enter();
    char *line = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
    cla_locale_leave(before);
    json_decref(o);
    if (!line) {
        return cla_fail(CLA_E_NOMEM, "compare: out of memory");
    }
    puts(line);
    free(line);
    return CLA_OK;
}

static cla_status print_json(const bench_compared *c)
{
    json_t *o =
        json_pack("{ss ss ss ss ss sf sf sf ss}", "case", c->name, "a_device",
                  c->a_device, "a_provider", c->a_provider, "b_device", c->b_device,
                  "b_provider", c->b_provider, "a_ms", c->a_ms, "b_ms", c->b_ms,
                  "ratio", c->ratio.median, "verdict", bench_verdict_name(c->verdict));
    if (o && c->rounds) {
        json_object_set_new(o, "rounds", json_integer(c->rounds));
        json_object_set_new(o, "low", json_real(c->ratio.low));
        json_object_set_new(o, "high", json_real(c->ratio.high));
    }
    return print_object(o);
}

static void print_row(const bench_compared *c)
{
    print_name(c->name);
    printf("%-8s %10.3f  %-8s %10.3f %7.2fx  ", c->a_provider, c->a_ms, c->b_provider,
           c->b_ms, c->ratio.median);
    if (c->rounds) {
        printf("%5.2f to %5.2f ", c->ratio.low, c->ratio.high);
    }
    printf("%s%s\n", c->rounds ? " " : "", bench_verdict_name(c->verdict));
    fflush(stdout);
}

cla_status bench_compare_print(const bench_compare_options *o, const bench_compared *c,
                               bench_compare_totals *sum)
{
    sum->pairs++;
    sum->verdict[c->verdict]++;
    sum->slower += c->rounds ? c->ratio.high < 1 / (1 + o->fail_if_slower) : c->failed;
    if (o->json) {
        return print_json(c);
    }
    print_row(c);
    return CLA_OK;
}

cla_status bench_compare_end(const bench_compare_options *o,
                             const bench_compare_totals *sum,
                             const bench_interval *mean)
{
    if (o->json) {
        return CLA_OK;
    }
    printf("\ngeometric mean of %d cases: B is %.3f times as fast as A", sum->pairs,
           mean->median);
    if (o->run) {
        printf(" (%.3f to %.3f)", mean->low, mean->high);
    }
    printf("\n%d faster, %d slower, %d same, %d unsure", sum->verdict[BENCH_FASTER],
           sum->verdict[BENCH_SLOWER], sum->verdict[BENCH_SAME],
           sum->verdict[BENCH_UNSURE]);
    if (sum->only_a || sum->only_b) {
        printf("; %d only in A, %d only in B", sum->only_a, sum->only_b);
    }
    printf("\n");
    return CLA_OK;
}
