/* cmd_plot.c - clattn plot: draws learning curves of several runs, or bars and
 * rooflines. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/lengths.h"
#include "cli/plot_bench.h"
#include "cli/plot_seeds.h"
#include "cli/svg.h"

enum { MAX_RUNS = CLI_PLOT_RUNS };

typedef struct arguments {
    const char *out;
    cli_words runs;
    const char *metric, *along;
    bool seeds, lengths, bench, roofline;
} arguments;

static const cli_option options[] = {
    { "out", 'o', "FILE", "an .svg file", CLI_TEXT, .at = offsetof(arguments, out),
      .needed = true, .output = CLI_OUT_FILE },
    { "metric", 'k', "KEY",
      "what to plot (what decides the best state of the first run, such as accuracy or "
      "perplexity; loss is another; with --bench: peak_share, or gflops, gbs, "
      "median_ms, words_per_s)",
      CLI_TEXT, .at = offsetof(arguments, metric) },
    { "along", 'a', "KEY",
      "the other axis of curves: step (default), epoch, or time, in minutes since the "
      "first line of the log",
      CLI_TEXT, .at = offsetof(arguments, along) },
    { "seeds", 's', NULL,
      "one curve for runs that differ in their seed alone: their mean, in a band of "
      "one "
      "standard deviation to each side",
      CLI_FLAG, .at = offsetof(arguments, seeds) },
    { "lengths", 'l', NULL,
      "bars by the length of sources, from files of `eval --lengths --json' instead of "
      "runs",
      CLI_FLAG, .at = offsetof(arguments, lengths) },
    { "bench", 'b', NULL, "bars of a result of `bench --json' instead of runs",
      CLI_FLAG, .at = offsetof(arguments, bench) },
    { "roofline", 'r', NULL, "a roofline of a result of `bench --json' instead of runs",
      CLI_FLAG, .at = offsetof(arguments, roofline) },
    { 0 },
};

static cla_status check(const void *arguments_)
{
    const arguments *a = arguments_;
    if (a->lengths + a->bench + a->roofline > 1) {
        return cla_fail(CLA_E_USAGE,
                        "plot: only one of --lengths, --bench and --roofline");
    }
    if (a->seeds && (a->lengths || a->bench || a->roofline)) {
        return cla_fail(CLA_E_USAGE, "plot: --seeds is for the curves of runs");
    }
    if ((a->bench || a->roofline) && a->runs.count != 1) {
        return cla_fail(CLA_E_USAGE, "plot: --bench and --roofline take one file");
    }
    return cli_svg_check_name("plot", a->out);
}

const cli_usage cli_plot_usage = {
    .options = options,
    .words = "DIR...",
    .words_at = offsetof(arguments, runs),
    .least = 1,
    .most = MAX_RUNS,
    .lacks = "folders of runs",
    .check = check,
    .about = "Draws the learning curves of training runs, from their log.jsonl, "
             "or results of `clattn bench' and of `clattn eval --lengths'.",
    .more =
        "  clattn plot runs/conv runs/conv2d runs/pe_add --out curve.svg\n"
        "  clattn plot --seeds runs/conv-1 runs/conv-2 runs/plain-1 --out band.svg\n"
        "  clattn plot --lengths soft.jsonl hard.jsonl --out lengths.svg\n"
        "  clattn plot --bench results.json --out bars.svg\n"
        "  clattn plot --roofline results.json --out roofline.svg",
};

static cla_status add_point(svg_curve *c, double x, double y)
{
    const size_t n = (size_t)c->count + 1;
    CLA_TRY(cla_grow(&c->x, &c->x_cap, n, sizeof *c->x));
    CLA_TRY(cla_grow(&c->y, &c->y_cap, n, sizeof *c->y));
    c->x[c->count] = x;
    c->y[c->count++] = y;
    return CLA_OK;
}

/* Finds the place of a line along the axis: a whole number, or of "time" the minutes
 * since *first, which the first time sets. */
static bool find_place(double *x, const json_t *place, int64_t *first)
{
    int64_t now = 0;
    *x = json_number_value(place);
    if (!json_is_string(place) || !cla_time_read(&now, json_string_value(place))) {
        return json_is_integer(place);
    }
    *first = *first ? *first : now;
    *x = (double)(now - *first) / 60;
    return true;
}

/* Reads the points of a run: values of metric by the key `along'. A last line without a
 * line end is left out. */
static cla_status read_points(svg_curve *c, const char *path, const char *along,
                              const char *metric, cla_scan *scan)
{
    int64_t first = 0;
    for (;;) {
        json_t *object = NULL;
        char *line = NULL;
        size_t size = 0;
        double x = 0;
        CLA_TRY(cla_scan_filled(scan, &line, &size));
        if (!line || !scan->ended) {
            break;
        }
        CLA_TRY(cla_json_text(&object, path, scan->number, line, size, 0));
        const json_t *value = json_object_get(object, metric);
        const bool placed = find_place(&x, json_object_get(object, along), &first);
        const cla_status status = placed && json_is_number(value)
                                      ? add_point(c, x, json_number_value(value))
                                      : CLA_OK;
        json_decref(object);
        CLA_TRY(status);
    }
    return c->count ? CLA_OK
                    : cla_fail(CLA_E_INPUT, "%s: no '%s' along '%s' to plot", path,
                               metric, along);
}

