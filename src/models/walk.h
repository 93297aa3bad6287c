/* walk.h - a walk along packed sequences that are in falling order of length, a token
 * of each at a time: a step's rows are the first ones, and sequences at their end cost
 * nothing. */
#pragma once

#include "nn/recurrent.h"

/* What a step has of the n sequences that go on. It moves state on; state.h is what the
 * walk gives of these tokens. */
typedef struct walk_step {
    cla_tensor *x[2];               // [n,..] of the tokens
    recurrent_state state;          // [n,width]
    const cla_ragged *among, *ones; // n tokens: in all B sequences, in n
} walk_step;

typedef cla_status walk_move(void *with, cla_tape *tape, walk_step *step);

typedef struct walk {
    walk_move *move;
    void *with;             // for move
    const cla_ragged *rows; // N tokens in B sequences, falling lengths
    bool reverse;           // from the last token of each sequence to its first
    cla_tensor *x[2];       // [N,..]
    recurrent_state state;  // [B,width], in front of the first step; c may be NULL
} walk;

/* y [N,width], packed like rows. Errors: those of move and of the ops. */
cla_status walk_along(const walk *w, cla_tape *tape, cla_tensor **y);

/* x [rows,columns] of zeros. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status walk_zeros(cla_tape *tape, cla_tensor **x, int64_t rows, int64_t columns);
