/* match_lstm.h - Match-LSTM with an answer pointer, the boundary model (Wang and Jiang
 * 2017), with levels of hierarchical attention where it looks at the question. */
#pragma once

#include "models/reader.h"

typedef struct match_lstm {
    reader *reader;
    cla_tensor *question_w, *question_b, *passage_w, *passage_b; // LSTMs before
    cla_tensor *attend_q, *attend_p, *attend_r, *attend_b;       // [l,l], b [l]
    cla_tensor *attend_v, *levels;                               // [l], [depth]
    cla_tensor *match_w[2], *match_b[2]; // LSTMs left to right, right to left
    cla_tensor *point_h, *point_a, *point_b, *point_v; // [2l,l], [l,l], [l], [l]
    cla_tensor *point_w, *point_c;                     // its LSTM
} match_lstm;

extern const reader_kind match_lstm_kind;

/* A question as it is looked at: keys = memory W^q. */
typedef struct match_memory {
    cla_tensor *memory, *keys; // [Nq,l]
    const cla_ragged *rows;    // B sequences
    const char *site;          // what the look is called, where somebody looks
} match_memory;

/* One look: contexts [n,l] of the first n passages' words, from words' own part of the
 * score [n,l] and the states [n,l] before.
 *
 *   G = tanh(H^q W^q + p + h W^r), a = softmax(G v), context = sum_j a_j h^q_j
 *
 * where p is h^p W^p + b; each level after the first has the context of the one before
 * in the place of h^p. rows: n queries in B sequences. weights: of the first level
 * (cla_additive_attention's), may be NULL. */
cla_status match_lstm_look(match_lstm *m, cla_tape *tape, cla_tensor **context,
                           const match_memory *memory, cla_tensor *p, cla_tensor *h,
                           const cla_ragged *rows, cla_tensor **weights);

/* One direction: states [Np,l] of the passages' words, packed like them.
 *
 * states   out  [Np,l]
 * passage  in   [Np,l], h^p
 * rows     in   Np words in B passages, falling lengths
 * reverse  in   from the last word of each to the first
 */
cla_status match_lstm_walk(match_lstm *m, cla_tape *tape, cla_tensor **states,
                           const match_memory *memory, cla_tensor *passage,
                           const cla_ragged *rows, bool reverse);

/* Scores of first and last words from states [Np,2l]. */
cla_status match_lstm_point(match_lstm *m, cla_tape *tape, reader_scores *scores,
                            cla_tensor *states, const cla_ragged *rows);
