/* tensor.h - inside of tensors, ragged batches and the tape, for ops. */
#pragma once

#include <assert.h>

#include "clattn/tensor.h"
#include "runtime/runtime.h"

/* The numbers of a tensor in another arrangement, kept by the op that made it. */
typedef struct cla_form {
    cla_memory memory; // mem NULL: none yet
    uint32_t version;  // of the tensor when the form was made
    uint32_t asked;    // version at which it was last asked for
    int64_t size; // numbers of the tensor in it: a product may be of some rows only
} cla_form;

struct cla_tensor {
    cla_runtime *rt;
    cla_tape *tape; // owner, NULL when the caller is
    cla_dtype dtype;
    int rank;
    int64_t shape[4]; // unused axes are 1
    cla_memory memory;
    cla_tensor *base; // what a view looks into; its memory is base's
    int64_t offset; // floats from the start of memory to the first row; 0 unless a view
    cla_memory scale; // [rows or columns] f32 of CLA_I8: a factor for each; else none
    int64_t stride;   // floats from row to row; product of shape[1..] unless a view
    bool wants_grad;
    cla_tensor *grad; // made when first asked for
    bool grad_filled; // grad holds numbers: add to them; else write
    uint32_t version; // grows with each change; 0: changes are not seen, keep no forms
    cla_form form[4]; // of weights packed for products, as they are and transposed; of
                      // those of a recurrence's states likewise
};

/* Whatever writes numbers of such a tensor other than by upload and fill says so here,
 * and forms made of the old ones are made again. */
static inline void cla_tensor_changed(cla_tensor *t)
{
    t->version += t->version ? 1 : 0;
}

struct cla_ragged {
    cla_runtime *rt;
    cla_ragged *next; // of those a tape keeps
    bool kept;        // by a tape, which frees it
    int64_t sequences, tokens, longest;
    int32_t *offsets;          // [B+1] on the host
    cla_memory device_offsets; // [B+1] i32; then [B], the sequences, longest first
    cla_memory device_spans;   // [N] int2: start and end of the token's sequence
};

/* Product of all sizes. */
static inline int64_t cla_size(const cla_tensor *t)
{
    return t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3];
}

/* Bytes of an element, and the name of the type: "f32". */
size_t cla_width(cla_dtype dtype);
const char *cla_dtype_name(cla_dtype dtype);

/* The define WEIGHTS of kernels that read weights (cl/weights.clh): 0 for floats, 1 for
 * halves, 2 for 8 bits. */
static inline int cla_stored(const cla_tensor *t)
{
    return t->dtype == CLA_F16 ? 1 : t->dtype == CLA_I8 ? 2 : 0;
}

/* The last define of a launch whose kernels read weights; none for floats. */
static inline cla_define cla_weights_define(int stored)
{
    return (cla_define){ stored ? "WEIGHTS" : NULL, stored };
}

/* A tensor as a kernel argument (NULL stays NULL). Of columns only those count as
 * moved. */
static inline cla_arg cla_buf(const cla_tensor *t)
{
    return t ? cla_mem_some(&t->memory, (size_t)cla_size(t) * cla_width(t->dtype))
             : cla_mem(NULL);
}

/* "[2,3,4]" in a small ring of buffers: good for one message. */
const char *cla_shape_text(const cla_tensor *t);

/* Fails with CLA_E_SHAPE unless t is a contiguous dtype tensor of this shape; a size of
 * -1 matches anything. who begins the message: "linear: w is [3,4], must be [5,4]". */
cla_status cla_check_shape(const char *who, const char *name, const cla_tensor *t,
                           cla_dtype dtype, int rank, const int64_t *shape);

/* The same for any shape. */
static inline cla_status cla_check_f32(const char *who, const char *name,
                                       const cla_tensor *t)
{
    static const int64_t any[4] = { -1, -1, -1, -1 };
    return t ? cla_check_shape(who, name, t, CLA_F32, t->rank, any)
             : cla_fail(CLA_E_USAGE, "%s: %s is NULL", who, name);
}

/* The first line of an operator: the tape, the result, and the pointers behind it must
 * not be NULL; the result is NULL until there is one; this thread holds the runtime
 * until the operator ends. */
