/* driver.h - what drivers need of their surroundings. */
#pragma once

#include "runtime/device.h"

/* Fails since there is no device, and says why: which platform has none, which file or
 * variable is at fault, what to install.
 * Errors: CLA_E_DEVICE; CLA_E_NOMEM (`ulimit -v' leaves a driver too little). */
cla_status cla_driver_absent(void);

/* Refuses a driver that would end the process when it compiles: PoCL without room in
 * its cache folder, or without a linker to start. Errors: CLA_E_DEVICE, CLA_E_NOMEM. */
cla_status cla_driver_ready(const cla_device *device);

/* Returns the folder where PoCL keeps kernels, NULL without memory. The caller frees
 * it. */
char *cla_pocl_cache(void);
