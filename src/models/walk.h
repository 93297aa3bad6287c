/* walk.h - a recurrence over packed sequences in falling order of length, a token of
 * each sequence at a time. The rows of a step are the first ones; sequences that have
 * ended cost nothing. */
#pragma once

#include "nn/recurrent.h"

/* A step of the n sequences that have not ended. A walk_move replaces state; the new
 * state.h is the output for these tokens. */
typedef struct walk_step {
    cla_tensor *x[2];               // [n,..] of the tokens
    recurrent_state state;          // [n,width]
    const cla_ragged *among, *ones; // n tokens in B sequences, and in n
} walk_step;

typedef cla_status walk_move(void *with, cla_tape *tape, walk_step *step);

typedef struct walk {
    walk_move *move;
    void *with;             // passed to move
    const cla_ragged *rows; // N tokens in B sequences, falling lengths
    bool reverse;           // from the last token of each sequence to its first
    cla_tensor *x[2];       // [N,..]
    recurrent_state state;  // [B,width], initial; c may be NULL
} walk;

/* Runs the recurrence: y [N,width], packed like rows. Errors: those of move and of the
 * ops. */
cla_status cla_walk_along(const walk *w, cla_tape *tape, cla_tensor **y);

/* Makes x [rows,columns] of zeros. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_walk_zeros(cla_tape *tape, cla_tensor **x, int64_t rows,
                          int64_t columns);
