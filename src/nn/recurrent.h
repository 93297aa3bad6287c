/* recurrent.h - a layer of recurrent cells: one direction, or both side by side. */
#pragma once

#include "clattn/recurrent.h"
#include "nn/param.h"

typedef enum recurrent_kind {
    RECURRENT_LSTM,
    RECURRENT_GRU,
    RECURRENT_SRU,
} recurrent_kind;

/* Their names in settings, NULL-terminated. */
extern const char *const recurrent_kinds[];

/* The weights of one direction. */
typedef struct recurrent_way {
    cla_tensor *w, *b;     // LSTM [in+n,4n], [4n]; gates of GRU and SRU, [2n] columns
    cla_tensor *w_c, *b_c; // GRU: candidate [in+n,n], [n]; SRU: what goes in, [in,n]
} recurrent_way;

typedef struct recurrent {
    recurrent_kind kind;
    int in, width; // of x; of the state of one direction, n
    bool both;     // directions; y is then twice as wide, [forward, backward]
    bool reverse;  // one direction, from the last token to the first
    recurrent_way way[2];
} recurrent;

/* What goes on from call to call; NULLs are zeros. An LSTM has both, a GRU h, an SRU
 * c. */
typedef struct recurrent_state {
    cla_tensor *h, *c; // [B,n]
} recurrent_state;

/* Adds prefix.forward.w and so on (backward too where there are both): w and b of an
 * LSTM; gates.w, gates.b, candidate.w, candidate.b of a GRU; input.w, gates.w, gates.b
 * of an SRU. Matrices begin as Glorot's uniform numbers, the bias of a GRU's gates with
 * ones, others with zeros. */
cla_status recurrent_init(recurrent *layer, cla_params *params, const char *prefix);

/* y [N,n] ([N,2n] with both) of x [N,in].
 *
 * last  out  states behind the last tokens, [B,n] ([B,2n]: forward, backward); of an
 *            SRU there is c alone; may be NULL
 *
 * Errors: as cla_lstm. */
cla_status recurrent_forward(const recurrent *layer, cla_tape *tape, cla_tensor **y,
                             cla_tensor *x, const cla_ragged *rows,
                             recurrent_state *last);

/* One token of each sequence: y [B,n] of x [B,in]; state goes on. ones is a batch of B
 * sequences of one token. A layer of one direction. Errors: as cla_lstm. */
cla_status recurrent_step(const recurrent *layer, cla_tape *tape, cla_tensor **y,
                          cla_tensor *x, const cla_ragged *ones,
                          recurrent_state *state);
