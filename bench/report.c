/* report.c - a row for people, an object for programs. */
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/internal.h"

static bool own(const char *provider)
{
    return strcmp(provider, "tile") == 0 || strcmp(provider, "group") == 0;
}

double bench_median(const bench *b, const char *name)
{
    double best = 0;
    for (size_t i = 0; i < b->row_count; i++) {
        const bench_row *row = &b->rows[i];
        if (strcmp(row->name, name) == 0 && own(row->provider) &&
            (best == 0 || row->ms.median < best)) {
            best = row->ms.median;
        }
    }
    return best;
}

static bool has_table(const bench *b)
{
    return !b->silent && (!b->options->json || strcmp(b->options->json, "-") != 0);
}

static void heading(bench *b, const char *suite)
{
    if (b->suite && strcmp(b->suite, suite) == 0) {
        return;
    }
    b->suite = suite;
    printf("\n%-50s %-8s %10s %7s %9s %8s %6s\n", suite, "by", "median ms", "spread",
           "GFLOP/s", "GB/s", "peak");
}

/* A number in its column, or a blank where there is none to give. */
static void number(double value, int width, int digits, const char *unit)
{
    if (value > 0) {
        printf(" %*.*f%s", width - (int)strlen(unit), digits, value, unit);
    } else {
        printf(" %*s", width, "");
    }
}

static void print_row(bench *b, const bench_case *c, const bench_stats *ms,
                      double share)
{
    heading(b, c->suite);
    const double scale = 1e-6 / ms->median;
    printf("%-50s %-8s %10.3f %5.0f %%", c->name, c->provider, ms->median,
           100 * (ms->p75 - ms->p25) / ms->median);
    number(c->flops * scale, 9, 1, "");
    number(c->bytes * scale, 8, 1, "");
    number(share, 6, 0, " %");
    printf("\n");
    fflush(stdout);
}

/* OpenBLAS runs beside a GPU, not on it. */
static bool on_device(const bench *b, const bench_case *c)
{
    return !c->on_host || cla_runtime_device(b->rt)->kind == CLA_DEVICE_CPU;
}

/* The device's name for JSON, which takes UTF-8 only; drivers hand out anything. */
static json_t *device_name(const bench *b, const bench_case *c)
{
    const cla_device *device = cla_runtime_device(b->rt);
    char name[sizeof device->name];
    snprintf(name, sizeof name, "%s", on_device(b, c) ? device->name : "host");
    for (char *letter = name; *letter; letter++) {
        *letter = *letter & 0x80 ? '?' : *letter;
    }
    return json_string(name);
}

static cla_status add_json(bench *b, const bench_case *c, const bench_stats *ms,
                           int runs, double share)
{
    const double scale = 1e-6 / ms->median;
    json_t *o = json_pack("{ss ss so ss si sf sf sf sf sf sf}", "suite", c->suite,
                          "case", c->name, "device", device_name(b, c), "provider",
                          c->provider, "runs", runs, "median_ms", ms->median, "p25_ms",
                          ms->p25, "p75_ms", ms->p75, "gflops", c->flops * scale, "gbs",
                          c->bytes * scale, "peak_share", share);
    if (o && c->words > 0) {
        json_object_set_new(o, "words_per_s", json_real(1e3 * c->words / ms->median));
        json_object_set_new(o, "peak_bytes",
                            json_integer((json_int_t)cla_runtime_peak_bytes(b->rt)));
    }
    if (o && c->parameters) {
        json_object_set_new(o, "parameters", json_integer(c->parameters));
    }
    char *line = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
    json_decref(o);
    if (!line) {
        return cla_fail(CLA_E_NOMEM, "bench: out of memory");
    }
    cla_status status = cla_text_add(&b->json, "%s\n", line);
    if (!has_table(b) && !b->silent) {
        puts(line);
        fflush(stdout);
    }
    free(line);
    return status;
}

static cla_status remember(bench *b, const bench_case *c, const bench_stats *ms)
{
    CLA_TRY(cla_grow(&b->rows, &b->row_cap, b->row_count + 1, sizeof *b->rows));
    bench_row *row = &b->rows[b->row_count++];
    snprintf(row->name, sizeof row->name, "%s", c->name);
    snprintf(row->provider, sizeof row->provider, "%s", c->provider);
    row->ms = *ms;
    return CLA_OK;
}

cla_status bench_record(bench *b, const bench_case *c, bench_samples *samples)
{
    const bench_stats ms = bench_stats_of(samples->ms, samples->count);
    const double share =
        on_device(b, c) ? bench_peaks_share(&b->peaks, c->flops, c->bytes, ms.median)
                        : 0;
    b->shown++;
    if (has_table(b)) {
        print_row(b, c, &ms, share);
    }
    if (c->parameters) {
        bench_note(b, "%lld parameters", (long long)c->parameters);
    }
    if (c->words > 0) {
        bench_note(b, "%.0f words/s, %.1f MB on the device", 1e3 * c->words / ms.median,
                   1e-6 * (double)cla_runtime_peak_bytes(b->rt));
    }
    CLA_TRY(remember(b, c, &ms));
    return add_json(b, c, &ms, samples->runs, share);
}

void bench_report_failure(bench *b, const bench_case *c, double nmse)
{
    b->failed++;
    if (b->silent) {
        return;
    }
    if (has_table(b)) {
        heading(b, c->suite);
    }
    FILE *to = has_table(b) ? stdout : stderr;
    fprintf(to, "%-50s %-8s WRONG: nmse %.1e, at most %.0e; no speed for it\n", c->name,
            c->provider, nmse, BENCH_NMSE);
    fprintf(to, "  again: clattn bench --verify --filter '^");
    for (const char *letter = c->name; *letter; letter++) {
        fprintf(to, "%s%c", *letter == '+' ? "\\" : "", *letter); // a plain + repeats
    }
    fprintf(to, "$'\n");
}

void bench_note(const bench *b, const char *format, ...)
{
    if (!has_table(b)) {
        return;
    }
    va_list args;
    va_start(args, format);
    printf("  ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

void bench_report_device(const bench *b)
{
    if (!has_table(b)) {
        return;
    }
    const cla_device *d = cla_runtime_device(b->rt);
    printf("clattn %s on device %d: %s (%s, driver %s), %d units, %d lanes\n",
           cla_version(), d->index, d->name, d->platform_name, d->driver,
           d->compute_units, d->vector_width);
    fflush(stdout);
}

void bench_report_peaks(const bench *b)
{
    if (has_table(b)) {
        printf("measured peaks: %.1f GB/s copied, %.1f GFLOP/s\n", b->peaks.gbs,
               b->peaks.gflops);
        fflush(stdout);
    }
}
