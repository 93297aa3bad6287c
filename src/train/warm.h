/* warm.h - warm start: a run that begins with the weights of another run. */
#pragma once

#include "base/text.h"
#include "train/task.h"

/* The result of a warm start. */
typedef struct cla_warm {
    cla_text path;  // of the file of weights
    size_t taken;   // number of copied tensors
    cla_text fresh; // " name name": parameters that keep their initial values
    cla_text left;  // likewise: tensors without a place in the system
} cla_warm;

/* Copies every parameter that the best (else last) state of a run has, with the same
 * name and shape. The run's vocabularies must be those in dir (NULL: not checked here,
 * another process does that).
 *
 * Errors: CLA_E_INPUT (other vocabularies, no tensor in common, a damaged file),
 * CLA_E_IO, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_warm_start(cla_warm *warm, cla_task *task, const char *run,
                          const char *dir);
void cla_warm_fini(cla_warm *warm);
