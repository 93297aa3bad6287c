/* compare_print.c - prints comparisons of cases as a table or as JSON. */
#include "bench/compare_print.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/platform.h"
#include "base/terminal.h"

enum { WIDE = 118, NAME = 50 };

static bool is_compact(void)
{
    return cla_terminal_columns(CLA_STDOUT, WIDE) < WIDE;
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

static cla_status warn_of_repeats(const bench_results *t)
{
    cla_text text = { 0 };
    const cla_status status = bench_repeated_text(t, &text);
    if (text.size) {
        cla_log(CLA_LOG_WARN, "%s", text.data);
    }
    cla_text_free(&text);
    return status;
}

cla_status bench_compare_heading(const bench_compare_options *o, const bench_results *a,
                                 const bench_results *b)
{
    CLA_TRY(warn_of_repeats(a));
    CLA_TRY(warn_of_repeats(b));
    if (o->json) {
        return CLA_OK;
    }
    cla_text of_a = { 0 }, of_b = { 0 };
    cla_status status = bench_devices_label(a, &of_a);
    status = status ? status : bench_devices_label(b, &of_b);
    if (!status) {
        printf("A  %s: %s\nB  %s: %s\n\n", o->a, of_a.data, o->b, of_b.data);
        print_name("case");
        printf("%-8s %10s  %-8s %10s %8s  %s\n", "A", "ms", "B", "ms", "A/B",
               o->run ? "95 % interval  verdict" : "verdict");
    }
    cla_text_free(&of_a);
    cla_text_free(&of_b);
    return status;
}

static cla_status print_object(json_t *o)
{
    char *line = o ? cla_json_write(o, JSON_COMPACT, 7) : NULL;
    json_decref(o);
    if (!line) {
        return cla_fail(CLA_E_NOMEM, "compare: out of memory");
    }
    puts(line);
    free(line);
    return CLA_OK;
}

/* Adds the index and the uuid of a device where they are known. */
static void add_identity(json_t *o, const bench_result *row, char side)
{
    char key[16];
    if (row->index >= 0) {
        snprintf(key, sizeof key, "%c_index", side);
        json_object_set_new(o, key, json_integer(row->index));
    }
    if (row->uuid) {
        snprintf(key, sizeof key, "%c_uuid", side);
        json_object_set_new(o, key, json_string(row->uuid));
    }
}

static cla_status print_json(const bench_compared *c)
{
    json_t *o =
        json_pack("{ss ss ss ss ss sf sf sf ss}", "case", c->a->name, "a_device",
                  c->a->device, "a_provider", c->a->provider, "b_device", c->b->device,
                  "b_provider", c->b->provider, "a_ms", c->a_ms, "b_ms", c->b_ms,
                  "ratio", c->ratio.median, "verdict", bench_verdict_name(c->verdict));
    if (o && c->rounds) {
        json_object_set_new(o, "rounds", json_integer(c->rounds));
        json_object_set_new(o, "low", json_real(c->ratio.low));
        json_object_set_new(o, "high", json_real(c->ratio.high));
    }
    if (o) {
        add_identity(o, c->a, 'a');
        add_identity(o, c->b, 'b');
    }
    return print_object(o);
}

/* Prints a line with the devices of a pair when the pair before it had others. */
static cla_status name_device(const bench_compared *c, bench_compare_totals *sum)
{
    if (!sum->several || (sum->on && bench_same_device(sum->on, c->a))) {
        return CLA_OK;
    }
    cla_text a = { 0 }, b = { 0 };
    cla_status status = bench_device_label(c->a, &a);
    status = status ? status : bench_device_label(c->b, &b);
    if (!status) {
        const bool same = strcmp(a.data, b.data) == 0;
        printf("on %s%s%s:\n", a.data, same ? "" : " and ", same ? "" : b.data);
    }
    cla_text_free(&a);
    cla_text_free(&b);
    sum->on = c->a;
    return status;
}

static void print_row(const bench_compared *c)
{
    print_name(c->a->name);
    printf("%-8s %10.3f  %-8s %10.3f %7.2fx  ", c->a->provider, c->a_ms, c->b->provider,
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
    CLA_TRY(name_device(c, sum));
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
