/* svg.h - pictures as SVG: maps of attention weights, and curves. */
#pragma once

#include "base/text.h"
#include "models/tagger_maps.h"

/* Whether a picture can have this name: errors of CLA_E_USAGE name the command, and
 * how to convert an SVG file. */
cla_status cli_svg_check_name(const char *command, const char *path);

/* Text with the five characters that XML keeps for itself written out; the former cuts
 * it to a length. Errors: CLA_E_NOMEM. */
cla_status cli_svg_escaped(cla_text *out, const char *text);
cla_status cli_svg_escaped_whole(cla_text *out, const char *text);

/* An upper estimate of the width of text at a font size, in pixels, as cut by
 * cli_svg_escaped or whole: fonts differ. */
int cli_svg_width(const char *text, int font);
int cli_svg_width_whole(const char *text, int font);

/* The start of a picture on white, with the title at its top (CLI_SVG_TITLE pixels),
 * for which the width grows where it must. "</svg>\n" ends it. Errors: CLA_E_NOMEM. */
enum { CLI_SVG_FONT = 10, CLI_SVG_TITLE = 28 };
cla_status cli_svg_begin(cla_text *out, const char *title, int width, int height);

/* All maps in a grid, a row for each layer and stage, with the tokens on both axes.
 * Errors: CLA_E_NOMEM. */
cla_status cli_svg_maps(cla_text *out, const tagger_map *maps, int count,
                        const char *const *tokens, const char *title);

/* Maps of one size, rows by columns of weights from 0 to 1, side by side. */
typedef struct svg_grids {
    int count, rows, columns;
    const char *const *row, *const *column; // [rows], [columns] labels
    const char *const *name;                // [count]
    const float *const *weight;             // [count] of [rows,columns]
    const float *top; // [count] weights of the darkest squares; NULL: 1
} svg_grids;

/* n such rows of maps, one below the other. title: the model's name, before a colon
 * and the legend. Errors: CLA_E_NOMEM. */
cla_status cli_svg_grids(cla_text *out, const svg_grids *grids, int n,
                         const char *title, const char *legend);

/* A curve through points in the order of their x. */
typedef struct svg_curve {
    const char *name;
    double *x, *y;
    int count; // at least 1
    size_t x_cap, y_cap;
} svg_curve;

/* Curves over one pair of axes, the names below them. Errors: CLA_E_NOMEM. */
cla_status cli_svg_curves(cla_text *out, const svg_curve *curves, int count,
                          const char *x_label, const char *y_label);

/* Horizontal bars, one below the other, coloured by kind, with a legend of the kinds.
 * value: at least 0. Errors: CLA_E_NOMEM. */
typedef struct svg_bar {
    const char *name, *kind;
    double value;
} svg_bar;
cla_status cli_svg_bars(cla_text *out, const svg_bar *bars, int count,
                        const char *title);

/* Measured cases under the roofs of their device (Williams et al. 2009): GFLOP/s over
 * operations per byte, both logarithmic and above 0. Errors: CLA_E_NOMEM. */
typedef struct svg_roof_point {
    const char *name, *kind;
    double intensity, gflops;
} svg_roof_point;
typedef struct svg_roofline {
    const svg_roof_point *point;
    int count;
    double peak_gflops, peak_gbs; // above 0
} svg_roofline;
cla_status cli_svg_roofline(cla_text *out, const svg_roofline *r, const char *title);
