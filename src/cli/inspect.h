/* inspect.h - prints and draws the attention of trained systems. */
#pragma once

#include "models/look.h"
#include "models/tagger_maps.h"
#include "tasks/language/language.h"
#include "tasks/translation/translation.h"

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

/* Writes the maps of a sequence: as SVG, or where the name of the file ends in
 * .safetensors as numbers, logits [T,columns] and a tensor map.LAYER.HEAD (and
 * convolved.LAYER.HEAD) [T,T] for each head. Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cli_inspect_view(const tagger_view *view, int64_t columns,
                            const char *const *tokens, const inspect_output *to);

/* Writes the maps of a text that a language model reads. Errors: those of
 * cla_language_look, CLA_E_INPUT (not UTF-8), CLA_E_IO. */
cla_status cli_inspect_language(language *t, const char *text,
                                const inspect_output *to);

/* Draws as SVG how a translator attends to the source. Site "cross", or NULL:
 * translates a line greedily and draws the decoder's last layer for each piece of the
 * translation. Site "encoder": draws the self-attention of the encoder's layers.
 * Errors: CLA_E_USAGE (no such site), CLA_E_INPUT (no piece, or more than a picture
 * holds; attention without maps), CLA_E_IO, and those of the model. */
cla_status cli_inspect_translation(translation *t, const char *text,
                                   const inspect_output *to);
