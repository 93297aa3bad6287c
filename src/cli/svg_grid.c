/* svg_grid.c - maps from one sentence to another as grids of squares. */
#include "cli/svg.h"

enum {
    CELL = 14,
    FONT = 10,
    LETTER = 6,
    LABEL = 15 * LETTER + 8,
    GAP = 26,
    TITLE = 40,
    LEAST = 40 * LETTER // of a map's width, so that its name has room
};

static cla_status row_labels(cla_text *out, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        CLA_TRY(cla_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">",
                             LABEL - 4, LABEL + i * CELL + FONT));
        CLA_TRY(cli_svg_escaped(out, names[i]));
        CLA_TRY(cla_text_add(out, "</text>\n"));
    }
    return CLA_OK;
}

static cla_status column_labels(cla_text *out, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        CLA_TRY(cla_text_add(out, "<text transform=\"translate(%d,%d) rotate(-90)\">",
                             LABEL + i * CELL + FONT, LABEL - 4));
        CLA_TRY(cli_svg_escaped(out, names[i]));
        CLA_TRY(cla_text_add(out, "</text>\n"));
    }
    return CLA_OK;
}

static cla_status squares(cla_text *out, const float *weight, float top, int rows,
                          int columns)
{
    for (int i = 0; i < rows * columns; i++) {
        const double shade = top > 0 ? (double)(weight[i] / top) : 0;
        if (shade > 0.004) {
            CLA_TRY(cla_text_add(out,
                                 "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                                 "fill-opacity=\"%.3f\"/>\n",
                                 LABEL + i % columns * CELL, LABEL + i / columns * CELL,
                                 CELL, CELL, shade));
        }
    }
    return cla_text_add(out,
                        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                        "fill=\"none\" stroke=\"#888\"/>\n",
                        LABEL, LABEL, columns * CELL, rows * CELL);
}

static int width_of(const svg_grids *g)
{
    const int width = LABEL + g->columns * CELL + GAP;
    return width > LEAST ? width : LEAST;
}

static int height_of(const svg_grids *g)
{
    return LABEL + g->rows * CELL + GAP;
}

static cla_status draw(cla_text *out, const svg_grids *g, int y)
{
    for (int k = 0; k < g->count; k++) {
        CLA_TRY(cla_text_add(out,
                             "<g transform=\"translate(%d,%d)\" fill=\"#123a7a\">\n"
                             "<text x=\"%d\" y=\"-6\" font-weight=\"bold\">%s</text>\n",
                             k * width_of(g) + GAP / 2, y, LABEL, g->name[k]));
        CLA_TRY(row_labels(out, g->row, g->rows));
        CLA_TRY(column_labels(out, g->column, g->columns));
        CLA_TRY(
            squares(out, g->weight[k], g->top ? g->top[k] : 1, g->rows, g->columns));
        CLA_TRY(cla_text_add(out, "</g>\n"));
    }
    return CLA_OK;
}

cla_status cli_svg_grids(cla_text *out, const svg_grids *grids, int n,
                         const char *title, const char *legend)
{
    int width = 0, height = TITLE + GAP;
    for (int i = 0; i < n; i++) {
        const int wide = grids[i].count * width_of(&grids[i]) + GAP;
        width = wide > width ? wide : width;
        height += height_of(&grids[i]);
    }
    CLA_TRY(cla_text_add(out,
                         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                         "height=\"%d\" font-family=\"sans-serif\" font-size=\"%d\">\n"
                         "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                         "<text x=\"8\" y=\"18\" font-size=\"14\">",
                         width, height, FONT));
    CLA_TRY(cli_svg_escaped_whole(out, title));
    CLA_TRY(cla_text_add(out, ": %s</text>\n", legend));
    for (int i = 0, y = TITLE + GAP / 2; i < n; y += height_of(&grids[i]), i++) {
        CLA_TRY(draw(out, &grids[i], y));
    }
    return cla_text_add(out, "</svg>\n");
}
