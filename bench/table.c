/* table.c - prints rows as a table that fits the terminal. */
#include <stdio.h>
#include <string.h>

#include "base/terminal.h"
#include "bench/internal.h"

/* Widths of the columns; a blank precedes those of numbers. */
typedef struct layout {
    const char *ms_title, *spread_title;
    int name, ms, spread, gflops, gbs, peak, checked;
} layout;

static const layout wide = { "median ms", "spread", 50, 10, 7, 9, 8, 6, 8 };
static const layout compact = { "ms", "IQR", 30, 9, 5, 7, 6, 5, 3 }; // 80 columns

enum { WIDE_COLUMNS = 113 };

int bench_columns(int fd)
{
    return cla_terminal_columns(fd, WIDE_COLUMNS);
}

static const layout *choose(int columns)
{
    return columns < WIDE_COLUMNS ? &compact : &wide;
}

void bench_print_name(const char *name, int width)
{
    const bool fits = strlen(name) <= (size_t)width;
    printf("%s%s%*s", name, fits ? "" : "\n", fits ? width - (int)strlen(name) : width,
           "");
}

void bench_print_heading(int columns, const char *suite)
{
    const layout *l = choose(columns);
    printf("\n%-*s %-8s %*s %*s %*s %*s %*s %*s\n", l->name, suite, "by", l->ms,
           l->ms_title, l->spread, l->spread_title, l->gflops, "GFLOP/s", l->gbs,
           "GB/s", l->peak, "peak", l->checked, l->checked > 3 ? "verified" : "ok");
}

/* Prints a number in its column, or blanks when it is not above 0. */
static void number(double value, int width, int digits, const char *unit)
{
    if (value > 0) {
        printf(" %*.*f%s", width - (int)strlen(unit), digits, value, unit);
    } else {
        printf(" %*s", width, "");
    }
}

void bench_print_row(int columns, const bench_figures *row)
{
    const layout *l = choose(columns);
    const bench_stats *ms = &row->ms;
    bench_print_name(row->name, l->name);
    printf(" %-8s %*.3f %*.0f %%", row->provider, l->ms, ms->median, l->spread - 2,
           100 * (ms->p75 - ms->p25) / ms->median);
    number(row->gflops, l->gflops, 1, "");
    number(row->gbs, l->gbs, 1, "");
    number(row->share, l->peak, 0, " %");
    printf(" %*s\n", l->checked, row->verified ? "yes" : "no");
    fflush(stdout);
}
