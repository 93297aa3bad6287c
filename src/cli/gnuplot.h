/* gnuplot.h - pictures by way of gnuplot, where it is installed. */
#pragma once

#include "base/text.h"
#include "models/tagger_maps.h"

/* Runs a script. Errors: CLA_E_USAGE (there is no gnuplot), CLA_E_IO (it failed). */
cla_status cli_gnuplot(const cla_text *script);

/* A PNG of maps. Errors: as cli_gnuplot, CLA_E_NOMEM. */
cla_status cli_gnuplot_maps(const char *path, const tagger_map *maps, int count,
                            const char *const *tokens);

/* 'text' as gnuplot quotes it. Errors: CLA_E_NOMEM. */
cla_status cli_gnuplot_quote(cla_text *out, const char *text);
