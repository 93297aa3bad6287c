/* match_lstm.h - Match-LSTM with an answer pointer, the boundary model (Wang and Jiang
 * 2017), with hierarchical attention in levels to the question. l is the size of a
 * hidden state. */
#pragma once

#include "models/reader.h"

typedef struct match_lstm {
    reader *reader;
    cla_tensor *question_w, *question_b, *passage_w, *passage_b; // LSTM encoders
    cla_tensor *attend_q, *attend_p, *attend_r, *attend_b;       // [l,l], b [l]
    cla_tensor *attend_v, *levels;                               // [l], [depth]
    cla_tensor *match_w[2], *match_b[2]; // LSTMs left to right, right to left
    cla_tensor *point_h, *point_a, *point_b, *point_v; // [2l,l], [l,l], [l], [l]
    cla_tensor *point_w, *point_c;                     // the LSTM of the pointer
} match_lstm;

extern const reader_kind cla_match_lstm_kind;

/* A question as attention memory: keys = memory W^q. */
typedef struct match_memory {
    cla_tensor *memory, *keys; // [Nq,l]
    const cla_ragged *rows;    // B sequences
    const char *site;          // its site in the log, if there is one
} match_memory;

/* Attends from the current words of the first n passages to their questions.
 *
 *   G = tanh(H^q W^q + p + h W^r), a = softmax(G v), context = sum_j a_j h^q_j
 *
 * where p = h^p W^p + b. Each level after the first has the previous level's context in
 * place of h^p; the result is the mixture of all levels.
 *
 * context  out  [n,l]
 * p        in   [n,l]
 * h        in   [n,l] previous hidden states
 * rows     in   n queries in B sequences
 * weights  out  attention weights of the first level, as in cla_additive_attention; may
 *               be NULL */
cla_status cla_match_lstm_look(match_lstm *m, cla_tape *tape, cla_tensor **context,
                               const match_memory *memory, cla_tensor *p, cla_tensor *h,
                               const cla_ragged *rows, cla_tensor **weights);

/* Runs one direction of the Match-LSTM over the passages.
 *
 * states   out  [Np,l], packed like the passages
 * passage  in   [Np,l], h^p
 * rows     in   Np words in B passages, falling lengths
 * reverse  in   from the last word of each to the first */
cla_status cla_match_lstm_walk(match_lstm *m, cla_tape *tape, cla_tensor **states,
                               const match_memory *memory, cla_tensor *passage,
                               const cla_ragged *rows, bool reverse);

/* Computes the scores of first and last words from states [Np,2l]. */
cla_status cla_match_lstm_point(match_lstm *m, cla_tape *tape, reader_scores *scores,
                                cla_tensor *states, const cla_ragged *rows);
