/* inspect_levels.c - draws attention level by level, and prints the weights of levels
 * and the most attended words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/inspect.h"
#include "cli/svg.h"

enum { MOST = 512, WORDS = 3 };

/* The chosen sites. */
typedef struct chosen {
    const look_site *site[LOOK_SITES];
    int count;
} chosen;

static cla_status choose(const look_log *seen, const char *name, chosen *out)
{
    cla_text known = { 0 };
    cla_status status = CLA_OK;
    for (int i = 0; i < seen->sites && !status; i++) {
        if (!name || strcmp(seen->site[i]->name, name) == 0) {
            out->site[out->count++] = seen->site[i];
        }
        status = cla_text_add(&known, "%s%s", i ? ", " : "", seen->site[i]->name);
    }
    if (!status && !out->count) {
        status = cla_fail(CLA_E_USAGE, "inspect: --site is '%s', must be one of %s",
                          name, known.data);
    }
    cla_text_free(&known);
    return status;
}

/* ---- pictures -------------------------------------------------------------------- */

/* The maps of a site, side by side. */
typedef struct panels {
    char name[CLA_HAM_DEPTH][64];
    const char *names[CLA_HAM_DEPTH];
    const float *weight[CLA_HAM_DEPTH];
    float top[CLA_HAM_DEPTH];
} panels;

static float largest(const float *x, int n)
{
    float top = 0;
    for (int i = 0; i < n; i++) {
        top = x[i] > top ? x[i] : top;
    }
    return top;
}

static svg_grids arrange(const look_site *s, panels *p)
{
    const int rows = s->map[0].rows;
    for (int k = 0; k < s->levels; k++) {
        p->weight[k] = s->map[k].weight;
        p->top[k] = largest(p->weight[k], rows * s->columns);
        p->names[k] = p->name[k];
        snprintf(p->name[k], sizeof p->name[k], "%s level %d: %.3f (max %.2f)", s->name,
                 k + 1, (double)s->share[k], (double)p->top[k]);
    }
    return (svg_grids){
        .count = s->levels,
        .rows = rows,
        .columns = s->columns,
        .row = (const char *const *)s->row,
        .column = (const char *const *)s->column,
        .name = p->names,
        .weight = p->weight,
        .top = p->top,
    };
}

static cla_status draw_all(const chosen *c, panels *p, const inspect_output *to)
{
    svg_grids grids[LOOK_SITES];
    cla_text picture = { 0 };
    for (int i = 0; i < c->count; i++) {
        const look_site *s = c->site[i];
        if (s->map[0].rows > MOST || s->columns > MOST) {
            return cla_fail(CLA_E_INPUT,
                            "inspect: %d words by %d, at most %d are drawn",
                            s->map[0].rows, s->columns, MOST);
        }
        grids[i] = arrange(s, &p[i]);
    }
    cla_status status = cli_svg_grids(&picture, grids, c->count, to->title,
                                      "rows are queries, columns are keys");
    status = status ? status : cla_file_write(to->path, picture.data, picture.size);
    cla_text_free(&picture);
    return status;
}

static cla_status draw(const chosen *c, const inspect_output *to)
{
    panels *p = NULL;
    CLA_TRY(cla_alloc(&p, LOOK_SITES, sizeof *p));
    const cla_status status = draw_all(c, p, to);
    free(p);
    return status;
}

/* ---- print ----------------------------------------------------------------------- */

static json_t *names_of(char *const *names, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(list, json_string(names[i]));
    }
    return list;
}

static json_t *map_of(const look_site *s, int level)
{
    json_t *rows = json_array();
    for (int i = 0; i < s->map[level].rows; i++) {
        json_t *row = json_array();
        for (int j = 0; j < s->columns; j++) {
            const float w = s->map[level].weight[i * s->columns + j];
            json_array_append_new(row, json_real((double)w));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

static cla_status print_object(const look_site *s)
{
    json_t *shares = json_array(), *maps = json_array();
    for (int k = 0; k < s->levels; k++) {
        json_array_append_new(shares, json_real((double)s->share[k]));
        json_array_append_new(maps, map_of(s, k));
    }
    return cli_print_json(json_pack("{so so so so so}", "site", json_string(s->name),
                                    "weights", shares, "rows",
                                    names_of(s->row, s->map[0].rows), "columns",
                                    names_of(s->column, s->columns), "maps", maps));
}

/* Returns the perplexity of the rows' weights: e to their mean entropy. */
static double spread_of(const look_map *m, int columns)
{
    double entropy = 0;
    for (int i = 0; i < m->rows * columns; i++) {
        const double w = (double)m->weight[i];
        entropy -= w > 0 ? w * log(w) : 0;
    }
    return exp(entropy / m->rows);
}

/* Prints the weight and spread of a level and its most attended columns. mean is
 * scratch memory for the mean weight of each column. */
static void print_level(const look_site *s, int level, double *mean)
{
    const look_map *m = &s->map[level];
    memset(mean, 0, (size_t)s->columns * sizeof *mean);
    for (int i = 0; i < m->rows * s->columns; i++) {
        mean[i % s->columns] += (double)m->weight[i] / m->rows;
    }
    printf("%6d   %.4f %8.2f ", level + 1, (double)s->share[level],
           spread_of(m, s->columns));
    for (int n = 0; n < WORDS && n < s->columns; n++) {
        int best = 0;
        for (int j = 1; j < s->columns; j++) {
            best = mean[j] > mean[best] ? j : best;
        }
        printf("%s %s %.3f", n ? "," : "", s->column[best], mean[best]);
        mean[best] = -1;
    }
    putchar('\n');
}

static cla_status print_table(const look_site *s)
{
    double *mean = NULL;
    CLA_TRY(cla_alloc(&mean, (size_t)s->columns, sizeof *mean));
    printf("%s: %d queries, %d keys\n level   weight   spread  most attended\n",
           s->name, s->map[0].rows, s->columns);
    for (int k = 0; k < s->levels; k++) {
        print_level(s, k, mean);
    }
    free(mean);
    return CLA_OK;
}

static cla_status print(const chosen *c, bool json)
{
    for (int i = 0; i < c->count; i++) {
        CLA_TRY(json ? print_object(c->site[i]) : print_table(c->site[i]));
    }
    return cli_flush();
}

cla_status cli_inspect_levels(const look_log *seen, const inspect_output *to)
{
    chosen c = { .count = 0 };
    CLA_TRY(choose(seen, to->site, &c));
    if (to->path) {
        CLA_TRY(draw(&c, to));
    }
    return print(&c, to->json);
}
