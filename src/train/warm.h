/* warm.h - a run that begins from another one's weights. */
#pragma once

#include "base/text.h"
#include "train/task.h"

/* What was taken. */
typedef struct cla_warm {
    cla_text path;  // of the weights
    size_t taken;   // tensors
    cla_text fresh; // " name name": parameters that keep their first values
    cla_text left;  // tensors that the system has no place for
} cla_warm;

/* Copies every parameter that the best (else last) state of a run has under the same
 * name and in the same shape. The run's vocabularies must be those in dir (NULL: not
 * looked at, another process does).
 *
 * Errors: CLA_E_INPUT (other vocabularies, no tensor in common, a damaged file),
 * CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_warm_start(cla_warm *warm, cla_task *task, const char *run,
                          const char *dir);
void cla_warm_fini(cla_warm *warm);
