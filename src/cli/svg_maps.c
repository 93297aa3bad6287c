/* svg_maps.c - draws the attention maps of a tagger: a row for each layer and stage. */
#include <stdio.h>
#include <string.h>

#include "cli/svg.h"

/* A row of maps, one for each head. */
typedef struct map_row {
    int first, count; // of the sorted maps
} map_row;

typedef struct map_names {
    char text[64];
} map_names;

static int row_key(const tagger_map *m)
{
    return 2 * m->layer + m->convolved;
}

/* Sorts maps by row. A tagger gives them head by head, each before and after the
 * convolution. */
static void sort_by_row(tagger_map *maps, int count)
{
    for (int i = 1; i < count; i++) {
        const tagger_map m = maps[i];
        int at = i;
        for (; at && row_key(&maps[at - 1]) > row_key(&m); at--) {
            maps[at] = maps[at - 1];
        }
        maps[at] = m;
    }
}

static int find_rows(const tagger_map *maps, int count, map_row *rows)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (!i || row_key(&maps[i]) != row_key(&maps[i - 1])) {
            rows[found++] = (map_row){ i, 0 };
        }
        rows[found - 1].count++;
    }
    return found;
}

static float largest(const tagger_map *m)
{
    float top = 1e-30f;
    for (int i = 0; i < m->tokens * m->tokens; i++) {
        top = m->weight[i] > top ? m->weight[i] : top;
    }
    return top;
}

/* The parts of a picture; each array has room for one item of each map. */
typedef struct picture {
    tagger_map *maps; // sorted; the weights are the caller's
    map_row *rows;
    svg_grids *grids;
    map_names *text;
    const char **names;
    const float **weights;
    float *top;
} picture;

static cla_status picture_new(picture *p, int count)
{
    const size_t n = (size_t)count + 1;
    CLA_TRY(cla_alloc(&p->maps, n, sizeof *p->maps));
    CLA_TRY(cla_alloc(&p->rows, n, sizeof *p->rows));
    CLA_TRY(cla_alloc(&p->grids, n, sizeof *p->grids));
    CLA_TRY(cla_alloc(&p->text, n, sizeof *p->text));
    CLA_TRY(cla_alloc(&p->names, n, sizeof *p->names));
    CLA_TRY(cla_alloc(&p->weights, n, sizeof *p->weights));
    return cla_alloc(&p->top, n, sizeof *p->top);
}

static void picture_fini(picture *p)
{
    free(p->maps);
    free(p->rows);
    free(p->grids);
    free(p->text);
    free(p->names);
    free(p->weights);
    free(p->top);
}

static void describe(picture *p, int i)
{
    const tagger_map *m = &p->maps[i];
    p->top[i] = largest(m);
    p->weights[i] = m->weight;
    p->names[i] = p->text[i].text;
    snprintf(p->text[i].text, sizeof p->text[i].text, "layer %d head %d %s(max %.2f)",
             m->layer + 1, m->head + 1, m->convolved ? "convolved " : "",
             (double)p->top[i]);
}

static cla_status draw(cla_text *out, picture *p, int count, const char *const *tokens,
                       const char *title)
{
    sort_by_row(p->maps, count);
    const int found = find_rows(p->maps, count, p->rows);
    for (int i = 0; i < count; i++) {
        describe(p, i);
    }
    for (int r = 0; r < found; r++) {
        const int first = p->rows[r].first;
        p->grids[r] = (svg_grids){
            .count = p->rows[r].count,
            .rows = p->maps[first].tokens,
            .columns = p->maps[first].tokens,
            .row = tokens,
            .column = tokens,
            .name = p->names + first,
            .weight = p->weights + first,
            .top = p->top + first,
        };
    }
    return cli_svg_grids(out, p->grids, found, title,
                         "rows are queries, columns are keys");
}

cla_status cli_svg_maps(cla_text *out, const tagger_map *maps, int count,
                        const char *const *tokens, const char *title)
{
    picture p = { 0 };
    cla_status status = picture_new(&p, count);
    if (!status) {
        memcpy(p.maps, maps, (size_t)count * sizeof *maps);
        status = draw(out, &p, count, tokens, title);
    }
    picture_fini(&p);
    return status;
}
