/* kind_attention.h - what kinds of attention share. Their first attributes are "causal"
 * and "dropout"; their letters are H and d. */
#pragma once

#include "clattn/ops.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

/* map: where the call wants it, NULL where not. */
cla_attention_options kind_options(const op_call *c, cla_tensor **map);

/* Of operands that are batches. The caller frees keep, the draws of dropout: those of a
 * tape's first op under the default key (seed 42, step 0, stream 0). */
oracle_attention_shape kind_attention(const op_call *c, int q_rows, int k_rows);

/* Pairs of all heads: times scores' and values' products, 2 forward and 7 with the way
 * back; and four tensors read and written, or twelve. */
kind_cost kind_attention_cost(const op_call *c, int q_rows, int k_rows, bool backward);

/* The same for windows (attribute 2) over sequences as long as each other, rows(3), and
 * so many pairs of heads. */
kind_cost kind_band_cost(const op_call *c, double heads, bool backward);
