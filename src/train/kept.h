/* kept.h - evaluated states that a run keeps beside its last and its best state. */
#pragma once

#include "train/checkpoint.h"
#include "train/folder.h"

/* Writes the weights as the state of progress->step. Errors: those of
 * cla_checkpoint_save. */
cla_status cla_kept_save(const cla_folder *folder, const cla_params *params,
                         const cla_progress *progress);

/* Removes the states of steps after step. Of the others, leaves the newest keep states.
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_kept_trim(const cla_folder *folder, int keep, int64_t step);

/* Lists the paths of a run's kept states, oldest first; cla_folder_list_free frees it.
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_kept_list(const char *dir, char ***paths, size_t *count);
