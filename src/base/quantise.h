/* quantise.h - 8-bit matrices with a scale for each row or column.
 *
 * w[r,c] is stored as scale q[r,c]: symmetric, without an offset. q is w / scale,
 * rounded to the nearest integer with ties to even, from -127 to 127. The scale is max
 * |w| / 127 of the row or column, at least FLT_MIN. Here products are summed in floats.
 * Source: Jacob et al. 2018, Quantization and Training of Neural Networks for Efficient
 * Integer-Arithmetic-Only Inference, 3; a scale for each vector as in Dettmers et al.
 * 2022, LLM.int8(), 3.1.
 *
 * In a file the scales of tensor 'x' are 'x.scale', F32 [rows,1] or [1,columns]. */
#pragma once

#include "base/safetensors.h"

/* Quantises w [rows,columns], which must be finite, to q [rows,columns] and scale,
 * [rows] when by_rows, else [columns]. A row (column) of zeros has the scale 1. */
void cla_quantise(int8_t *q, float *scale, const float *w, int64_t rows,
                  int64_t columns, bool by_rows);

/* Finds the scales of a tensor of CLA_ST_I8 and whether they are of its rows.
 * Errors: CLA_E_INPUT (no scales, another type or shape, a scale that is not finite or
 * not above 0), CLA_E_NOMEM. */
cla_status cla_st_scale(const cla_st_file *file, const char *path,
                        const cla_st_tensor *t, const cla_st_tensor **scale,
                        bool *by_rows);

/* Converts a tensor of floats, halves or 8-bit integers to floats, with scales, in out
 * [t->size]. Errors: those of cla_st_scale. */
cla_status cla_st_numbers(const cla_st_file *file, const char *path,
                          const cla_st_tensor *t, float *out);

/* Converts every 8-bit tensor of file to floats and removes its scales from the
 * tensors. Errors: those of cla_st_scale. */
cla_status cla_st_unpack(cla_st_file *file, const char *path);
