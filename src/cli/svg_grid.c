/* svg_grid.c - draws maps from one sentence to another as grids of squares. */
#include "cli/svg.h"

enum { CELL = 14, BASELINE = 10, GAP = 20, HEAD = 18, PAD = 6 };

/* The layout of a row of maps. A map's name is above the labels of its columns, so that
 * neither covers the other. */
typedef struct frame {
    int left, top;     // of the squares, from the corner of a map
    int width, height; // of a map with its name, labels and gap
} frame;

static int widest(const char *const *names, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++) {
        const int width = cli_svg_width(names[i], CLI_SVG_FONT);
        most = width > most ? width : most;
    }
    return most;
}

static frame frame_of(const svg_grids *g)
{
    frame f = { .left = widest(g->row, g->rows) + PAD,
                .top = HEAD + widest(g->column, g->columns) + PAD };
    f.width = f.left + g->columns * CELL;
    for (int k = 0; k < g->count; k++) { // bold letters are an eighth wider
        const int name = cli_svg_width_whole(g->name[k], CLI_SVG_FONT) * 9 / 8;
        f.width = name > f.width ? name : f.width;
    }
    f.width += GAP;
    f.height = f.top + g->rows * CELL + GAP;
    return f;
}

static cla_status row_labels(cla_text *out, const frame *f, const char *const *names,
                             int count)
{
    for (int i = 0; i < count; i++) {
        CLA_TRY(cla_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">",
                             f->left - 4, f->top + i * CELL + BASELINE));
        CLA_TRY(cli_svg_escaped(out, names[i]));
        CLA_TRY(cla_text_add(out, "</text>\n"));
    }
    return CLA_OK;
}

static cla_status column_labels(cla_text *out, const frame *f, const char *const *names,
                                int count)
{
    for (int i = 0; i < count; i++) {
        CLA_TRY(cla_text_add(out, "<text transform=\"translate(%d,%d) rotate(-90)\">",
                             f->left + i * CELL + BASELINE, f->top - 4));
        CLA_TRY(cli_svg_escaped(out, names[i]));
        CLA_TRY(cla_text_add(out, "</text>\n"));
    }
    return CLA_OK;
}

static cla_status squares(cla_text *out, const frame *f, const svg_grids *g, int k)
{
    const float top = g->top ? g->top[k] : 1;
    for (int i = 0; i < g->rows * g->columns; i++) {
        const double shade = top > 0 ? (double)(g->weight[k][i] / top) : 0;
        if (shade > 0.004) {
            CLA_TRY(cla_text_add(out,
                                 "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                                 "fill-opacity=\"%.3f\"/>\n",
                                 f->left + i % g->columns * CELL,
                                 f->top + i / g->columns * CELL, CELL, CELL, shade));
        }
    }
    return cla_text_add(out,
                        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                        "fill=\"none\" stroke=\"#888\"/>\n",
                        f->left, f->top, g->columns * CELL, g->rows * CELL);
}

/* Draws a row of maps. step is the distance between maps, the same in all rows. */
static cla_status draw(cla_text *out, const svg_grids *g, int step, int y)
{
    const frame f = frame_of(g);
    for (int k = 0; k < g->count; k++) {
        CLA_TRY(cla_text_add(out,
                             "<g transform=\"translate(%d,%d)\" fill=\"#123a7a\">\n"
                             "<text x=\"0\" y=\"10\" font-weight=\"bold\">",
                             k * step + GAP / 2, y));
        CLA_TRY(cli_svg_escaped_whole(out, g->name[k]));
        CLA_TRY(cla_text_add(out, "</text>\n"));
        CLA_TRY(row_labels(out, &f, g->row, g->rows));
        CLA_TRY(column_labels(out, &f, g->column, g->columns));
        CLA_TRY(squares(out, &f, g, k));
        CLA_TRY(cla_text_add(out, "</g>\n"));
    }
    return CLA_OK;
}

static cla_status draw_all(cla_text *out, const svg_grids *grids, int n,
                           const char *title)
{
    int step = 0, most = 0, height = CLI_SVG_TITLE;
    for (int i = 0; i < n; i++) {
        const frame f = frame_of(&grids[i]);
        step = f.width > step ? f.width : step;
        most = grids[i].count > most ? grids[i].count : most;
        height += f.height;
    }
    CLA_TRY(cli_svg_begin(out, title, most * step + GAP / 2, height));
    int y = CLI_SVG_TITLE;
    for (int i = 0; i < n; i++) {
        CLA_TRY(draw(out, &grids[i], step, y));
        y += frame_of(&grids[i]).height;
    }
    return cla_text_add(out, "</svg>\n");
}

cla_status cli_svg_grids(cla_text *out, const svg_grids *grids, int n,
                         const char *title, const char *legend)
{
    cla_text whole = { 0 };
    cla_status status = cla_text_add(&whole, "%s: %s", title, legend);
    status = status ? status : draw_all(out, grids, n, whole.data);
    cla_text_free(&whole);
    return status;
}
