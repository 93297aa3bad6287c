/* cmd_plot.c - clattn plot: learning curves of several runs in one picture. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/gnuplot.h"
#include "cli/lengths.h"

enum { MAX_RUNS = 32 };

typedef struct arguments {
    const char *out, *run[MAX_RUNS];
    int runs;
    const char *metric;
    bool lengths;
} arguments;

static const struct argp_option options[] = {
    { "out", 'o', "FILE", 0, "an .svg, .png or .pdf file", 0 },
    { "metric", 'k', "KEY", 0, "what to plot (default: accuracy; loss is another)", 0 },
    { "lengths", 'l', NULL, 0,
      "bars by the length of sources, from files of `eval --lengths --json' instead of "
      "runs; .svg",
      0 },
    { 0 },
};

// NOLINTNEXTLINE(readability-non-const-parameter): the type is argp's
static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case 'o':
        a->out = value;
        return 0;
    case 'k':
        a->metric = value;
        return 0;
    case 'l':
        a->lengths = true;
        return 0;
    case ARGP_KEY_ARG:
        if (a->runs == MAX_RUNS) {
            cla_fail(CLA_E_USAGE, "plot: more than %d runs", MAX_RUNS);
            return EINVAL;
        }
        a->run[a->runs++] = value;
        return 0;
    case ARGP_KEY_END:
        if (!a->runs || !a->out) {
            cla_fail(CLA_E_USAGE, "plot needs folders of runs and --out FILE "
                                  "(see clattn plot --help)");
            return EINVAL;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The steps and values of one run as a gnuplot data block. */
static cla_status add_points(cla_text *script, const char *path, const char *metric,
                             char *data, int *points)
{
    int number = 1;
    *points = 0;
    for (char *line = data, *end; (end = strchr(line, '\n'));
         line = end + 1, number++) {
        json_error_t error = { 0 };
        json_t *object = NULL;
        const cla_status parsed =
            cla_json_parse(&object, line, (size_t)(end - line), 0, &error);
        if (parsed == CLA_E_INPUT) {
            return cla_fail(parsed, "%s:%d: %s", path, number, error.text);
        }
        CLA_TRY(parsed);
        const json_t *step = json_object_get(object, "step");
        const json_t *value = json_object_get(object, metric);
        cla_status status = CLA_OK;
        if (json_is_integer(step) && json_is_number(value)) {
            status =
                cla_text_add(script, "%lld %.9g\n", (long long)json_integer_value(step),
                             json_number_value(value));
            (*points)++;
        }
        json_decref(object);
        CLA_TRY(status);
    }
    return CLA_OK;
}

static cla_status add_run(cla_text *script, const char *run, int number,
                          const char *metric)
{
    cla_text path = { 0 };
    char *data = NULL;
    size_t size = 0;
    int points = 0;
    cla_status status = cla_text_add(&path, "%s/log.jsonl", run);
    status = status ? status : cla_file_read(path.data, &data, &size);
    status = status ? status : cla_text_add(script, "$run%d << EOD\n", number);
    status = status ? status : add_points(script, path.data, metric, data, &points);
    if (!status && !points) {
        status = cla_fail(CLA_E_INPUT, "%s: no '%s' to plot", path.data, metric);
    }
    status = status ? status : cla_text_add(script, "EOD\n");
    free(data);
    cla_text_free(&path);
    return status;
}

static const char *terminal_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".png") == 0) {
        return "pngcairo size 900,600";
    }
    return dot && strcmp(dot, ".pdf") == 0 ? "pdfcairo"
                                           : "svg size 900,600 background 'white'";
}

static cla_status write_script(const arguments *a, cla_text *script)
{
    for (int i = 0; i < a->runs; i++) {
        CLA_TRY(add_run(script, a->run[i], i, a->metric));
    }
    CLA_TRY(cla_text_add(script, "set terminal %s\nset output ", terminal_of(a->out)));
    CLA_TRY(cli_gnuplot_quote(script, a->out));
    CLA_TRY(cla_text_add(script, "\nset xlabel 'steps'\nset ylabel "));
    CLA_TRY(cli_gnuplot_quote(script, a->metric));
    CLA_TRY(cla_text_add(script, "\nset key bottom right noenhanced\nset grid\nplot "));
    for (int i = 0; i < a->runs; i++) {
        CLA_TRY(cla_text_add(script, "%s$run%d using 1:2 with lines lw 2 title ",
                             i ? ", " : "", i));
        CLA_TRY(cli_gnuplot_quote(script, a->run[i]));
    }
    return cla_text_add(script, "\n");
}

static cla_status plot(const arguments *a, cla_text *script)
{
    if (a->lengths) {
        return cli_plot_lengths(a->run, a->runs, a->out);
    }
    CLA_TRY(write_script(a, script));
    return cli_gnuplot(script);
}

int cli_plot(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "DIR...",
        .doc = "Draws the learning curves of training runs, from their log.jsonl.\v"
               "  clattn plot runs/conv runs/conv2d runs/pe_add --out curve.svg\n"
               "  clattn plot --lengths soft.jsonl hard.jsonl --out lengths.svg",
    };
    arguments a = { .metric = "accuracy" };
    cla_text script = { 0 };
    cla_status status = cli_parse(&argp, argc, argv, &a);
    status = status ? status : plot(&a, &script);
    cla_text_free(&script);
    return status ? cli_fail_data(status) : CLI_OK;
}
