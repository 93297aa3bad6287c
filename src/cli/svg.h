/* svg.h - pictures of attention maps. */
#pragma once

#include "base/text.h"
#include "models/tagger_maps.h"

/* Text with the five characters that XML keeps for itself written out; the former cuts
 * it to a length. Errors: CLA_E_NOMEM. */
cla_status cli_svg_escaped(cla_text *out, const char *text);
cla_status cli_svg_escaped_whole(cla_text *out, const char *text);

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
