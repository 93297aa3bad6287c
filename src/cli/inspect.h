/* inspect.h - prints and draws the attention of trained systems. */
#pragma once

#include "models/look.h"
#include "tasks/translation/translation.h"

/* Translates a line greedily and draws as SVG how the decoder's last layer attends to
 * the source for each piece of the translation. Errors: CLA_E_INPUT (no piece, or more
 * than a picture holds), CLA_E_IO, and those of the model. */
cla_status cli_inspect_translation(translation *t, const char *text, const char *title,
                                   const char *path);

/* Which sites are shown, and in what form. */
typedef struct inspect_output {
    const char *site;  // NULL: all sites
    const char *path;  // of an SVG file; NULL: no picture
    const char *title; // of the picture
    bool json;         // a JSON object a site, with maps; else weights and words
} inspect_output;

/* Draws a map for each level and prints the weights of the levels. Errors: CLA_E_USAGE
 * (no such site; the message lists the sites), CLA_E_INPUT (too many rows or columns to
 * draw), CLA_E_IO, CLA_E_NOMEM. */
cla_status cli_inspect_levels(const look_log *seen, const inspect_output *to);
