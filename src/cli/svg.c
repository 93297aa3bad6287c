/* svg.c - attention maps as a grid of squares. */
#include "cli/svg.h"

#include <limits.h>
#include <string.h>

#include "base/utf8.h"

enum { CELL = 12, FONT = 10, LETTER = 6, GAP = 26, TITLE = 40, TOKEN_LETTERS = 14 };

static cla_status escaped_to(cla_text *out, const char *text, int most)
{
    static const char special[] = "<>&\"'";
    static const char *const entity[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&apos;" };
    int letters = 0;
    while (*text) {
        int32_t code = 0;
        const int bytes = cla_utf8_next(text, &code);
        const char *at = code < 128 ? strchr(special, (int)code) : NULL;
        if (letters++ == most) {
            return cla_text_add(out, "…");
        }
        CLA_TRY(at ? cla_text_add(out, "%s", entity[at - special])
                   : cla_text_append(out, text, (size_t)bytes));
        text += bytes;
    }
    return CLA_OK;
}

cla_status cli_svg_escaped(cla_text *out, const char *text)
{
    return escaped_to(out, text, TOKEN_LETTERS);
}

cla_status cli_svg_escaped_whole(cla_text *out, const char *text)
{
    return escaped_to(out, text, INT_MAX);
}

static int label_width(const char *const *tokens, int count)
{
    int most = 1;
    for (int i = 0; i < count; i++) {
        int letters = 0;
        for (const char *at = tokens[i]; *at && letters < TOKEN_LETTERS + 1;
             letters++) {
            int32_t code = 0;
            at += cla_utf8_next(at, &code);
        }
        most = letters > most ? letters : most;
    }
    return most * LETTER + 4;
}

static cla_status labels(cla_text *out, const char *const *tokens, int count, int label)
{
    for (int i = 0; i < count; i++) {
        CLA_TRY(cla_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">",
                             label - 3, label + i * CELL + FONT));
        CLA_TRY(cli_svg_escaped(out, tokens[i]));
        CLA_TRY(cla_text_add(out,
                             "</text><text transform=\"translate(%d,%d) rotate(-90)\">",
                             label + i * CELL + FONT - 1, label - 3));
        CLA_TRY(cli_svg_escaped(out, tokens[i]));
        CLA_TRY(cla_text_add(out, "</text>\n"));
    }
    return CLA_OK;
}

/* One map; the darkest square is its largest weight. */
static cla_status panel(cla_text *out, const tagger_map *m, const char *const *tokens,
                        int label)
{
    const int T = m->tokens;
    float top = 1e-30f;
    for (int i = 0; i < T * T; i++) {
        top = m->weight[i] > top ? m->weight[i] : top;
    }
    CLA_TRY(
        cla_text_add(out,
                     "<text x=\"%d\" y=\"-6\" font-weight=\"bold\">layer %d head %d "
                     "%s(max %.2f)</text>\n",
                     label, m->layer + 1, m->head + 1, m->convolved ? "convolved " : "",
                     (double)top));
    CLA_TRY(labels(out, tokens, T, label));
    for (int i = 0; i < T * T; i++) {
        const double shade = (double)(m->weight[i] / top);
        if (shade > 0.004) {
            CLA_TRY(cla_text_add(out,
                                 "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                                 "fill-opacity=\"%.3f\"/>\n",
                                 label + i % T * CELL, label + i / T * CELL, CELL, CELL,
                                 shade));
        }
    }
    return cla_text_add(
        out,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
        "stroke=\"#888\"/>\n",
        label, label, T * CELL, T * CELL);
}

/* Maps of one layer and stage stand in one row. */
static void place(const tagger_map *maps, int count, int i, int *row, int *column)
{
    int stages = 0, rows = 0;
    for (int k = 0; k < count; k++) {
        const bool first_head = maps[k].head == 0;
        rows += first_head && (maps[k].layer < maps[i].layer);
        stages += first_head && maps[k].layer == maps[i].layer && maps[i].convolved &&
                  !maps[k].convolved;
    }
    *row = rows + stages;
    *column = maps[i].head;
}

cla_status cli_svg_maps(cla_text *out, const tagger_map *maps, int count,
                        const char *const *tokens, const char *title)
{
    const int T = count ? maps[0].tokens : 0, label = label_width(tokens, T);
    const int side = label + T * CELL + GAP;
    int rows = 0, columns = 0;
    for (int i = 0; i < count; i++) {
        int row = 0, column = 0;
        place(maps, count, i, &row, &column);
        rows = row >= rows ? row + 1 : rows;
        columns = column >= columns ? column + 1 : columns;
    }
    CLA_TRY(cla_text_add(out,
                         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                         "height=\"%d\" font-family=\"sans-serif\" font-size=\"%d\">\n"
                         "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                         "<text x=\"8\" y=\"18\" font-size=\"14\">",
                         columns * side + GAP, rows * side + TITLE + GAP, FONT));
    CLA_TRY(
        cla_text_add(out, "%s: rows are queries, columns are keys</text>\n", title));
    for (int i = 0; i < count; i++) {
        int row = 0, column = 0;
        place(maps, count, i, &row, &column);
        CLA_TRY(cla_text_add(out,
                             "<g transform=\"translate(%d,%d)\" fill=\"#123a7a\">\n",
                             column * side + GAP / 2, row * side + TITLE + GAP / 2));
        CLA_TRY(panel(out, &maps[i], tokens, label));
        CLA_TRY(cla_text_add(out, "</g>\n"));
    }
    return cla_text_add(out, "</svg>\n");
}
