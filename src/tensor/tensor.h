/* tensor.h - internals of tensors, ragged batches and the tape, for operators. */
#pragma once

#include <assert.h>

#include "clattn/tensor.h"
#include "runtime/runtime.h"

/* The elements of a tensor in another layout, kept by the operator that made it. */
typedef struct cla_form {
    cla_memory memory; // mem NULL: none yet
    uint32_t version;  // of the tensor when the form was made
    uint32_t asked;    // version at the last request
    int64_t size;      // elements of the tensor in it; a product may use some rows only
    int parts;         // of bf16 for a number, in fragments (cl/unit.clh); 0: floats
} cla_form;

/* Weights in another order in their own memory: the panels that products read, so that
 * inference keeps each weight once (ops/matmul_turn.c). */
typedef struct cla_turned {
    cla_order order;   // of the tensor's memory; other: turned
    cla_memory memory; // the tensor's memory with all its room, as it is
    cla_order *whole;  // of the block around it, told of each turn; NULL: none
    bool transposed;   // panels of the transposed matrix
    int64_t first;     // rows in the panels; the others are panels behind them
    int back;          // how often it was turned back
} cla_turned;

struct cla_tensor {
    cla_runtime *rt;
    cla_tape *tape; // owner; NULL: the caller owns the tensor
    cla_dtype dtype;
    int rank;
    int64_t shape[4]; // unused axes are 1
    cla_memory memory;
    cla_tensor *base; // tensor of a view, which uses its memory
    int64_t offset; // floats from the start of memory to the first row; 0 unless a view
    cla_memory scale; // [rows or columns] f32, factors of CLA_I8; else none
    bool bytes;       // products with weights of CLA_I8 round their rows to 8 bits
    int64_t stride;   // floats from row to row; product of shape[1..] unless a view
    bool inner;       // of a block of the tape, which moves it (tensor/block.h)
    bool wants_grad;
    cla_tensor *grad; // made at the first request
    bool grad_filled; // grad holds a gradient: add to it; else write
    bool passed;      // the backward step of what made it has run, and is gone
    uint64_t
        used_in; // run of a tape that reads it; its steps before the first that does
    size_t first_use;
    uint32_t version;  // grows with each change; 0: changes are not tracked, no forms
    cla_form form[4];  // weights packed for products, plain and transposed; then the
                       // state's rows of a recurrence, plain and transposed
    cla_turned turned; // memory.mem NULL: never
};

/* Marks the elements of a tensor as changed, so that its forms are made again.
 * Whatever writes a tensor with a version, other than by upload, write and fill, must
 * call it. */
static inline void cla_tensor_changed(cla_tensor *t)
{
    t->version += t->version ? 1 : 0;
}

struct cla_ragged {
    cla_runtime *rt;
    cla_ragged *next; // of the rows that a tape keeps
    bool kept;        // by a tape, which frees it
    int64_t sequences, tokens, longest;
    int32_t *offsets;          // [B+1] on the host
    cla_memory device_offsets; // [B+1] i32, then [B] the sequences, longest first
    cla_memory device_spans;   // [N] int2: start and end of the token's sequence
};

/* Returns the number of elements. */
static inline int64_t cla_size(const cla_tensor *t)
{
    return t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3];
}

/* Return the bytes of an element, and the name of the type, such as "f32". */
size_t cla_width(cla_dtype dtype);
const char *cla_dtype_name(cla_dtype dtype);

/* Returns the define WEIGHTS of kernels that read weights (cl/weights.clh): 0 for
 * floats, 1 for halves, 2 for 8 bits. */
static inline int cla_stored(const cla_tensor *t)
{
    return t->dtype == CLA_F16 ? 1 : t->dtype == CLA_I8 ? 2 : 0;
}

/* Returns the last define of a launch whose kernels read weights; none for floats. */
static inline cla_define cla_weights_define(int stored)
{
    return (cla_define){ stored ? "WEIGHTS" : NULL, stored };
}

/* Returns a tensor as a kernel argument (NULL stays NULL). Of a column view only its
 * own elements count as moved. */
static inline cla_arg cla_buf(const cla_tensor *t)
{
    return t ? cla_mem_some(&t->memory, (size_t)cla_size(t) * cla_width(t->dtype))
             : cla_mem(NULL);
}

/* Returns "[2,3,4]" in a small ring of buffers: valid for one message. */
const char *cla_shape_text(const cla_tensor *t);

/* Checks that t is a contiguous tensor of this type and shape; a size of -1 matches
 * any. who begins the message: "linear: w is [3,4], must be [5,4]". Errors:
 * CLA_E_SHAPE, CLA_E_USAGE (t is NULL). */
cla_status cla_check_shape(const char *who, const char *name, const cla_tensor *t,
                           cla_dtype dtype, int rank, const int64_t *shape);

