/* report.c - prints the results of a run. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/command.h"
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
    bench_progress_clear(&b->progress);
    if (b->suite && strcmp(b->suite, suite) == 0) {
        return;
    }
    b->suite = suite;
    bench_print_heading(b->columns, suite);
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

/* Computes statistics of the samples, which keep their order of measurement. */
static cla_status take_stats(bench_stats *ms, const bench_samples *s)
{
    double *sorted = NULL;
    CLA_TRY(cla_alloc(&sorted, (size_t)s->count, sizeof *sorted));
    memcpy(sorted, s->ms, (size_t)s->count * sizeof *sorted);
    *ms = bench_stats_of(sorted, s->count);
    free(sorted);
    return CLA_OK;
}

/* Adds what the lines below the table tell about the row b->last. */
static void count_row(bench *b, const bench_case *c)
{
    const bench_load load = bench_load_now(cla_runtime_device(b->rt), true);
    const bool arithmetic = b->last.gflops > b->peaks.gflops;
    if (bench_load_is_high(&load) && load.load > b->sums.load.load) {
        b->sums.load = load;
    }
    if (b->last.share > 100 && bench_on_device(b, c)) {
        b->sums.above_flops += arithmetic;
        b->sums.above_bytes += !arithmetic;
    }
}

/* Sets b->last to the figures of a case. */
static void take_figures(bench *b, const bench_case *c, const bench_stats *ms)
{
    const double scale = 1e-6 / ms->median;
    b->last = (bench_figures){
        .name = c->name,
        .provider = c->provider,
        .ms = *ms,
        .gflops = c->flops * scale,
        .gbs = c->bytes * scale,
        .share = bench_on_device(b, c)
                     ? bench_peaks_share(&b->peaks, c->flops, c->bytes, ms->median)
                     : 0,
        .verified = b->verified,
    };
    count_row(b, c);
}

cla_status bench_record(bench *b, const bench_case *c, const bench_samples *samples)
{
    bench_stats ms = { 0 };
    CLA_TRY(take_stats(&ms, samples));
    take_figures(b, c, &ms);
    b->shown++;
    if (has_table(b)) {
        heading(b, c->suite);
        bench_print_row(b->columns, &b->last);
    }
    if (c->parameters) {
        bench_note(b, "%lld parameters", (long long)c->parameters);
    }
    if (c->words > 0) {
        bench_note(b, "%.0f words/s, %.1f MB on the device", 1e3 * c->words / ms.median,
                   1e-6 * (double)cla_runtime_peak_bytes(b->rt));
    }
    CLA_TRY(remember(b, c, &ms));
    return b->silent ? CLA_OK : bench_rows_add(b, c, samples);
}

/* Prints the command that repeats the case on the device at hand. */
static void print_again(const bench *b, const bench_case *c, FILE *to)
{
    const bench_options *o = b->options;
    const bool named = o->device && strcmp(o->device, "all") != 0;
    char index[16];
    cla_text line = { 0 };
    snprintf(index, sizeof index, "%d", cla_runtime_device(b->rt)->index);
    const bench_repeat one = {
        .name = c->name,
        .device = named ? o->device : index,
        .schedule = bench_takes_both(b) && own(c->provider) ? c->provider : NULL,
    };
    if (!bench_command_repeat(&line, o, &one)) {
        fprintf(to, "  again: %s\n", line.data);
    }
    cla_text_free(&line);
}

void bench_report_failure(bench *b, const bench_case *c, double nmse)
{
    b->failed++;
    b->sums.wrong++;
    if (b->silent) {
        return;
    }
    bench_progress_clear(&b->progress);
    if (has_table(b)) {
        heading(b, c->suite);
    }
    FILE *to = has_table(b) ? stdout : stderr;
    fprintf(to, "%-*s %-8s WRONG: nmse %.1e, at most %.0e; no speed for it\n",
            b->columns < 98 ? 0 : 50, c->name, c->provider, nmse, bench_nmse(b->rt));
    print_again(b, c, to);
    fflush(to);
}

void bench_note(bench *b, const char *format, ...)
{
    if (!has_table(b)) {
        return;
    }
    va_list args;
    va_start(args, format);
    bench_progress_clear(&b->progress);
    printf("  ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    fflush(stdout);
}

void bench_report_device(const bench *b)
{
    if (!has_table(b)) {
        return;
    }
    const cla_device *d = cla_runtime_device(b->rt);
    char what[64];
    snprintf(what, sizeof what, "clattn %s on device %d:", cla_version(), d->index);
    const bool fits = strlen(what) + 1 + strlen(d->name) <= (size_t)b->columns;
    const cla_precision precision = cla_runtime_precision(b->rt); // 0: highest
    printf("%s%s%s\n  %s, driver %s, %d units, %d lanes%s%s\n", what,
           fits ? " " : "\n  ", d->name, d->platform_name, d->driver, d->compute_units,
           d->vector_width, precision ? ", precision " : "",
           precision ? cla_precision_word(precision) : "");
    fflush(stdout);
}

void bench_report_peaks(bench *b)
{
    if (has_table(b)) {
        bench_progress_clear(&b->progress);
        printf("measured peaks: %.1f GB/s copied, %.1f GFLOP/s\n", b->peaks.gbs,
               b->peaks.gflops);
        fflush(stdout);
    }
}

/* Shares above 100 % look like errors: a reader must know where they come from. Lines
 * fit into 80 columns. */
static void explain_shares(bench *b)
{
    if (b->sums.above_bytes) {
        bench_note(
            b, "peak above 100 %%: the data of these cases stay in a cache, which is");
        bench_note(b, "faster than the memory that the peak was measured on");
    }
    if (b->sums.above_flops) {
        bench_note(
            b, "GFLOP/s above 100 %% of the peak: the kernel computes less than the");
        bench_note(b, "formula, or other work ran while the peak was measured");
    }
}

void bench_report_end(bench *b)
{
    const bench_sums *s = &b->sums;
    if (!has_table(b) || !s->cases) {
        return;
    }
    printf("\n");
    explain_shares(b);
    if (s->load.load > 0) {
        char text[96];
        bench_load_text(&s->load, text, sizeof text);
        bench_note(b, "warning: %s", text);
    }
    cla_text line = { 0 };
    const double seconds = (double)(cla_time_ns() - s->begun_ns) * 1e-9;
    cla_status status = cla_text_add(&line, "%d case%s in %.0f s", s->cases,
                                     s->cases == 1 ? "" : "s", seconds);
    if (!status && s->check_s >= 1) {
        status = cla_text_add(&line, ", %.0f s of it for checks", s->check_s);
    }
    if (!status && s->first_s >= 1) {
        status = cla_text_add(&line,
                              ", %.0f s of it for kernels that were not in a cache yet",
                              s->first_s);
    }
    if (!status && s->wrong) {
        status = cla_text_add(&line, "; %d WRONG", s->wrong);
    }
    if (!status) {
        bench_note(b, "%s", line.data);
    }
    cla_text_free(&line);
}

void bench_report_devices(bench *b)
{
    if (has_table(b)) {
        bench_beside_print(&b->beside, b->columns);
    }
}
