/* recurrent.h - shared by the recurrent cells: products with the inputs before the
 * recurrence, and gradients of the weights after it. */
#pragma once

#include "cl/recurrent_args.h"
#include "clattn/recurrent.h"
#include "ops/matmul.h"
#include "tensor/signature.h"

/* One weight matrix: rows of the inputs, then those of a state. */
typedef struct cla_recurrent_weights {
    cla_tensor *w, *b;       // [in+n,C], [C]; b may be NULL
    int64_t column, columns; // its gates: C columns from `column` on
    bool inputs_only;        // without rows of a state: w is [in,C]
} cla_recurrent_weights;

/* One run of a cell along the sequences. */
typedef struct cla_recurrence {
    cla_tensor *x, *y; // [N,in], [N,n]
    const cla_ragged *rows;
    cla_recurrent_options options;
    cla_tensor *h, *c; // [B,n] final states; NULL when not wanted
    int gates;         // parts of n columns in the gates of a token
    bool apart;        // whether columns of the state do not depend on each other
    bool may_walk;     // whether there are kernels with recurrent_walk.clh
    bool walks;        // whether they are used; cla_recurrence_plan decides
    bool steps;        // whether each token takes a launch, likewise
    int group_rows;    // sequences of a group of the group schedule
    recurrent_shape shape;
    cla_memory work; // gates [N,gates*n], then the parts in shape
} cla_recurrence;

/* Checks the arguments (given[1] must be weights) and makes y [N,n], h and c.
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM. */
cla_status cla_recurrence_begin(cla_tape *tape, cla_recurrence *r,
                                const cla_signature *signature, const cla_given *given);

/* Ends the operator as cla_tape_give does, but for all results: the backward step runs
 * even if no gradient has reached y. */
cla_status cla_recurrence_give(cla_tape *tape, cla_tensor **y, const cla_recurrence *r,
                               const cla_note *end);

/* Lays out and allocates work; with keep, also the parts that backward reads. */
cla_status cla_recurrence_plan(cla_tape *tape, cla_recurrence *r, bool keep);

/* Queues gates = x w_x + b. */
cla_status cla_recurrence_inputs(cla_tape *tape, const cla_recurrence *r,
                                 const cla_recurrent_weights *w);

/* Gives the state's rows of w as the kernels of the current schedule read them: *out is
 * all of w, or panels that are kept until w changes (in scratch if w's changes are not
 * tracked). */
cla_status cla_recurrence_weights(cla_tape *tape, const cla_recurrence *r,
                                  cla_tensor *w, bool transposed,
                                  const cla_memory **out, cla_memory *scratch);

/* Queues the kernel that runs along the sequences, of file or tile_file ("lstm") by the
 * schedule. launch has args arguments; offsets and shape are appended. groups[1] may be
 * set, to directions. */
cla_status cla_recurrence_walk(cla_tape *tape, const cla_recurrence *r,
                               const char *file, const char *tile_file,
                               cla_launch *launch, int args);

/* A product in a step of the group schedule. */
typedef struct cla_step_part {
    cla_launch launch;      // file, kernel and first arguments
    int args;               // number of these arguments; the rest is appended
    int64_t columns, inner; // of the result; products that each of its numbers sums
    int directions;         // in one launch; 0 means 1
} cla_step_part;

/* Queues a part of step t, for all sequences of more than t tokens. Its arguments end
 * with offsets, shape and t; without t for t = -1, a step before the first token. */
cla_status cla_recurrence_step(cla_tape *tape, const cla_recurrence *r,
                               const cla_step_part *part, int64_t t);

/* Returns memory [N,...] (NULL: null) as an argument of a step, which accesses the rows
 * of one token of each sequence. */
cla_arg cla_step_rows(const cla_recurrence *r, const cla_memory *memory);

/* Returns the state's rows of weights [n,gates*n] as an argument of a step. */
cla_arg cla_step_weights(const cla_recurrence *r, const cla_memory *w, int gates);

/* Computes the gradients of x, w and b from those of the gates in work. states is the
 * place in work of the states that the state's rows of w were multiplied with. */
cla_status cla_recurrence_gradients(cla_tape *tape, const cla_recurrence *r,
                                    const cla_recurrent_weights *w, int64_t states);