/* Checks the same for f32 and any shape. */
static inline cla_status cla_check_f32(const char *who, const char *name,
                                       const cla_tensor *t)
{
    static const int64_t any[4] = { -1, -1, -1, -1 };
    return t ? cla_check_shape(who, name, t, CLA_F32, t->rank, any)
             : cla_fail(CLA_E_USAGE, "%s: %s is NULL", who, name);
}

/* Fails with CLA_E_USAGE when one of owners [n], runtimes or NULL, is not rt: "linear:
 * b belongs to another runtime, on device 'x'". who and names are as in cla_need. */
cla_status cla_same_runtime(const char *who, const char *names, const cla_runtime *rt,
                            const cla_runtime *const *owners, size_t n);

/* Return the runtime that a tensor or batch was made with; NULL for NULL, and for
 * pointers to anything else. */
const cla_runtime *cla_runtime_of_tensor(const cla_tensor *t);
const cla_runtime *cla_runtime_of_rows(const cla_ragged *rows);
const cla_runtime *cla_runtime_of_other(const void *other);
#define CLA_RUNTIME_OF(pointer) \
    _Generic((pointer),                             \
        cla_tensor *: cla_runtime_of_tensor,        \
        const cla_tensor *: cla_runtime_of_tensor,  \
        cla_ragged *: cla_runtime_of_rows,          \
        const cla_ragged *: cla_runtime_of_rows,    \
        default: cla_runtime_of_other)(pointer)

/* CLA_EACH(f, a, b) is f(a), f(b), for 1 to 9 arguments. */
#define CLA_EACH(f, ...)                                                          \
    CLA_TENTH(__VA_ARGS__, CLA_EACH9, CLA_EACH8, CLA_EACH7, CLA_EACH6, CLA_EACH5, \
              CLA_EACH4, CLA_EACH3, CLA_EACH2, CLA_EACH1, 0)                      \
    (f, __VA_ARGS__)
#define CLA_TENTH(a, b, c, d, e, f, g, h, i, tenth, ...) tenth
#define CLA_EACH1(f, a)                                  f(a)
#define CLA_EACH2(f, a, ...)                             f(a), CLA_EACH1(f, __VA_ARGS__)
#define CLA_EACH3(f, a, ...)                             f(a), CLA_EACH2(f, __VA_ARGS__)
#define CLA_EACH4(f, a, ...)                             f(a), CLA_EACH3(f, __VA_ARGS__)
#define CLA_EACH5(f, a, ...)                             f(a), CLA_EACH4(f, __VA_ARGS__)
#define CLA_EACH6(f, a, ...)                             f(a), CLA_EACH5(f, __VA_ARGS__)
#define CLA_EACH7(f, a, ...)                             f(a), CLA_EACH6(f, __VA_ARGS__)
#define CLA_EACH8(f, a, ...)                             f(a), CLA_EACH7(f, __VA_ARGS__)
#define CLA_EACH9(f, a, ...)                             f(a), CLA_EACH8(f, __VA_ARGS__)

/* Checks that tensors and batches, NULLs allowed, are of this runtime. */
#define CLA_SAME(rt, ...)                                                      \
    CLA_TRY(cla_same_runtime(                                                  \
        __func__, #__VA_ARGS__, rt,                                            \
        (const cla_runtime *const[]){ CLA_EACH(CLA_RUNTIME_OF, __VA_ARGS__) }, \
        sizeof((const void *const[]){ __VA_ARGS__ }) / sizeof(void *)))

/* The first line of an operator. Fails if the tape, the pointer to the result or one of
 * the pointers behind it is NULL, sets the result to NULL, and holds the runtime for
 * this thread until the operator returns. Fails, too, if one of them is a tensor or
 * batch of another runtime. CLA_MAY, the second line, checks this for those that may be
 * NULL, also in options. */
#define CLA_OP(tape, ...)                                             \
    if (CLA_FIRST(__VA_ARGS__, 0)) *CLA_FIRST(__VA_ARGS__, 0) = NULL; \
    CLA_NEED(tape, __VA_ARGS__);                                      \
    CLA_HOLD(cla_tape_runtime(tape));                                 \
    CLA_SAME(cla_tape_runtime(tape), __VA_ARGS__)
#define CLA_MAY(tape, ...)    CLA_SAME(cla_tape_runtime(tape), __VA_ARGS__)
#define CLA_FIRST(first, ...) first

/* ---- recording ------------------------------------------------------------------ */

/* Runs the backward step of one operator. saved is the tape's copy of the bytes that
 * the operator recorded. */
typedef cla_status (*cla_backward)(cla_tape *tape, void *saved);

bool cla_tape_training(const cla_tape *tape);
cla_runtime *cla_tape_runtime(const cla_tape *tape);

/* Returns whether t is a column view, which has gaps between its rows. */
static inline bool cla_is_columns(const cla_tensor *t)
{
    return t->base && t->stride != t->shape[1] * t->shape[2] * t->shape[3];
}

