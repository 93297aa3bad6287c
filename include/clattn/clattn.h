/* clattn.h - attention on any OpenCL device: all of the library clattn, the core.
 *
 * The library clattn-models, trained systems on top of it, has clattn/model.h; clattn's
 * own clattn/opencl.h is for programs that use OpenCL themselves. A complete program is
 * examples/embed.c. */
#pragma once

#include "clattn/arithmetic.h"
#include "clattn/custom.h"
#include "clattn/feed.h"
#include "clattn/gaussian.h"
#include "clattn/ham.h"
#include "clattn/hard.h"
#include "clattn/log.h"
#include "clattn/ops.h"
#include "clattn/optim.h"
#include "clattn/recurrent.h"
#include "clattn/rows.h"
#include "clattn/runtime.h"
#include "clattn/status.h"
#include "clattn/tensor.h"
#include "clattn/version.h"
