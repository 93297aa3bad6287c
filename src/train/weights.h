/* weights.h - the number type of a loaded model's weights. */
#pragma once

#include "base/safetensors.h"
#include "clattn/model.h"
#include "nn/param.h"

/* The values of the commands' option --weights. */
#define CLA_WEIGHTS_NAMES "float32 float16 int8"

/* The values of --compute. */
#define CLA_COMPUTE_NAMES "float32 int8"

/* Parse such a value; text NULL gives CLA_WEIGHTS_STORED and CLA_COMPUTE_FLOAT32.
 * Errors: CLA_E_USAGE. */
cla_status cla_weights_parse(const char *text, cla_weights *weights);
cla_status cla_compute_parse(const char *text, cla_compute *compute);

/* Returns the type of the parameters of a model that is loaded from file. For
 * CLA_WEIGHTS_STORED this is the shortest type in the file. */
cla_dtype cla_weights_dtype(cla_weights weights, const cla_st_file *file);

/* Writes tensor t of the file to a parameter, converted to the parameter's type. Copies
 * 8-bit numbers unchanged if their scales fit. Errors: CLA_E_INPUT (bad scales, or a
 * number too large for float16), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_weights_write(const cla_params *params, const cla_param *p,
                             const cla_st_file *file, const char *path,
                             const cla_st_tensor *t);
