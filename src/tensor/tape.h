/* tape.h - the inside of a tape, for the files of this room. */
#pragma once

#include "tensor/tensor.h"

/* A tensor of the tape, freed at the reset. */
typedef struct owned {
    struct owned *next;
    cla_tensor tensor;
} owned;

typedef struct note {
    cla_backward back;
    void *saved;
    cla_tensor *of[CLA_RESULTS]; // back needs the gradient of one of them
} note;

struct cla_tape {
    cla_runtime *rt;
    cla_arena *arena;
    cla_arena *work; // of blocks; NULL: there was none
    owned *before;   // tensors made before the open block
    bool open;       // a block has begun
    bool unpacked;   // the backward pass has reached a block
    bool training;
    bool seeded;        // since the last backward pass
    bool passed;        // backward once since the reset
    cla_tape_seen seen; // called after each backward step; may be NULL
    void *watcher;
    uint64_t run; // number of this run, from reset to reset; no two tapes share one
    uint32_t seed, step, next_stream, first_row;
    owned *tensors;
    cla_ragged *rows; // kept until the reset
    note *notes;
    size_t note_count, note_cap;
};

/* tape.c: makes the gradient of x, a result of the tape, where x lies. */
cla_status cla_tape_gradient(cla_tape *tape, cla_tensor *x);

/* block.c: forgets the blocks of a tape. */
void cla_tape_close_block(cla_tape *tape);
