/* tensor.h - tensors, ragged batches, and the tape that remembers a step (tier 1).
 *
 * Tensors are row-major, contiguous and of rank 1 to 4. A batch of sequences is packed:
 * tokens [N, ...] one after the other, with a cla_ragged that says where each begins.
 *
 * Lifetimes: what cla_tensor_new and cla_ragged_new make lives until it is freed; what
 * a tape makes lives until cla_tape_reset or cla_tape_free. All that an operator on a
 * training tape reads (its tensors, also those without a gradient, such as ids and
 * targets, and its cla_ragged) must live until the tape is reset: cla_tape_backward
 * reads it again, and views share memory. On a tape that is not training, inputs may be
 * freed as soon as the operator has returned. Structures of options, arrays of pointers
 * and texts are not needed after the call. All tensors, batches and tapes must be freed
 * before their runtime. Thread-safety: as the runtime. */
#pragma once

#include "clattn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CLA_F16 and CLA_I8 are of the weights of a model that was loaded with fewer bits:
 * linear, tied_linear and embedding read them, no other operator. */
typedef enum cla_dtype { CLA_F32, CLA_I32, CLA_F16, CLA_I8 } cla_dtype;

typedef struct cla_tensor cla_tensor;
typedef struct cla_ragged cla_ragged;
typedef struct cla_tape cla_tape;

/* A tensor of its own, content undefined.
 *
 * shape  in  rank sizes >= 0
 *
 * Errors: CLA_E_SHAPE (rank outside 1..4, a negative size, 2^31 elements or more),
 * CLA_E_NOMEM (with what was asked and the device's limit), CLA_E_DEVICE. */
CLA_API cla_status cla_tensor_new(cla_tensor **out, cla_runtime *rt, cla_dtype dtype,
                                  int rank, const int64_t *shape);
CLA_API void cla_tensor_free(cla_tensor **t);

CLA_API int cla_tensor_rank(const cla_tensor *t);
CLA_API int64_t cla_tensor_dim(const cla_tensor *t, int axis);
CLA_API int64_t cla_tensor_size(const cla_tensor *t); // number of elements
CLA_API cla_dtype cla_tensor_dtype(const cla_tensor *t);

/* Copies the whole tensor. A download waits; after an upload host may change at once,
 * and another queue sees the numbers after cla_runtime_finish. host holds
 * cla_tensor_size elements, which the functions cannot check: cla_tensor_write and
 * cla_tensor_read take the size.
 * Errors: CLA_E_SHAPE (t is a column view), CLA_E_DEVICE. */
CLA_API cla_status cla_tensor_upload(cla_tensor *t, const void *host);
CLA_API cla_status cla_tensor_download(const cla_tensor *t, void *host);

/* Copy the elements first .. first+count-1, in row-major order, from host memory or to
 * it, as the two above. The other elements stay as they are.
 *
 * first  in  0 or more
 * count  in  elements that host holds
 *
 * Errors: CLA_E_SHAPE (elements that t has not; t is a column view), CLA_E_DEVICE. */
CLA_API cla_status cla_tensor_write(cla_tensor *t, int64_t first, int64_t count,
                                    const void *host);
CLA_API cla_status cla_tensor_read(const cla_tensor *t, int64_t first, int64_t count,
                                   void *host);

CLA_API cla_status cla_tensor_fill(cla_tensor *t, float value); // F32 only

/* Whether a training tape computes this tensor's gradient. False for new tensors;
 * results of ops have it when an input has. */
CLA_API void cla_tensor_want_grad(cla_tensor *t, bool wanted);

/* The gradient that backward passes have added up so far, or NULL when none has. It
 * lives as long as t does. */
CLA_API cla_tensor *cla_tensor_grad(const cla_tensor *t);

/* Forgets the gradient, so that the next backward pass starts from zero. */
CLA_API void cla_tensor_clear_grad(cla_tensor *t);

/* Columns [first, first + heads*width) of x [N,C] seen as [N,heads,width], with no
 * copy: q, k and v as parts of one fused projection. Attention ops read such views; the
 * gradient of a view is that part of x's gradient.
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM. */
CLA_API cla_status cla_tensor_columns(cla_tape *tape, cla_tensor **out, cla_tensor *x,
                                      int64_t first, int64_t heads, int64_t width);

/* The same numbers under another shape of the same size, with no copy; the gradient is
 * shared too. Errors: CLA_E_SHAPE (with both sizes), CLA_E_NOMEM. */
CLA_API cla_status cla_tensor_reshape(cla_tape *tape, cla_tensor **out, cla_tensor *x,
                                      int rank, const int64_t *shape);

/* Where each of B sequences lies in a packed batch.
 *
 * offsets  in  [B+1], from 0, never falling: sequence b owns rows
 *              offsets[b] .. offsets[b+1]-1; equal neighbours are an empty sequence
 *
 * Errors: CLA_E_SHAPE (with the first bad offset), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_ragged_new(cla_ragged **out, cla_runtime *rt, int64_t sequences,
                                  const int32_t *offsets);
CLA_API void cla_ragged_free(cla_ragged **ragged);
CLA_API int64_t cla_ragged_sequences(const cla_ragged *ragged); // B
CLA_API int64_t cla_ragged_tokens(const cla_ragged *ragged);    // N
CLA_API int64_t cla_ragged_longest(const cla_ragged *ragged);   // Tmax

/* A tape owns one step: results, gradients and what backward needs.
 *
 * training  whether ops record how to go back
 *
 * Errors: CLA_E_NOMEM. */
CLA_API cla_status cla_tape_new(cla_tape **out, cla_runtime *rt, bool training);
CLA_API void cla_tape_free(cla_tape **tape);

/* Takes back everything the tape made, keeping the memory for the next step. */
CLA_API void cla_tape_reset(cla_tape *tape);

/* Gives rows to the tape, which frees them at its reset: for batches that are made for
 * one step. cla_ragged_free of such rows only sets the pointer to NULL. */
CLA_API void cla_tape_keep(cla_tape *tape, cla_ragged *rows);

/* The key of all random draws of this step: same seed and step, same draws. */
CLA_API void cla_tape_random(cla_tape *tape, uint32_t seed, uint32_t step);

/* Where this tape's rows begin in a batch that is shared out: a row draws the same
 * numbers whichever process has it. 0 unless set. */
CLA_API void cla_tape_rows(cla_tape *tape, uint32_t first);

/* A tensor with the life of the step. Errors: as cla_tensor_new. */
CLA_API cla_status cla_tape_tensor(cla_tape *tape, cla_tensor **out, cla_dtype dtype,
                                   int rank, const int64_t *shape);

/* Adds dy (NULL: ones) to the gradient of the result y, the start of a backward pass.
 * Several results may be seeded for one pass.
 *
 * Errors: CLA_E_USAGE (y is a view, has a gradient already, is of another tape, or of
 * steps that have run backward), CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_tape_seed(cla_tape *tape, cla_tensor *y, const cla_tensor *dy);

/* Runs what was recorded, last first, and forgets it: a second pass needs steps of its
 * own. Gradients add to what is there already.
 *
 * Errors: CLA_E_USAGE (not a training tape; nothing was seeded since the last pass; a
 * gradient for the result of steps that an earlier pass has run), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
CLA_API cla_status cla_tape_backward(cla_tape *tape);

#ifdef __cplusplus
}
#endif
