/* weights.h - how many bits the weights of a loaded model have. */
#pragma once

#include "base/safetensors.h"
#include "nn/param.h"

typedef enum cla_weights {
    CLA_WEIGHTS_STORED, // as its state on disk has them
    CLA_WEIGHTS_FLOAT32,
    CLA_WEIGHTS_FLOAT16,
    CLA_WEIGHTS_INT8,
} cla_weights;

/* The option that commands have for it. */
#define CLA_WEIGHTS_NAMES "float32 float16 int8"

/* text NULL is CLA_WEIGHTS_STORED. Errors: CLA_E_USAGE. */
cla_status cla_weights_parse(const char *text, cla_weights *weights);

/* What the parameters of a model hold that is loaded from file: where weights are
 * CLA_WEIGHTS_STORED, the shortest numbers that the file has. */
cla_dtype cla_weights_dtype(cla_weights weights, const cla_st_file *file);

/* Numbers of the file for a parameter, in the bits that it holds; 8 bits go as they
 * are from one to the other. Errors: CLA_E_INPUT (scales; beyond what halves hold),
 * CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_weights_write(const cla_params *params, const cla_param *p,
                             const cla_st_file *file, const char *path,
                             const cla_st_tensor *t);
