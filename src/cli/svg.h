/* svg.h - pictures of attention maps. */
#pragma once

#include "base/text.h"
#include "models/tagger_maps.h"

/* All maps in a grid, a row for each layer and stage, with the tokens on both axes.
 * Errors: CLA_E_NOMEM. */
cla_status cli_svg_maps(cla_text *out, const tagger_map *maps, int count,
                        const char *const *tokens, const char *title);
