/* tensor.h - tensors, ragged batches, and the tape that records a step (tier 1).
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

/* CLA_F16 and CLA_I8 are types of the weights of a model that was loaded with fewer
 * bits. Only cla_linear, cla_tied_linear and cla_embedding read them. */
typedef enum cla_dtype { CLA_F32, CLA_I32, CLA_F16, CLA_I8 } cla_dtype;

typedef struct cla_tensor cla_tensor;
typedef struct cla_ragged cla_ragged;
typedef struct cla_tape cla_tape;

/* A tensor with memory of its own, whose values are undefined.
 *
 * shape  in  rank sizes >= 0
 *
 * Errors: CLA_E_SHAPE (rank outside 1..4, a negative size, 2^31 elements or more),
 * CLA_E_NOMEM (with what was asked and the device's limit), CLA_E_DEVICE. */
CLA_API cla_status cla_tensor_new(cla_tensor **out, cla_runtime *rt, cla_dtype dtype,
                                  int rank, const int64_t *shape);
CLA_API void cla_tensor_free(cla_tensor **t);

/* A tensor over numbers in host memory, which the application lends.
 *
 * host  in  the numbers of the tensor, row-major. They must stay, and must not change,
 *           until the tensor is freed and the work that reads it has ended
 *
 * On CPUs the device reads host itself where it begins at a multiple of 64 bytes. Else
 * the tensor is a copy. For inputs of operators: whether host changes when the tensor
 * is written to depends on that.
 *
 * Errors: as cla_tensor_new. */
CLA_API cla_status cla_tensor_borrow(cla_tensor **out, cla_runtime *rt, cla_dtype dtype,
                                     int rank, const int64_t *shape, void *host);

/* Lends host memory for the gradient of t, which is no result and has none yet. host
 * holds as many numbers as t and must stay until t is freed. Where CPUs can work on it,
 * as above, backward passes write there; else it is not used. Either way
 * cla_tensor_download of the gradient into host makes it hold the numbers, in the first
 * case without a copy.
 *
 * Errors: CLA_E_USAGE (a result, a view, or a gradient is there), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
CLA_API cla_status cla_tensor_borrow_grad(cla_tensor *t, void *host);

CLA_API int cla_tensor_rank(const cla_tensor *t);
CLA_API int64_t cla_tensor_dim(const cla_tensor *t, int axis);
CLA_API int64_t cla_tensor_size(const cla_tensor *t); // number of elements
CLA_API cla_dtype cla_tensor_dtype(const cla_tensor *t);

/* A tensor with memory of its own and the numbers of t, copied on the device. t holds
 * f32 or i32; it may be a result, which its tape frees before the copy.
 *
 * Errors: CLA_E_SHAPE (t is a column view, or weights of 16 or 8 bits), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
CLA_API cla_status cla_tensor_copy(cla_tensor **out, const cla_tensor *t);

/* Copy the whole tensor. A download waits for the device. After an upload host may be
 * changed at once; another queue sees the values after cla_runtime_finish. host must
 * hold cla_tensor_size elements, which cannot be checked: cla_tensor_write and
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
 * Errors: CLA_E_SHAPE (elements beyond those of t, a column view), CLA_E_DEVICE. */
CLA_API cla_status cla_tensor_write(cla_tensor *t, int64_t first, int64_t count,
                                    const void *host);
CLA_API cla_status cla_tensor_read(const cla_tensor *t, int64_t first, int64_t count,
                                   void *host);

CLA_API cla_status cla_tensor_fill(cla_tensor *t, float value); // F32 only

/* Sets whether a training tape computes this tensor's gradient. It is false for new
 * tensors; a result needs a gradient if one of its inputs does. */
CLA_API void cla_tensor_want_grad(cla_tensor *t, bool wanted);

/* The sum of the gradients of all backward passes so far; NULL before the first. It
 * lives as long as t. */
CLA_API cla_tensor *cla_tensor_grad(const cla_tensor *t);

/* Drops the gradient: the next backward pass starts from zero. */
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

/* A tape owns the tensors of one step: results, gradients, and what the backward pass
 * needs.
 *
 * training  whether operators record their backward pass
 *
 * Errors: CLA_E_NOMEM. */
CLA_API cla_status cla_tape_new(cla_tape **out, cla_runtime *rt, bool training);
CLA_API void cla_tape_free(cla_tape **tape);

/* Frees all tensors of the tape. It keeps their memory for the next step. */
CLA_API void cla_tape_reset(cla_tape *tape);

/* Makes the tape the owner of rows: it frees them when it is reset. cla_ragged_free of
 * such rows only sets the pointer to NULL. */
CLA_API void cla_tape_keep(cla_tape *tape, cla_ragged *rows);

/* The key of all random draws of this step: same seed and step, same draws. */
CLA_API void cla_tape_random(cla_tape *tape, uint32_t seed, uint32_t step);

/* Sets the number of this tape's first row in a batch that several processes share, so
 * that a row draws the same numbers in every process. 0 unless set. */
CLA_API void cla_tape_rows(cla_tape *tape, uint32_t first);

/* A tensor that lives until the tape is reset. Errors: as cla_tensor_new. */
CLA_API cla_status cla_tape_tensor(cla_tape *tape, cla_tensor **out, cla_dtype dtype,
                                   int rank, const int64_t *shape);

/* Adds dy (NULL: ones) to the gradient of the result y, the start of a backward pass.
 * Several results may be seeded for one pass.
 *
 * Errors: CLA_E_USAGE (y is a view, has a gradient already, is of another tape, or of
 * steps that have run backward), CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_tape_seed(cla_tape *tape, cla_tensor *y, const cla_tensor *dy);

/* Runs the recorded backward steps in reverse order, and drops them: a second pass
 * needs a forward pass of its own. Gradients are added to those that are there.
 *
 * Errors: CLA_E_USAGE (not a training tape; nothing was seeded since the last pass; a
 * gradient for the result of steps that an earlier pass has run), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
CLA_API cla_status cla_tape_backward(cla_tape *tape);

#ifdef __cplusplus
}
#endif
