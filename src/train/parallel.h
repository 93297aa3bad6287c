/* parallel.h - data-parallel training over MPI, where the program was built with it. */
#pragma once

#include "train/step.h"

/* Joins the processes that mpirun started; alone otherwise (MPI is then not touched).
 * Errors: CLA_E_USAGE (mpirun, and a program without MPI). */
cla_status cla_parallel_open(cla_parallel *parallel);

/* Leaves. With a status that is not CLA_OK it ends the other processes, which do not
 * know of the failure; one that all have in common is closed with CLA_OK. */
void cla_parallel_close(const cla_parallel *parallel, cla_status status);

/* A runtime for this process: those of one machine each take the next device of the
 * kind that was chosen, and start again where there are fewer. */
cla_status cla_parallel_runtime(const cla_parallel *parallel, cla_runtime **rt,
                                const char *device);
