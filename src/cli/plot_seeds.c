/* plot_seeds.c - means and deviations of learning curves over seeds. */
#include "cli/plot_seeds.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

/* Reads what a run was trained with, without what tells seeds apart. */
static cla_status read_config(json_t **config, const char *run)
{
    static const char *const own[] = { "seed", "comment", "integrity", NULL };
    cla_text path = { 0 };
    cla_status status = cla_text_add(&path, "%s/config.json", run);
    status = status ? status : cla_json_file(config, path.data, CLA_SOURCE_FILE, 0);
    for (int i = 0; own[i] && !status; i++) {
        json_object_del(*config, own[i]);
    }
    cla_text_free(&path);
    return status;
}

/* Returns the place of x among the points of a curve, or -1. */
static int find(const svg_curve *c, double x)
{
    for (int i = 0; i < c->count; i++) {
        if (c->x[i] == x) return i;
    }
    return -1;
}

/* Gives mean and deviation of n curves at x; false where one of them lacks it. */
static bool summarise(svg_curve *const *curves, int n, double x, double *mean,
                      double *deviation)
{
    double sum = 0, squares = 0;
    for (int k = 0; k < n; k++) {
        const int at = find(curves[k], x);
        if (at < 0) return false;
        sum += curves[k]->y[at];
    }
    *mean = sum / n;
    for (int k = 0; k < n; k++) {
        const double off = curves[k]->y[find(curves[k], x)] - *mean;
        squares += off * off;
    }
    *deviation = n > 1 ? sqrt(squares / (n - 1)) : 0;
    return true;
}

/* Makes the first of n curves their mean with a band. */
static cla_status join(svg_curve *const *curves, int n, const char *run, cla_text *name)
{
    svg_curve *c = curves[0];
    int count = 0;
    CLA_TRY(cla_text_add(name, n > 1 ? "%s (%d seeds)" : "%s", run, n));
    c->name = name->data;
    if (n == 1) return CLA_OK;

    double *mean = NULL;
    CLA_TRY(cla_alloc(&mean, (size_t)c->count, sizeof *mean));
    cla_status status = cla_alloc(&c->band, (size_t)c->count, sizeof *c->band);
    for (int i = 0; i < c->count && !status; i++) {
        if (summarise(curves, n, c->x[i], &mean[count], &c->band[count])) {
            c->x[count++] = c->x[i]; // behind the places that are still read
        }
    }
    if (!status) memcpy(c->y, mean, (size_t)count * sizeof *mean);
    free(mean);
    c->count = status ? c->count : count;
    return status || count
               ? status
               : cla_fail(CLA_E_INPUT, "%s: no point that all %d seeds have", run, n);
}

static cla_status join_all(svg_curve *curves, int *count, const char *const *runs,
                           cla_text *names, json_t *const *configs)
{
    int groups = 0;
    bool taken[CLI_PLOT_RUNS] = { false };
    for (int i = 0; i < *count; i++) {
        svg_curve *same[CLI_PLOT_RUNS];
        int n = 0;
        for (int k = i; k < *count && !taken[i]; k++) {
            if (!json_equal(configs[i], configs[k])) continue;
            same[n++] = &curves[k];
            taken[k] = k > i;
        }
        if (!n) continue;

        CLA_TRY(join(same, n, runs[i], &names[groups]));
        if (groups < i) { // what was there is part of an earlier mean
            const svg_curve done = curves[groups];
            curves[groups] = curves[i];
            curves[i] = done;
        }
        groups++;
    }
    *count = groups;
    return CLA_OK;
}

cla_status cli_plot_seeds(svg_curve *curves, int *count, const char *const *runs,
                          cla_text *names)
{
    json_t *configs[CLI_PLOT_RUNS] = { NULL };
    cla_status status = CLA_OK;
    const int all = *count;
    for (int i = 0; i < all && !status; i++) {
        status = read_config(&configs[i], runs[i]);
    }
    status = status ? status : join_all(curves, count, runs, names, configs);
    for (int i = 0; i < all; i++) {
        json_decref(configs[i]);
    }
    return status;
}
