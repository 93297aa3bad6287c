/* conv_attention_2d_tile.cl - convolved attention with one work-item to each worker,
 * for CPU devices.
 *
 * Layout: q, k, v and their gradients as in attention.clh; o, flow [N,H,d]; lse [H,N];
 * w [H,kh,kw]; b [H]; dw [B*H*chunks,kh*kw+1], one row an item, db last; slabs
 * [workers,slab].
 * Work-group: 1 item, a worker; it takes every workers-th item.
 * Defines: WIDTH, VEC, MR, SIDE.
 * Numerics: softmax about the row's maximum with exp_fastv; the map again from lse in
 * the backward pass; sums over rows in their order.
 * Writes: o whole; lse where not null; dq, dk, dv as q_mode, k_mode, v_mode say, or,
 * where part is not 0, dk and dv of each chunk apart; dw whole.
 * Source: Dufter et al. 2020, convoluted attention. */
#include "conv_attention_2d_tile_rows.clh"
#include "conv_attention_2d_walk.clh"
