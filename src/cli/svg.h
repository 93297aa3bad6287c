/* svg.h - draws SVG pictures: attention maps, curves, bars and rooflines. */
#pragma once

#include "base/text.h"
#include "models/tagger_maps.h"

/* Checks that path ends in .svg. Errors: CLA_E_USAGE, naming the command and tools that
 * convert SVG files. */
cla_status cli_svg_check_name(const char *command, const char *path);

/* Append text with the five special characters of XML escaped; cli_svg_escaped shortens
 * long text. Errors: CLA_E_NOMEM. */
cla_status cli_svg_escaped(cla_text *out, const char *text);
cla_status cli_svg_escaped_whole(cla_text *out, const char *text);

/* Return an upper estimate (fonts differ) of the width of text at a font size, in
 * pixels, as shortened by cli_svg_escaped or whole. */
int cli_svg_width(const char *text, int font);
int cli_svg_width_whole(const char *text, int font);

/* Begins a picture on white with the title at its top (CLI_SVG_TITLE pixels); the width
 * grows to hold the title. The caller ends it with "</svg>\n". Errors: CLA_E_NOMEM. */
enum { CLI_SVG_FONT = 10, CLI_SVG_TITLE = 28 };
cla_status cli_svg_begin(cla_text *out, const char *title, int width, int height);

/* Draws all maps in a grid, a row for each layer and stage, with the tokens on both
 * axes. Errors: CLA_E_NOMEM. */
cla_status cli_svg_maps(cla_text *out, const tagger_map *maps, int count,
                        const char *const *tokens, const char *title);

/* A row of maps of one size: rows by columns of weights from 0 to 1. */
typedef struct svg_grids {
    int count, rows, columns;
    const char *const *row, *const *column; // [rows], [columns] labels
    const char *const *name;                // [count]
    const float *const *weight;             // [count] of [rows,columns]
    const float *top; // [count] weights of the darkest cells; NULL: 1
} svg_grids;

/* Draws n rows of maps, one below the other. title: the model's name; ": " and the
 * legend follow it. Errors: CLA_E_NOMEM. */
cla_status cli_svg_grids(cla_text *out, const svg_grids *grids, int n,
                         const char *title, const char *legend);

/* A curve through points in rising order of x. */
typedef struct svg_curve {
    const char *name;
    double *x, *y;
    double *band; // drawn as far above and below y; NULL: none
    int count;    // at least 1
    size_t x_cap, y_cap;
} svg_curve;

/* The most curves of a picture. */
enum { CLI_PLOT_RUNS = 32 };

/* Draws curves over one pair of axes, with a legend of their names below. Errors:
 * CLA_E_NOMEM. */
cla_status cli_svg_curves(cla_text *out, const svg_curve *curves, int count,
                          const char *x_label, const char *y_label);

/* A bar, coloured by its kind. */
typedef struct svg_bar {
    const char *name, *kind;
    double value; // at least 0
} svg_bar;
/* Draws horizontal bars, one below the other, with a legend of the kinds.
 * Errors: CLA_E_NOMEM. */
cla_status cli_svg_bars(cla_text *out, const svg_bar *bars, int count,
                        const char *title);

/* A measured case: GFLOP/s at an arithmetic intensity in operations per byte, both
 * above 0. */
typedef struct svg_roof_point {
    const char *name, *kind;
    double intensity, gflops;
} svg_roof_point;
typedef struct svg_roofline {
    const svg_roof_point *point;
    int count;
    double peak_gflops, peak_gbs; // above 0
} svg_roofline;
/* Draws measured cases under the roofline of their device (Williams et al. 2009), both
 * axes logarithmic. Errors: CLA_E_NOMEM. */
cla_status cli_svg_roofline(cla_text *out, const svg_roofline *r, const char *title);
