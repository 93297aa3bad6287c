/* parallel.h - data-parallel training over MPI, in programs built with it. */
#pragma once

#include "train/step.h"

/* Joins the processes that mpirun started; a single process does not use MPI.
 * Errors: CLA_E_USAGE (mpirun, but a program built without MPI), CLA_E_DEVICE. */
cla_status cla_parallel_open(cla_parallel *parallel);

/* Leaves the other processes. A status other than CLA_OK ends them, since they do not
 * know of the failure; after a failure common to all, pass CLA_OK. */
void cla_parallel_close(const cla_parallel *parallel, cla_status status);

/* Makes the runtime of this process. The processes of one machine take the devices of
 * the chosen kind in turn, and start again when there are fewer devices. */
cla_status cla_parallel_runtime(const cla_parallel *parallel, cla_runtime **rt,
                                const char *device);