#define CLA_OP(tape, ...)                                             \
    if (CLA_FIRST(__VA_ARGS__, 0)) *CLA_FIRST(__VA_ARGS__, 0) = NULL; \
    CLA_NEED(tape, __VA_ARGS__);                                      \
    CLA_HOLD(cla_tape_runtime(tape))
#define CLA_FIRST(first, ...) first

/* ---- recording ------------------------------------------------------------------ */

/* Goes back through one op. saved is the op's copy of what it noted when recording. */
typedef cla_status (*cla_backward)(cla_tape *tape, void *saved);

bool cla_tape_training(const cla_tape *tape);
cla_runtime *cla_tape_runtime(const cla_tape *tape);

/* Whether t is a column view: rows with gaps between them. */
static inline bool cla_is_columns(const cla_tensor *t)
{
    return t->base && t->stride != t->shape[1] * t->shape[2] * t->shape[3];
}

/* Whether backward must be recorded for an op that reads these (NULLs allowed). */
bool cla_tape_needs_grad(const cla_tape *tape, int n, cla_tensor *const *inputs);

/* Notes a backward step with size bytes of saved (copied). */
cla_status cla_tape_record(cla_tape *tape, cla_backward back, const void *saved,
                           size_t size);

/* What an operator notes for its way back: cla_tape_record's arguments, and its inputs
 * (NULLs allowed). */
typedef struct cla_note {
    cla_backward back;
    const void *saved;
    size_t size;
    cla_tensor *inputs[6];
} cla_note;

/* The end of an operator with one result: out wants a gradient where one of the inputs
 * does, then that is recorded, and called back where out has got one; *y is out. */
cla_status cla_tape_give(cla_tape *tape, cla_tensor **y, cla_tensor *out,
                         const cla_note *end);

/* How far the tape's notes reach. cla_tape_backward_to goes back to a mark and leaves
 * what was noted before it; more may then be noted, from where gradients flow on into
 * that. Errors: as cla_tape_backward. */
size_t cla_tape_mark(const cla_tape *tape);
cla_status cla_tape_backward_to(cla_tape *tape, size_t mark);

/* The gradient that has flowed into a result, or NULL: then there is nothing to do. */
const cla_tensor *cla_grad_in(const cla_tensor *y);

/* Where the gradient of an input goes. *grad is NULL when x wants none. *add says
 * whether the kernel must add to what is there (1) or write over undefined memory (0);
 * it must then write every element. For a view, *grad is the view into the base's
 * gradient (zeroed when fresh, so *add is 1). Calling it counts as filling it.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_grad_out(cla_tape *tape, cla_tensor *x, cla_tensor **grad, int *add);

/* In front of cla_grad_out for n inputs that may be columns of one tensor: *fresh says
 * that they are all of its columns, each once, and that nothing has flowed into them.
 * Then no zeros are written, and the kernels must write every element of each, whatever
 * *add says. Errors: CLA_E_NOMEM. */
cla_status cla_grad_all_columns(cla_tape *tape, int n, cla_tensor *const *x,
                                bool *fresh);

/* Device memory until the tape's reset. */
cla_status cla_tape_scratch(cla_tape *tape, cla_memory *out, size_t bytes);

/* Whole numbers from the host as a tensor [n] of the step (ids, lengths, targets).
 * Errors: as cla_tape_tensor. */
cla_status cla_tape_ids(cla_tape *tape, cla_tensor **out, int64_t n,
                        const int32_t *host);

/* The key of one op's random draws: seed, step and a number of its own. Kernels take it
 * as three u32 arguments (seed, step, stream). */
typedef struct cla_stream {
    uint32_t seed, step, stream;
    uint32_t first_row; // of this process's rows in the whole batch: add it to the row
} cla_stream;
cla_stream cla_tape_stream(cla_tape *tape);

/* A tensor over part of a block (parameters and their moments are one block each). The
 * block outlives it. Errors: as cla_tensor_new. */
cla_status cla_tensor_over(cla_tensor **out, cla_runtime *rt, const cla_memory *block,
                           size_t offset_bytes, cla_dtype dtype, int rank,
                           const int64_t *shape);

/* Fills in all of a tensor but its memory. Errors: CLA_E_SHAPE. */
cla_status cla_tensor_describe(cla_tensor *t, cla_runtime *rt, cla_dtype dtype,
                               int rank, const int64_t *shape);
