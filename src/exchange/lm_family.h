/* lm_family.h - causal language models of Hugging Face: what their weights and settings
 * are called there and here. Import and export read the same tables. */
#pragma once

#include "base/config.h"
#include "nn/param.h"

/* A parameter, and the tensors that stand side by side in it. */
typedef struct lm_weight {
    const char *ours;      // behind "layer.<i>." where layer; NULL ends a table
    const char *theirs[3]; // behind the prefix, or alone where it begins with '/'
    bool layer;
    bool turned; // they are [out,in], ours is [in,out]
} lm_weight;

typedef enum lm_type { LM_INT, LM_REAL, LM_BOOL } lm_type;

/* A setting that both have. */
typedef struct lm_key {
    const char *theirs, *ours; // NULL ends a table
    lm_type type;
    double usual; // of a file that lacks it; below 0: it is needed
} lm_key;

typedef struct lm_family {
    const char *type, *network; // "model_type", "architectures"
    const char *prefix;         // of tensors; files of GPT-2 may lack it
    const char *layer;          // of tensors of layer i: "h.<i>." is "h."
    const lm_weight *weight;
    const lm_key *key;
    const char *preset;
    const char *const *skipped; // endings of tensors that hold no parameters
} lm_family;

extern const lm_family cla_lm_families[]; // the last has no type

/* Finds the row of a parameter and its layer, or -1. NULL: there is none. */
const lm_weight *cla_lm_weight(const lm_family *family, const char *name, int *layer);

/* Appends the name of the k-th tensor of a row. Errors: CLA_E_NOMEM. */
cla_status cla_lm_name(const lm_family *family, const lm_weight *weight, int layer,
                       int k, cla_text *name);

/* Returns the columns of the k-th tensor of a row in a parameter of a network of width
 * D: queries are as wide as the network, keys and values share the rest. */
int64_t cla_lm_columns(const lm_weight *weight, const cla_param *param, int64_t D,
                       int k);
