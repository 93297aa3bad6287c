/* step_attention.h - attention of one token of each sequence to tokens at any places of
 * a store of keys and values, for decoders. It has no backward pass and runs only on
 * CPU devices (the tile schedule). */
#pragma once

#include "tensor/tensor.h"

/* Returns whether these kernels run on the device, for heads of this width. */
bool cla_step_attention_runs(const cla_runtime *rt, int width);

/* Makes a store with this many places for a key and a value of D numbers each. The
 * first places are copies of those of old (NULL: none); the others are undefined. old
 * is not modified.
 *
 * store  out  [places,2D] f32
 *
 * Errors: CLA_E_SHAPE (old has more places or another width), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status cla_step_store(cla_tape *tape, cla_tensor **store, const cla_tensor *old,
                          int64_t places, int64_t D);

/* How scores are made of the heads. */
typedef struct step_scores {
    int heads;                   // H
    bool unscaled;               // they are not divided by sqrt(d)
    const cla_tensor *distances; // [2R+1,H] added by distance, as in nn/attn.h; or NULL
} step_scores;

/* Writes keys and values of the newest tokens of B sequences into the store, and
 * computes their attention to themselves and the tokens before them.
 *
 * o      out     [B,H*d] f32
 * store  in/out  [places,2*H*d] f32, in each place the key, then the value
 * qkv    in      [B,3*H*d] f32
 * place  in      [B,stride] i32: places of the count tokens of a sequence; the last is
 *                the newest token's, and no other sequence has it
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_step_self(cla_tape *tape, cla_tensor **o, cla_tensor *store,
                         const cla_tensor *qkv, const cla_tensor *place,
                         const step_scores *scores, int count);

/* Computes the attention of B tokens to consecutive rows of a memory.
 *
 * o      out  [B,H*d] f32
 * q      in   [B,H*d] f32
 * kv     in   [Nm,2*H*d] f32
 * range  in   [B,2] i32: the first row and the number of rows
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_step_memory(cla_tape *tape, cla_tensor **o, const cla_tensor *q,
                           const cla_tensor *kv, const cla_tensor *range,
                           const step_scores *scores);
