/* kernels.h - a runtime with the kernels of tests/kernels. */
#pragma once

#include "clattn/clattn.h"

/* Sets CLATTN_KERNEL_PATH to the folder CLATTN_TEST_KERNELS (set by meson), which has
 * the kernels of the product and of the tests, and opens test_runtime. */
cla_runtime *test_kernels(void);
