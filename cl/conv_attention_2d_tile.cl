/* conv_attention_2d_tile.cl - convolved attention with one work-item for each worker,
 * for CPU devices.
 *
 * Layout: q, k, v and their gradients as in attention.clh; o, flow [N,H,d]; lse
 * [2,H,N];
 * w [H,kh,kw]; b [H]; dw [B*H*chunks,kh*kw+1], one row for each item, db last; slabs
 * [workers,slab].
 * Work-group: 1 item, a worker; it takes every workers-th item.
 * Defines: WIDTH, VEC, MR, SIDE.
 * Numerics: softmax subtracts the row's maximum, with exp_fastv; the backward pass
 * recomputes the map from what lse keeps; sums over rows in their order.
 * Writes: o whole; lse if not null; dq, dk, dv by q_mode, k_mode, v_mode, but if part
 * is not 0, dk and dv of each chunk separately; dw whole.
 * Source: Dufter et al. 2020, convoluted attention. */
#include "conv_attention_2d_tile_rows.clh"
#include "conv_attention_2d_walk.clh"
