/* progress.c - shows on stderr the current case and the remaining time. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "bench/internal.h"

/* A terminal has one line, redrawn at most every 200 ms after the first second;
 * elsewhere a line is added at most every 30 s. */
static const int64_t DELAY_NS = 1000000000, LINE_NS = 30000000000, BAR_NS = 200000000;

void bench_progress_begin(bench_progress *p)
{
    const int total = p->total;
    *p = (bench_progress){ .total = total, .terminal = cla_os_is_terminal(CLA_STDERR) };
    p->begun_ns = p->line_ns = cla_time_ns();
}

void bench_progress_clear(bench_progress *p)
{
    if (p->drawn) {
        fprintf(stderr, "\r\033[K");
        p->drawn = false;
    }
}

static bool due(bench_progress *p)
{
    const int64_t now = cla_time_ns();
    const int64_t wait = p->terminal ? BAR_NS : LINE_NS;
    const bool early = p->terminal && now - p->begun_ns < DELAY_NS;
    if (early || now - p->line_ns < wait) {
        return false;
    }
    p->line_ns = now;
    return true;
}

static void show(bench_progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void show(bench_progress *p, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (p->terminal) {
        const int width = bench_columns(CLA_STDERR);
        fprintf(stderr, "\r\033[K%.*s", width - 1, line);
        p->drawn = true;
    } else {
        fprintf(stderr, "%s\n", line);
    }
}

void bench_progress_left(double spent_s, int done, int total, char *text, size_t size)
{
    const double left = done > 0 ? spent_s / done * (total - done) : 0;
    text[0] = '\0';
    if (done > 0 && left >= 100) {
        snprintf(text, size, ", about %.0f min left", left / 60);
    } else if (done > 0) {
        snprintf(text, size, ", about %.0f s left", left);
    }
}

void bench_progress_case(bench_progress *p, const char *name)
{
    char left[64];
    if (strcmp(p->name, name) == 0) {
        return; // the same case under another schedule
    }
    snprintf(p->name, sizeof p->name, "%s", name);
    p->number++;
    p->total = p->number > p->total ? p->number : p->total;
    if (!due(p)) {
        return;
    }
    const double spent = (double)(cla_time_ns() - p->begun_ns) * 1e-9;
    bench_progress_left(spent, p->number - 1, p->total, left, sizeof left);
    show(p, "case %d of %d%s: %s", p->number, p->total, left, name);
}

void bench_progress_saving(void *context, int number, int total)
{
    bench_progress *p = context;
    if (due(p)) {
        show(p, "saving %d of %d kernels", number, total);
    }
    if (number == total) {
        bench_progress_clear(p);
    }
}
