/* step_attention.h - attention of one token of each sequence to tokens that lie
 * anywhere in a store, for decoders. No way back; CPU devices alone (the tile
 * schedule). */
#pragma once

#include "tensor/tensor.h"

/* Whether the device has these kernels, for heads of this width. */
bool cla_step_attention_runs(const cla_runtime *rt, int width);

/* A store of so many places for keys and values of D numbers, the first of which are
 * those of old (NULL: there are none). The others hold anything. old stays as it is.
 *
 * store  out  [places,2D] f32
 *
 * Errors: CLA_E_SHAPE (old has more places, or others), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_step_store(cla_tape *tape, cla_tensor **store, const cla_tensor *old,
                          int64_t places, int64_t D);

/* The newest tokens of B sequences attend to themselves and to those before them. Their
 * keys and values are put into the store.
 *
 * o      out     [B,H*d] f32
 * store  in/out  [places,2*H*d] f32, keys in front of values
 * qkv    in      [B,3*H*d] f32
 * place  in      [B,stride] i32: where the count tokens of a sequence lie; the last one
 *                is the newest, and no other sequence has it
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_step_self(cla_tape *tape, cla_tensor **o, cla_tensor *store,
                         const cla_tensor *qkv, const cla_tensor *place, int heads,
                         int count);

/* They attend to rows of a memory that follow each other.
 *
 * o      out  [B,H*d] f32
 * q      in   [B,H*d] f32
 * kv     in   [Nm,2*H*d] f32
 * range  in   [B,2] i32: the first row, and how many there are
 *
 * Errors: CLA_E_SHAPE, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_step_memory(cla_tape *tape, cla_tensor **o, const cla_tensor *q,
                           const cla_tensor *kv, const cla_tensor *range, int heads);
