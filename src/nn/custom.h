/* custom.h - attention with scores of expressions, from a config.
 *
 *   "attention": "custom", "score": "s - slope[h] * abs(j - i)",
 *   "learn": { "slope": { "shape": ["heads"], "init": "alibi" } }
 *
 * Keys: score, mask and weight (expressions, docs/custom.md), window, and learn: an
 * object of parameters that the expressions read, each with "shape" (numbers, or
 * "heads" and "length") and "init" ("zeros", "ones", "normal", "alibi" or a number). */
#pragma once

#include "base/config.h"
#include "clattn/custom.h"
#include "nn/param.h"

enum { CUSTOM_NAME = 31, CUSTOM_TEXT = 1000, CUSTOM_HEADS = -1, CUSTOM_LENGTH = -2 };

/* A parameter that expressions read. */
typedef struct custom_learned {
    const char *name;
    int rank;
    int64_t shape[4]; // a size, or CUSTOM_HEADS and CUSTOM_LENGTH
    cla_init init;
} custom_learned;

typedef struct custom_config {
    const char *score, *mask, *weight; // "": none
    int window;                        // 0: none
    int count;
    custom_learned learned[CLA_CUSTOM_INPUTS];
} custom_config;

/* Reads the keys; the texts stay those of settings. Errors: CLA_E_INPUT with file, line
 * and key, or with a caret under the place in an expression, CLA_E_NOMEM. */
cla_status cla_custom_configure(custom_config *config, cla_config *settings);

/* Refuses shapes of "length", for models without a longest sequence. Errors:
 * CLA_E_INPUT. */
cla_status cla_custom_refuse_length(const custom_config *config,
                                    const cla_config *settings);

/* Adds the parameters, named prefix.<name>, to learned[0..count-1]. Shapes may name
 * heads and length. Errors: CLA_E_INPUT (more than 2^31 numbers), CLA_E_NOMEM. */
cla_status cla_custom_init(const custom_config *config, cla_params *params,
                           cla_tensor **learned, const char *prefix, int heads,
                           int length);

/* What cla_custom_attention takes. */
cla_attention_mod cla_custom_mod(const custom_config *config,
                                 cla_tensor *const *learned);
