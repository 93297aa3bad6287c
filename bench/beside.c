/* beside.c - the devices of a run beside each other, in one table. */
#include "bench/beside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/internal.h"

enum { NAME = 50, MS = 10, RATIO = 8 }; // widths; a blank precedes those of numbers

/* ---- collecting ---------------------------------------------------------------- */

static cla_status row_of(bench_beside *t, const char *name, bench_beside_row **row)
{
    for (size_t i = 0; i < t->rows; i++) {
        if (strcmp(t->row[i].name, name) == 0) {
            *row = &t->row[i];
            return CLA_OK;
        }
    }
    CLA_TRY(cla_grow(&t->row, &t->row_cap, t->rows + 1, sizeof *t->row));
    *row = &t->row[t->rows++];
    **row = (bench_beside_row){ .ms = NULL };
    snprintf((*row)->name, sizeof(*row)->name, "%s", name);
    return CLA_OK;
}

/* Gives each row a column more. */
static cla_status widen(bench_beside *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        double *wider = realloc(t->row[i].ms, (t->devices + 1) * sizeof *wider);
        if (!wider) {
            return cla_fail(CLA_E_NOMEM, "bench: out of memory");
        }
        t->row[i].ms = wider;
        wider[t->devices] = 0;
    }
    return CLA_OK;
}

/* Gives a row of a later device the columns of the devices before it. */
static cla_status fill_row(const bench_beside *t, bench_beside_row *row)
{
    return row->ms ? CLA_OK : cla_alloc(&row->ms, t->devices + 1, sizeof *row->ms);
}

cla_status bench_beside_add(bench_beside *t, const struct bench *b)
{
    const cla_device *d = cla_runtime_device(b->rt);
    CLA_TRY(cla_grow(&t->device, &t->device_cap, t->devices + 1, sizeof *t->device));
    CLA_TRY(widen(t));
    bench_device *device = &t->device[t->devices];
    device->index = d->index;
    snprintf(device->name, sizeof device->name, "%s", d->name);
    for (size_t i = 0; i < b->row_count; i++) {
        bench_beside_row *row = NULL;
        const double ms = bench_median(b, b->rows[i].name);
        if (ms > 0) {
            CLA_TRY(row_of(t, b->rows[i].name, &row));
            CLA_TRY(fill_row(t, row));
            row->ms[t->devices] = ms;
        }
    }
    t->devices++;
    return CLA_OK;
}

void bench_beside_fini(bench_beside *t)
{
    for (size_t i = 0; i < t->rows; i++) {
        free(t->row[i].ms);
    }
    free(t->row);
    free(t->device);
    *t = (bench_beside){ 0 };
}

/* ---- printing ------------------------------------------------------------------ */

static bool is_shared(const bench_beside *t, const bench_beside_row *row)
{
    size_t count = 0;
    for (size_t k = 0; k < t->devices; k++) {
        count += row->ms[k] > 0;
    }
    return count > 1;
}

static void print_name(const char *name, bool narrow)
{
    if (narrow) {
        printf("%s\n ", name);
    } else {
        bench_print_name(name, NAME);
    }
}

static void print_heading(const bench_beside *t, bool narrow)
{
    printf(
        "\nthe devices beside each other, in milliseconds; ratio: the speed relative "
        "to\ndevice %d\n",
        t->device[0].index);
    for (size_t k = 0; k < t->devices; k++) {
        printf("  device %d: %s\n", t->device[k].index, t->device[k].name);
    }
    print_name("case", narrow);
    for (size_t k = 0; k < t->devices; k++) {
        char title[24];
        snprintf(title, sizeof title, "device %d", t->device[k].index);
        printf(" %*s", MS, title);
        if (k) {
            printf(" %*s", RATIO, "ratio");
        }
    }
    printf("\n");
}

static void print_row(const bench_beside *t, const bench_beside_row *row, bool narrow)
{
    print_name(row->name, narrow);
    for (size_t k = 0; k < t->devices; k++) {
        const double ms = row->ms[k];
        if (ms > 0) {
            printf(" %*.3f", MS, ms);
        } else {
            printf(" %*s", MS, "-");
        }
        if (k && ms > 0 && row->ms[0] > 0) {
            printf(" %*.3gx", RATIO - 1, row->ms[0] / ms);
        } else if (k) {
            printf(" %*s", RATIO, "-");
        }
    }
    printf("\n");
}

/* Returns the geometric mean of the ratios of a device; 0 when it has none. */
static double mean_ratio(const bench_beside *t, size_t device)
{
    double sum = 0;
    int count = 0;
    for (size_t i = 0; i < t->rows; i++) {
        const double *ms = t->row[i].ms;
        if (ms[0] > 0 && ms[device] > 0) {
            sum += log(ms[0] / ms[device]);
            count++;
        }
    }
    return count ? exp(sum / count) : 0;
}

void bench_beside_print(const bench_beside *t, int columns)
{
    if (t->devices < 2) {
        return;
    }
    const size_t width = NAME + t->devices * (MS + 1) + (t->devices - 1) * (RATIO + 1);
    const bool narrow = (size_t)columns < width;
    print_heading(t, narrow);
    for (size_t i = 0; i < t->rows; i++) {
        if (is_shared(t, &t->row[i])) {
            print_row(t, &t->row[i], narrow);
        }
    }
    print_name("geometric mean", narrow);
    printf(" %*s", MS, "");
    for (size_t k = 1; k < t->devices; k++) {
        printf(" %*s %*.3gx", MS, "", RATIO - 1, mean_ratio(t, k));
    }
    printf("\n");
    fflush(stdout);
}
