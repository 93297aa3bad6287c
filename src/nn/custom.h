/* custom.h - attention with scores that a config gives as expressions.
 *
 *   "attention": "custom", "score": "s - slope[h] * abs(j - i)",
 *   "learn": { "slope": { "shape": ["heads"], "init": "alibi" } }
 *
 * Keys: score, mask and weight (expressions, docs/custom.md), window, and learn: an
 * object of parameters that the expressions read, each with "shape" (numbers, "heads"
 * or "length") and "init" ("zeros", "ones", "normal", "alibi" or a number). */
#pragma once

#include "base/config.h"
#include "clattn/custom.h"
#include "nn/param.h"

enum { CUSTOM_NAME = 31, CUSTOM_TEXT = 1000, CUSTOM_HEADS = -1, CUSTOM_LENGTH = -2 };

/* A parameter that expressions read. */
typedef struct custom_learned {
    const char *name;
    int rank;
    int64_t shape[4]; // sizes, CUSTOM_HEADS or CUSTOM_LENGTH
    cla_init init;
} custom_learned;

typedef struct custom_config {
    const char *score, *mask, *weight; // "": none
    int window;                        // 0: none
    int count;
    custom_learned learned[CLA_CUSTOM_INPUTS];
} custom_config;

/* Reads the keys; settings keeps owning the strings. Errors: CLA_E_INPUT with file,
 * line and key, or with a caret under the place in an expression, CLA_E_NOMEM. */
cla_status cla_custom_configure(custom_config *config, cla_config *settings);

/* Refuses shapes with "length", for models without a longest sequence. Errors:
 * CLA_E_INPUT. */
cla_status cla_custom_refuse_length(const custom_config *config,
                                    const cla_config *settings);

/* Adds the parameters prefix.<name>, which cla_params_build puts into learned [count].
 * heads and length are the sizes that shapes may name. Errors: CLA_E_INPUT (more than
 * 2^31 numbers), CLA_E_NOMEM. */
cla_status cla_custom_init(const custom_config *config, cla_params *params,
                           cla_tensor **learned, const char *prefix, int heads,
                           int length);

/* Returns the argument mod of cla_custom_attention. */
cla_attention_mod cla_custom_mod(const custom_config *config,
                                 cla_tensor *const *learned);
