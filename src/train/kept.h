/* kept.h - evaluated states that a run keeps beside its last and its best one. */
#pragma once

#include "train/checkpoint.h"
#include "train/folder.h"

/* Writes the weights as those of progress->step. Errors: as cla_checkpoint_save. */
cla_status cla_kept_save(const cla_folder *folder, const cla_params *params,
                         const cla_progress *progress);

/* Removes the states of later steps than step, and the oldest of more than keep.
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_kept_trim(const cla_folder *folder, int keep, int64_t step);

/* The paths of a run's states, oldest first; cla_folder_list_free frees them.
 * Errors: CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_kept_list(const char *dir, char ***paths, size_t *count);
