/* inspect.h - pictures of what a trained system looks at. */
#pragma once

#include "train/translation.h"

/* Translates a line by the likeliest pieces, and draws as SVG what the decoder's last
 * layer reads of the source for each of them. Errors: CLA_E_INPUT (no piece, or more
 * than a picture holds), CLA_E_IO, and those of the model. */
cla_status cli_inspect_translation(translation *t, const char *text, const char *title,
                                   const char *path);
