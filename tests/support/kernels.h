/* kernels.h - a runtime that also knows the kernels of tests/kernels. */
#pragma once

#include "clattn/clattn.h"

/* Points CLATTN_KERNEL_PATH at the test kernels beside the product's (set by meson as
 * CLATTN_TEST_KERNELS) and opens test_runtime. */
cla_runtime *test_kernels(void);
