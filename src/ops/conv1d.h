/* conv1d.h - convolution along packed sequences, for several operators. */
#pragma once

#include "cl/conv1d_args.h"
#include "clattn/ops.h"
#include "tensor/signature.h"

/* Checks x, w, b and rows against the signature, and that w has a tap and an input
 * channel at least. Errors: CLA_E_USAGE, CLA_E_SHAPE. */
cla_status cla_conv1d_check(const cla_signature *signature, const cla_given *given);

/* Returns the kernel arguments of a forward pass over checked operands. */
conv_shape cla_conv1d_shape(const cla_tensor *x, const cla_tensor *w,
                            cla_activation activation);

/* Queues y = act(b + x * w); b may be NULL. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_conv1d_forward(cla_tape *tape, const cla_memory *y, const cla_tensor *x,
                              const cla_tensor *w, const cla_tensor *b,
                              const cla_ragged *rows, cla_activation activation);
