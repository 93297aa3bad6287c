/* r_net.h - R-NET (Wang et al. 2017): gated matching of a passage with its question,
 * gated matching of the passage with itself, and a pointer that starts from the pooled
 * question. Both matchings have hierarchical attention in levels. h is the size of a
 * hidden state. */
#pragma once

#include "models/reader.h"
#include "nn/recurrent.h"

enum { R_NET_LAYERS = 3 }; // of an encoder

typedef struct r_net {
    reader *reader;
    recurrent chars; // over the characters of a word, both directions
    recurrent question[R_NET_LAYERS], passage[R_NET_LAYERS]; // both directions
    cla_tensor *score; // [h], shared by all attention of the network
    cla_tensor *match_q, *match_p, *match_v, *match_b; // [2h,h], [2h,h], [h,h], [h]
    cla_tensor *match_gate, *match_levels;             // [4h,4h], [depth]
    recurrent match[2];                                // left to right, right to left
    cla_tensor *self_m, *self_v, *self_b;              // [2h,h], [2h,h], [h]
    cla_tensor *self_gate, *self_levels;               // [4h,4h], [depth]
    recurrent self, readout;
    cla_tensor *pool, *pool_v; // [1,h], [h,h]: learned query that pools the question
    cla_tensor *point_h, *point_a; // [2h,h], [2h,h]
    recurrent point;               // a GRU of width 2h
} r_net;

extern const reader_kind cla_r_net_kind;

/* A question as attention memory: keys = memory W_u^Q. */
typedef struct r_net_memory {
    cla_tensor *memory, *keys; // [Nq,2h], [Nq,h]
    const cla_ragged *rows;    // B sequences
    const char *site;          // its site in the log, if there is one
} r_net_memory;

/* Computes y = sigmoid(x w) x. y, x: [n,c]; w: [c,c]. */
cla_status cla_r_net_gate(cla_tape *tape, cla_tensor **y, cla_tensor *x, cla_tensor *w);

/* Attends from the current words of the first n passages to their questions.
 *
 *   s_j = score . tanh(u_j^Q W_u^Q + p + v W_v),  c = sum_j softmax(s)_j u_j^Q
 *
 * where p = u^P W_u^P + b. Each level after the first has the previous level's context
 * in place of u^P; the result is the mixture of all levels.
 *
 * context  out  [n,2h]
 * p        in   [n,h]
 * v        in   [n,h] previous hidden states
 * rows     in   n queries in B sequences */
cla_status cla_r_net_look(r_net *m, cla_tape *tape, cla_tensor **context,
                          const r_net_memory *memory, cla_tensor *p, cla_tensor *v,
                          const cla_ragged *rows);

/* Runs one direction of the matching over the passages.
 *
 * states   out  [Np,h], packed like the passages
 * passage  in   [Np,2h], u^P
 * rows     in   Np words in B passages, falling lengths
 * reverse  in   from the last word of each to the first */
cla_status cla_r_net_walk(r_net *m, cla_tape *tape, cla_tensor **states,
                          const r_net_memory *memory, cla_tensor *passage,
                          const cla_ragged *rows, bool reverse);

/* Computes contexts [Np,2h] by attention of each passage to itself.
 *
 *   s_tj = score . tanh(v_j W_m + v_t W_v + b),  c_t = sum_j softmax(s_t)_j v_j
 *
 * Each level after the first has the previous level's contexts in place of all v; the
 * result is the mixture of all levels. */
cla_status cla_r_net_reflect(r_net *m, cla_tape *tape, cla_tensor **context,
                             cla_tensor *v, const cla_ragged *rows);

/* Pools each question to one vector [B,2h], the initial state of the pointer. */
cla_status cla_r_net_pool(r_net *m, cla_tape *tape, cla_tensor **pooled,
                          const r_net_memory *memory);

/* Computes the scores of first and last words from states [Np,2h] and pooled questions
 * [B,2h]. */
cla_status cla_r_net_point(r_net *m, cla_tape *tape, reader_scores *scores,
                           cla_tensor *states, cla_tensor *pooled,
                           const cla_ragged *rows);
