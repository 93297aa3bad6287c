/* guard.h - stops a run that diverges before it overwrites its last good state. */
#pragma once

#include "train/checkpoint.h"

/* Judges the loss of the step that progress counts last, and keeps count in progress:
 * a loss of at least 10 times the first one (or 10, where that is more) for 20 steps in
 * a row is divergence. Errors: CLA_E_NUMERIC. */
cla_status cla_guard_loss(cla_progress *progress, double loss);

/* Checks on the device that every parameter and every moment is finite: one launch for
 * each block. Errors: CLA_E_NUMERIC (naming the block), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_guard_numbers(const cla_optim *optim, int64_t step);
