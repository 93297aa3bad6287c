/* plot_bench.c - plots results of a benchmark as bars or as a roofline. */
#include "cli/plot_bench.h"

#include <string.h>

#include "base/file.h"
#include "bench/identity.h"
#include "cli/svg.h"

static double figure(const bench_result *row, const char *key)
{
    return json_number_value(json_object_get(row->object, key));
}

static cla_status two_devices(const bench_results *t, const bench_result *first,
                              const bench_result *second)
{
    const bool named = strcmp(first->device, second->device) != 0;
    cla_text a = { 0 }, b = { 0 };
    cla_status status =
        named ? cla_text_add(&a, "%s", first->device) : bench_device_label(first, &a);
    status = status  ? status
             : named ? cla_text_add(&b, "%s", second->device)
                     : bench_device_label(second, &b);
    status = status ? status
                    : cla_fail(CLA_E_INPUT, "%s: has rows of '%s' and of '%s'", t->path,
                               a.data, b.data);
    cla_text_free(&a);
    cla_text_free(&b);
    return status;
}

static const char *suite_of(const bench_result *row)
{
    const char *suite = json_string_value(json_object_get(row->object, "suite"));
    return suite ? suite : "";
}

/* Draws a picture of the rows; items has room for one item of each row. */
typedef cla_status drawing(const bench_results *t, const char *metric, void *items,
                           cla_text *title, cla_text *picture);

static cla_status plot(const char *path, const char *metric, const char *out,
                       drawing *draw, size_t item)
{
    bench_results t = { 0 };
    char *items = NULL;
    cla_text title = { 0 }, picture = { 0 };
    cla_status status = bench_results_read(&t, path);
    status = status ? status : cla_alloc(&items, t.count + 1, item);
    status = status ? status : draw(&t, metric, items, &title, &picture);
    status = status ? status : cla_file_write(out, picture.data, picture.size);
    free(items);
    cla_text_free(&title);
    cla_text_free(&picture);
    bench_results_fini(&t);
    return status;
}

/* ---- bars -------------------------------------------------------------------- */

static const char *title_of(const char *metric)
{
    static const char *const titles[][2] = {
        { "peak_share", "share of the measured peak in per cent" },
        { "median_ms", "median time in milliseconds" },
        { "gflops", "GFLOP/s" },
        { "gbs", "GB/s" },
        { "words_per_s", "words per second" },
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        if (strcmp(metric, titles[i][0]) == 0) {
            return titles[i][1];
        }
    }
    return metric;
}

static cla_status draw_bars(const bench_results *t, const char *metric, void *items,
                            cla_text *title, cla_text *picture)
{
    svg_bar *bars = items;
    const bench_result *first = NULL;
    int count = 0;
    for (size_t i = 0; i < t->count; i++) {
        const bench_result *row = &t->rows[i];
        const double value = figure(row, metric);
        if (value > 0) {
            first = first ? first : row;
            if (!bench_same_device(row, first)) {
                return two_devices(t, first, row);
            }
            bars[count++] = (svg_bar){ row->name, row->provider, value };
        }
    }
    if (!count) {
        return cla_fail(CLA_E_INPUT, "%s: no row has a '%s' to plot", t->path, metric);
    }
    CLA_TRY(cla_text_add(title, "%s: %s", title_of(metric), first->device));
    return cli_svg_bars(picture, bars, count, title->data);
}

cla_status cli_plot_bench(const char *path, const char *metric, const char *out)
{
    return plot(path, metric, out, draw_bars, sizeof(svg_bar));
}

/* ---- a roofline -------------------------------------------------------------- */

/* Collects the rows with GFLOP/s and GB/s, and the highest peaks of all rows. */
static cla_status collect(const bench_results *t, svg_roof_point *points,
                          svg_roofline *r)
{
    for (size_t i = 0; i < t->count; i++) {
        const bench_result *row = &t->rows[i];
        const double gflops = figure(row, "gflops"), gbs = figure(row, "gbs");
        const double compute = figure(row, "peak_gflops");
        const double memory = figure(row, "peak_gbs");
        if (!bench_same_device(row, &t->rows[0])) {
            return two_devices(t, &t->rows[0], row);
        }
        if (gflops > 0 && gbs > 0) {
            points[r->count++] =
                (svg_roof_point){ row->name, suite_of(row), gflops / gbs, gflops };
        }
        r->peak_gflops = compute > r->peak_gflops ? compute : r->peak_gflops;
        r->peak_gbs = memory > r->peak_gbs ? memory : r->peak_gbs;
    }
    if (!r->count || !(r->peak_gflops > 0) || !(r->peak_gbs > 0)) {
        return cla_fail(CLA_E_INPUT,
                        "%s: no row has GFLOP/s and GB/s, or none has measured peaks",
                        t->path);
    }
    return CLA_OK;
}

static cla_status draw_roofline(const bench_results *t, const char *metric, void *items,
                                cla_text *title, cla_text *picture)
{
    (void)metric;
    svg_roofline r = { .point = items };
    CLA_TRY(collect(t, items, &r));
    CLA_TRY(cla_text_add(title, "Roofline: %s", t->rows[0].device));
    return cli_svg_roofline(picture, &r, title->data);
}

cla_status cli_plot_roofline(const char *path, const char *out)
{
    return plot(path, NULL, out, draw_roofline, sizeof(svg_roof_point));
}