static cla_status read_run(svg_curve *c, const char *run, const char *along,
                           const char *metric)
{
    cla_text path = { 0 };
    cla_scan scan = { 0 };
    c->name = run;
    cla_status status = cla_text_add(&path, "%s/log.jsonl", run);
    status = status ? status : cla_scan_file(&scan, path.data, CLA_SOURCE_FILE);
    status = status ? status : read_points(c, path.data, along, metric, &scan);
    free(scan.data);
    cla_text_free(&path);
    return status;
}

/* Returns the first score of an evaluation's line, which decides the best state; NULL
 * for other lines. */
static const char *first_score(json_t *line)
{
    const char *key;
    json_t *value;
    if (json_object_get(line, "loss")) {
        return NULL;
    }
    json_object_foreach(line, key, value)
    {
        if (json_is_number(value) && strcmp(key, "step") != 0 &&
            strcmp(key, "epoch") != 0) {
            return key;
        }
    }
    return NULL;
}

/* Sets metric to the score that decides the best state in a log, or to "loss" without
 * evaluations. The last one counts: a score that is not finite is left out. */
static cla_status find_metric(cla_text *metric, const char *path, cla_scan *scan)
{
    CLA_TRY(cla_text_add(metric, "loss"));
    for (;;) {
        json_t *object = NULL;
        char *line = NULL;
        size_t size = 0;
        CLA_TRY(cla_scan_filled(scan, &line, &size));
        if (!line || !scan->ended) {
            return CLA_OK;
        }
        CLA_TRY(cla_json_text(&object, path, scan->number, line, size, 0));
        const char *score = first_score(object);
        metric->size = score ? 0 : metric->size;
        const cla_status status = score ? cla_text_add(metric, "%s", score) : CLA_OK;
        json_decref(object);
        CLA_TRY(status);
    }
}

/* The key that is drawn: --metric, or what the task of the first run is judged by. */
static cla_status choose_metric(const arguments *a, cla_text *metric)
{
    cla_text path = { 0 };
    cla_scan scan = { 0 };
    if (a->metric) {
        return cla_text_add(metric, "%s", a->metric);
    }
    cla_status status = cla_text_add(&path, "%s/log.jsonl", a->runs.word[0]);
    status = status ? status : cla_scan_file(&scan, path.data, CLA_SOURCE_FILE);
    status = status ? status : find_metric(metric, path.data, &scan);
    free(scan.data);
    cla_text_free(&path);
    return status;
}

static cla_status plot_runs(const arguments *a)
{
    svg_curve curves[MAX_RUNS] = { { .name = NULL } };
    const char *along = a->along ? a->along : "step";
    const char *axis = !a->along                    ? "steps"
                       : strcmp(along, "time") == 0 ? "minutes"
                                                    : along;
    cla_text picture = { 0 }, metric = { 0 }, names[MAX_RUNS] = { { .data = NULL } };
    int count = a->runs.count;
    cla_status status = choose_metric(a, &metric);
    for (int i = 0; i < a->runs.count && !status; i++) {
        status = read_run(&curves[i], a->runs.word[i], along, metric.data);
    }
    if (a->seeds && !status) {
        status =
            cli_plot_seeds(curves, &count, (const char *const *)a->runs.word, names);
    }
    status =
        status ? status : cli_svg_curves(&picture, curves, count, axis, metric.data);
    status = status ? status : cla_file_write(a->out, picture.data, picture.size);
    for (int i = 0; i < a->runs.count; i++) {
        free(curves[i].x);
        free(curves[i].y);
        free(curves[i].band);
        cla_text_free(&names[i]);
    }
    cla_text_free(&picture);
    cla_text_free(&metric);
    return status;
}

static cla_status plot(const arguments *a)
{
    if (a->bench) {
        return cli_plot_bench(a->runs.word[0], a->metric ? a->metric : "peak_share",
                              a->out);
    }
    if (a->roofline) {
        return cli_plot_roofline(a->runs.word[0], a->out);
    }
    return a->lengths ? cli_plot_lengths((const char *const *)a->runs.word,
                                         a->runs.count, a->out)
                      : plot_runs(a);
}

int cli_plot(int argc, char **argv)
{
    arguments a = { 0 };
    cla_status status = cli_read(&cli_plot_usage, argc, argv, &a);
    status = status ? status : plot(&a);
    return status ? cli_fail_data(status) : CLI_OK;
}
