/* clip.h - clipping by norm without waiting for the device. */
#pragma once

#include "tensor/tensor.h"

/* What a clipping leaves on the device; rest is what the sum of squares lost. */
typedef struct cla_clipping {
    float factor, sum, rest;
} cla_clipping;

/* Returns the norm before the clipping. */
double cla_clipping_norm(const cla_clipping *c);

/* Queues the clipping of g, of f32, as cla_clip, and a cla_clipping in `left`.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_clip_queue(cla_runtime *rt, const cla_memory *left, cla_tensor *g,
                          float limit);