/* Returns whether an operator that reads these inputs (NULLs allowed) must record a
 * backward step. Call it before that, with all inputs whose gradients the step writes:
 * it notes their uses. */
bool cla_tape_needs_grad(const cla_tape *tape, int n, cla_tensor *const *inputs);

/* Records a backward step with a copy of the size bytes of saved. It runs only if a
 * gradient has reached one of the results (NULLs allowed). */
enum { CLA_RESULTS = 3 };
cla_status cla_tape_record(cla_tape *tape, cla_backward back, const void *saved,
                           size_t size, cla_tensor *const results[CLA_RESULTS]);

/* The backward step of an operator: the arguments of cla_tape_record, and the inputs
 * (NULLs allowed). */
typedef struct cla_note {
    cla_backward back;
    const void *saved;
    size_t size;
    cla_tensor *inputs[6];
} cla_note;

/* Ends an operator with one result and sets *y to out. If an input needs a gradient,
 * out wants one, and the backward step is recorded. */
cla_status cla_tape_give(cla_tape *tape, cla_tensor **y, cla_tensor *out,
                         const cla_note *end);

/* cla_tape_mark returns the number of recorded steps. cla_tape_backward_to runs the
 * steps after a mark, the last first, and keeps those before it. More steps may then be
 * recorded, whose gradients flow into the kept ones. Errors: as cla_tape_backward. */
size_t cla_tape_mark(const cla_tape *tape);
cla_status cla_tape_backward_to(cla_tape *tape, size_t mark);

/* Calls `seen` after each step of cla_tape_backward, which fails as seen does. NULL
 * ends that. */
typedef cla_status (*cla_tape_seen)(void *watcher, cla_tape *tape);
void cla_tape_watch(cla_tape *tape, cla_tape_seen seen, void *watcher);

/* Returns the number of steps before the first that may write the gradient of t, a
 * tensor of the caller: when only these are left, its gradient is complete. SIZE_MAX:
 * none of the steps writes it. */
size_t cla_tape_first_use(const cla_tape *tape, const cla_tensor *t);

/* Makes the gradient of x if it has none. It lives as long as x: on the tape, or on its
 * own. Errors: CLA_E_USAGE (what made x has run backward: the gradient would go no
 * further), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_grad_make(const char *who, cla_tape *tape, cla_tensor *x);

/* Returns the gradient of a result, or NULL if none has reached it: then there is
 * nothing to do. */
const cla_tensor *cla_grad_in(const cla_tensor *y);

/* Gives the tensor for the gradient of an input. *grad is NULL when x wants none. *add
 * is 1 when the kernel must add to it; when *add is 0, *grad is undefined memory and
 * the kernel must write every element. For a view, *grad is the view into the base's
 * gradient (for a column view zeroed when fresh, so *add is 1). The call marks the
 * gradient as filled.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_grad_out(cla_tape *tape, cla_tensor *x, cla_tensor **grad, int *add);

/* Called before cla_grad_out for n inputs that may be columns of one tensor. *fresh is
 * true when they are all of its columns, each once, and no gradient has reached them.
 * Then no zeros are written, and the kernels must write every element of each, whatever
 * *add is. Errors: CLA_E_NOMEM. */
cla_status cla_grad_all_columns(cla_tape *tape, int n, cla_tensor *const *x,
                                bool *fresh);

/* Gives device memory that lasts until the tape's reset. */
cla_status cla_tape_scratch(cla_tape *tape, cla_memory *out, size_t bytes);

/* Uploads integers from the host to a tensor [n] of the step (ids, lengths, targets).
 * Errors: as cla_tape_tensor. */
cla_status cla_tape_ids(cla_tape *tape, cla_tensor **out, int64_t n,
                        const int32_t *host);

/* The key of an operator's random draws: seed, step and a stream number of its own.
 * Kernels take it as three u32 numbers (seed, step, stream). */
typedef struct cla_stream {
    uint32_t seed, step, stream;
    uint32_t first_row; // of this process's rows in the whole batch; add it to the row
} cla_stream;
cla_stream cla_tape_stream(cla_tape *tape);

/* Lets products turn the elements of a tensor. memory is the tensor's own or begins
 * with it and has more room; the tensor then frees it. whole: the order of the block
 * that it is a part of, or NULL. */
void cla_tensor_may_turn(cla_tensor *t, const cla_memory *memory, cla_order *whole);

/* Makes a tensor over part of a block (parameters and their moments are one block
 * each). The block must outlive it. Errors: as cla_tensor_new. */
cla_status cla_tensor_over(cla_tensor **out, cla_runtime *rt, const cla_memory *block,
                           size_t offset_bytes, cla_dtype dtype, int rank,
                           const int64_t *shape);

/* Sets all of a tensor but its memory. Errors: CLA_E_SHAPE, CLA_E_USAGE (shape is
 * NULL). */
cla_status cla_tensor_describe(cla_tensor *t, cla_runtime *rt, cla_dtype dtype,
                               int rank, const int64_t *shape);
