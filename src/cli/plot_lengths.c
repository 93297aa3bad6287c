/* plot_lengths.c - plots several systems' scores by the length of sources as bars. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/lengths.h"
#include "cli/svg.h"
#include "text/lines.h"

enum {
    HEIGHT = 240,
    LEFT = 46,
    TOP = 42,
    BAR = 22,
    SPACE = 18,
    ENTRY = 18,
    SYSTEMS = 8
};

static const char *const colours[SYSTEMS] = { "#123a7a", "#c8641e", "#3a7a3a",
                                              "#8a2a5a", "#5a5a5a", "#2a8a8a",
                                              "#a08a1e", "#6a4ab0" };

/* A system: sentences and BLEU of each group; BLEU is NAN for a group without one. */
typedef struct system_row {
    const char *name;
    double bleu[LENGTH_ROWS];
    long long sentences[LENGTH_ROWS];
} system_row;

static int group_named(const char *name)
{
    int i = 0;
    while (i < LENGTH_ROWS && !(name && strcmp(name, cli_length_name(i)) == 0)) {
        i++;
    }
    return i;
}

static cla_status take_line(void *to, size_t number, char *text, size_t size)
{
    system_row *row = to;
    json_t *line = NULL;
    const cla_status parsed = cla_json_text(&line, row->name, number, text, size, 0);
    CLA_TRY(parsed == CLA_E_INPUT ? CLA_OK : parsed); // no JSON, no "words"
    const int i = group_named(json_string_value(json_object_get(line, "words")));
    const json_t *bleu = json_object_get(line, "bleu");
    if (i < LENGTH_ROWS) {
        row->bleu[i] = json_is_number(bleu) ? json_number_value(bleu) : NAN;
        row->sentences[i] = json_integer_value(json_object_get(line, "sentences"));
    }
    json_decref(line);
    return i < LENGTH_ROWS ? CLA_OK
                           : cla_fail(CLA_E_INPUT,
                                      "%s:%zu: no line of `clattn eval --lengths "
                                      "--json'",
                                      row->name, number);
}

static cla_status read_row(system_row *row, const char *path)
{
    row->name = path;
    for (int i = 0; i < LENGTH_ROWS; i++) {
        row->bleu[i] = NAN;
    }
    return cla_lines_filled(path, take_line, row);
}

/* ---- the picture ------------------------------------------------------------- */

static double largest(const system_row *rows, int count)
{
    double top = 1;
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < LENGTH_ROWS; i++) {
            top = fmax(top, isnan(rows[k].bleu[i]) ? 0 : rows[k].bleu[i]);
        }
    }
    return top;
}

static cla_status add_bar(cla_text *out, const system_row *row, int group, int x,
                          double top, const char *colour)
{
    const double bleu = row->bleu[group];
    const int high = isnan(bleu) ? 0 : (int)lrint(bleu / top * HEIGHT);
    if (isnan(bleu)) {
        return CLA_OK;
    }
    CLA_TRY(cla_text_add(out,
                         "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                         "fill=\"%s\"/>\n",
                         x, TOP + HEIGHT - high, BAR - 2, high, colour));
    return cla_text_add(out,
                        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" "
                        "font-size=\"8\">%.1f</text>\n",
                        x + BAR / 2 - 1, TOP + HEIGHT - high - 3, bleu);
}

static cla_status add_group(cla_text *out, const system_row *rows, int count, int group,
                            double top)
{
    const int wide = count * BAR, x = LEFT + group * (wide + SPACE);
    for (int k = 0; k < count; k++) {
        CLA_TRY(add_bar(out, &rows[k], group, x + k * BAR, top, colours[k]));
    }
    CLA_TRY(cla_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
                         x + wide / 2, TOP + HEIGHT + 14));
    CLA_TRY(cli_svg_escaped(out, cli_length_name(group)));
    return cla_text_add(out,
                        "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" "
                        "fill=\"#666\">%lld</text>\n",
                        x + wide / 2, TOP + HEIGHT + 28, rows[0].sentences[group]);
}

static cla_status add_entry(cla_text *out, const system_row *row, int k)
{
    const int y = TOP + HEIGHT + 44 + k * ENTRY;
    CLA_TRY(cla_text_add(out,
                         "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" "
                         "fill=\"%s\"/>\n<text x=\"%d\" y=\"%d\">",
                         LEFT, y, colours[k], LEFT + 16, y + 9));
    CLA_TRY(cli_svg_escaped_whole(out, row->name));
    return cla_text_add(out, "</text>\n");
}

static cla_status draw(cla_text *out, const system_row *rows, int count)
{
    const double top = largest(rows, count);
    int width = LEFT + LENGTH_ROWS * (count * BAR + SPACE) + SPACE;
    for (int k = 0; k < count; k++) {
        const int entry = LEFT + 16 + cli_svg_width_whole(rows[k].name, CLI_SVG_FONT);
        width = entry + SPACE > width ? entry + SPACE : width;
    }
    CLA_TRY(cli_svg_begin(
        out, "BLEU by words of the source (number of sentences below each group)",
        width, TOP + HEIGHT + 54 + count * ENTRY));
    for (int i = 0; i < LENGTH_ROWS; i++) {
        CLA_TRY(add_group(out, rows, count, i, top));
    }
    for (int k = 0; k < count; k++) {
        CLA_TRY(add_entry(out, &rows[k], k));
    }
    return cla_text_add(out, "</svg>\n");
}

cla_status cli_plot_lengths(const char *const *paths, int count, const char *out)
{
    system_row rows[SYSTEMS] = { { 0 } };
    cla_text picture = { 0 };
    if (count > SYSTEMS) {
        return cla_fail(CLA_E_USAGE, "plot --lengths: more than %d files", SYSTEMS);
    }
    for (int k = 0; k < count; k++) {
        CLA_TRY(read_row(&rows[k], paths[k]));
    }
    cla_status status = draw(&picture, rows, count);
    status = status ? status : cla_file_write(out, picture.data, picture.size);
    cla_text_free(&picture);
    return status;
}
