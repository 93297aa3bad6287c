/* pages.h - manual pages and completions from the tables of options. */
#pragma once

#include "cli/options.h"

/* Appends the manual page of a command, in roff; name is "clattn tag". Errors:
 * CLA_E_NOMEM. */
cla_status cli_manual_page(const char *name, const char *summary,
                           const cli_usage *usage, cla_text *out);

/* Appends the completion of all commands of `top` for a shell: bash, zsh or fish.
 * Errors: CLA_E_USAGE (another shell), CLA_E_NOMEM. */
cla_status cli_completion(const char *shell, const cli_usage *top, cla_text *out);
