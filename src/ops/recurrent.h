/* recurrent.h - what cells that walk along packed sequences share: sums of inputs in
 * front of the walk, gradients of weights behind it. */
#pragma once

#include "cl/recurrent_args.h"
#include "clattn/recurrent.h"
#include "ops/matmul.h"
#include "tensor/signature.h"

/* One matrix of weights: rows of the inputs, then those of a state. */
typedef struct cla_recurrent_weights {
    cla_tensor *w, *b;       // [in+n,C], [C]; b may be NULL
    int64_t column, columns; // of the gates that it makes: C of them
    bool inputs_only;        // no rows of a state: w is [in,C]
} cla_recurrent_weights;

/* A cell's walk. gates counts the parts of n columns that a token's gates have. */
typedef struct cla_recurrence {
    cla_tensor *x, *y; // [N,in], [N,n]
    const cla_ragged *rows;
    cla_recurrent_options options;
    cla_tensor *h, *c; // [B,n] out; NULL where not wanted
    int gates;
    recurrent_shape shape;
    cla_memory work; // gates [N,gates*n], and what shape says
} cla_recurrence;

/* Checks what is given, of which the second is weights, and makes y [N,n], h and c.
 * Errors: CLA_E_SHAPE, CLA_E_USAGE, CLA_E_NOMEM. */
cla_status cla_recurrence_begin(cla_tape *tape, cla_recurrence *r,
                                const cla_signature *signature, const cla_given *given);

/* cla_tape_give for all results. */
cla_status cla_recurrence_give(cla_tape *tape, cla_tensor **y, const cla_recurrence *r,
                               const cla_note *end);

/* Places of all parts of work, and its memory. */
cla_status cla_recurrence_plan(cla_tape *tape, cla_recurrence *r, bool keep);

/* gates = x w_x + b */
cla_status cla_recurrence_inputs(cla_tape *tape, const cla_recurrence *r,
                                 const cla_recurrent_weights *w);

/* The state's part of weights as the kernels of the schedule in force read them: whole
 * ones, or panels, which are kept until the weights change. */
cla_status cla_recurrence_weights(cla_tape *tape, const cla_recurrence *r,
                                  cla_tensor *w, bool transposed,
                                  const cla_memory **out, cla_memory *scratch);

/* Queues the walk: file is "lstm" and the like; the last arguments are added here. */
cla_status cla_recurrence_walk(cla_tape *tape, const cla_recurrence *r,
                               const char *file, const char *tile_file,
                               cla_launch *launch, int args);

/* A product of a step of the group schedule: file, kernel and first arguments, args of
 * them; what follows is added. */
typedef struct cla_step_part {
    cla_launch launch;
    int args;
    int64_t columns; // of the result
    int directions;  // that the kernel takes at once; 0 means 1
} cla_step_part;

/* Queues a part of step t of all sequences that are so long. */
cla_status cla_recurrence_step(cla_tape *tape, const cla_recurrence *r,
                               const cla_step_part *part, int64_t t);

/* Gradients of x, w and b, once those of the gates stand in work; states is the place
 * in work of what the rows of the state were multiplied with. */
cla_status cla_recurrence_gradients(cla_tape *tape, const cla_recurrence *r,
                                    const cla_recurrent_weights *w, int64_t states);
