/* guard.h - stops a diverging run before it overwrites its last good state. */
#pragma once

#include "train/checkpoint.h"

/* Checks the loss of the latest step and updates the count in progress. A loss of at
 * least 10 times the first one (or 10, if that is more) for 20 consecutive steps is
 * divergence. Errors: CLA_E_NUMERIC. */
cla_status cla_guard_loss(cla_progress *progress, double loss);

/* Checks on the device that all parameters and moments are finite, with one launch for
 * each block. Errors: CLA_E_NUMERIC (names the block), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_guard_numbers(const cla_optim *optim, int64_t step);

/* Adds the last good state to the message of CLA_E_NUMERIC: that of step saved in the
 * folder dir (-1: none). Returns status. */
cla_status cla_guard_name_state(cla_status status, const char *dir, int64_t saved);
