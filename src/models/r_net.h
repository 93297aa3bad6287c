/* r_net.h - R-NET (Wang et al. 2017): a passage matched with its question through a
 * gate, then with itself, and pointers that begin from the question; with levels of
 * hierarchical attention at both matchings. h is the size of a state. */
#pragma once

#include "models/reader.h"
#include "nn/recurrent.h"

enum { R_NET_LAYERS = 3 }; // of an encoder

typedef struct r_net {
    reader *reader;
    recurrent chars; // along a word's, both directions
    recurrent question[R_NET_LAYERS], passage[R_NET_LAYERS]; // both directions
    cla_tensor *score;                                 // [h], of all attention here
    cla_tensor *match_q, *match_p, *match_v, *match_b; // [2h,h], [2h,h], [h,h], [h]
    cla_tensor *match_gate, *match_levels;             // [4h,4h], [depth]
    recurrent match[2];                                // left to right, right to left
    cla_tensor *self_m, *self_v, *self_b;              // [2h,h], [2h,h], [h]
    cla_tensor *self_gate, *self_levels;               // [4h,4h], [depth]
    recurrent self, readout;
    cla_tensor *pool, *pool_v;     // [1,h], [h,h]: what a question is asked for
    cla_tensor *point_h, *point_a; // [2h,h], [2h,h]
    recurrent point;               // a GRU of 2h
} r_net;

extern const reader_kind r_net_kind;

/* A question as it is looked at: keys = memory W_u^Q. */
typedef struct r_net_memory {
    cla_tensor *memory, *keys; // [Nq,2h], [Nq,h]
    const cla_ragged *rows;    // B sequences
    const char *site;          // what the look is called, where somebody looks
} r_net_memory;

/* y = sigmoid(x w) x. y, x: [n,c]; w: [c,c]. */
cla_status r_net_gate(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w);

/* One look at the question: contexts [n,2h] of the first n passages' words, from words'
 * own part of the score p [n,h] and the states before, v [n,h].
 *
 *   s_j = score . tanh(u_j^Q W_u^Q + p + v W_v),  c = sum_j softmax(s)_j u_j^Q
 *
 * where p is u^P W_u^P + b; each level after the first has the context of the one
 * before in the place of u^P. rows: n queries in B sequences. */
cla_status r_net_look(r_net *m, cla_tape *tape, cla_tensor **context,
                      const r_net_memory *memory, cla_tensor *p, cla_tensor *v,
                      const cla_ragged *rows);

/* One direction: states [Np,h] of the passages' words, packed like them.
 *
 * states   out  [Np,h]
 * passage  in   [Np,2h], u^P
 * rows     in   Np words in B passages, falling lengths
 * reverse  in   from the last word of each to the first
 */
cla_status r_net_walk(r_net *m, cla_tape *tape, cla_tensor **states,
                      const r_net_memory *memory, cla_tensor *passage,
                      const cla_ragged *rows, bool reverse);

/* Contexts [Np,2h] of a passage's words among themselves.
 *
 *   s_tj = score . tanh(v_j W_m + v_t W_v + b),  c_t = sum_j softmax(s_t)_j v_j
 *
 * Each level after the first has the contexts of the one before in the place of all v.
 */
cla_status r_net_reflect(r_net *m, cla_tape *tape, cla_tensor **context, cla_tensor *v,
                         const cla_ragged *rows);

/* A question as one vector [B,2h], the first state of the pointer. */
cla_status r_net_pool(r_net *m, cla_tape *tape, cla_tensor **pooled,
                      const r_net_memory *memory);

/* Scores of first and last words from states [Np,2h] and pooled questions [B,2h]. */
cla_status r_net_point(r_net *m, cla_tape *tape, reader_scores *scores,
                       cla_tensor *states, cla_tensor *pooled, const cla_ragged *rows);
