/* inspect.h - pictures of what a trained system looks at. */
#pragma once

#include "models/look.h"
#include "tasks/translation/translation.h"

/* Translates a line by the likeliest pieces, and draws as SVG what the decoder's last
 * layer reads of the source for each of them. Errors: CLA_E_INPUT (no piece, or more
 * than a picture holds), CLA_E_IO, and those of the model. */
cla_status cli_inspect_translation(translation *t, const char *text, const char *title,
                                   const char *path);

/* What of a look is shown, and where. */
typedef struct inspect_output {
    const char *site;  // NULL: all of them
    const char *path;  // SVG; NULL: nothing is drawn
    const char *title; // of the picture
    bool json;         // an object a site with the maps; else weights and words
} inspect_output;

/* Draws a map a level, and prints what the levels weigh. Errors: CLA_E_USAGE (no such
 * site: names those there are), CLA_E_INPUT (too many rows to draw), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cli_inspect_levels(const look_log *seen, const inspect_output *to);
