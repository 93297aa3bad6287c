/* verify.h - the files of clattn verify. */
#pragma once

#include "cli/options.h"

/* Lists the files of the paths, those of a folder in sorted order; without a path the
 * built-in cases. The caller frees them with cla_folder_list_free. Errors: CLA_E_IO,
 * CLA_E_INPUT (a folder without cases), CLA_E_NOMEM. */
cla_status cli_verify_files(const cli_words *paths, char ***files, size_t *count);
