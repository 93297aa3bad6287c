/* quantise.h - matrices in 8 bits with a scale for each row or column.
 *
 * w[r,c] is kept as scale q[r,c], q = w / scale to the nearest whole number, ties to
 * even, -127 to 127, with scale = max |w| / 127 over the row or the column: symmetric,
 * without an offset. Jacob et al. 2018, Quantization and Training of Neural Networks
 * for Efficient Integer-Arithmetic-Only Inference, 3; a scale for each vector as in
 * Dettmers et al. 2022, LLM.int8(), 3.1. Products are summed in floats here.
 *
 * In a file the scales of tensor 'x' are 'x.scale', F32 [rows,1] or [1,columns]. */
#pragma once

#include "base/safetensors.h"

/* q [rows,columns] and scale, [rows] or [columns], of finite numbers w. A row (column)
 * of zeros has the scale 1. */
void cla_quantise(int8_t *q, float *scale, const float *w, int64_t rows,
                  int64_t columns, bool by_rows);

/* The scales of a tensor of CLA_ST_I8, and whether they are of its rows.
 * Errors: CLA_E_INPUT (none, another type or shape, a number that is not finite or not
 * above 0), CLA_E_NOMEM. */
cla_status cla_st_scale(const cla_st_file *file, const char *path,
                        const cla_st_tensor *t, const cla_st_tensor **scale,
                        bool *by_rows);

/* The numbers of a tensor of floats, halves or 8 bits. Errors: as cla_st_scale. */
cla_status cla_st_numbers(const cla_st_file *file, const char *path,
                          const cla_st_tensor *t, float *out);

/* Every tensor of 8 bits becomes one of floats, and its scales are no tensor any more.
 * Errors: as cla_st_scale. */
cla_status cla_st_unpack(cla_st_file *file, const char *path);
