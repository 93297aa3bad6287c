/* recurrent.h - a recurrent layer of one direction or of both. */
#pragma once

#include "clattn/recurrent.h"
#include "nn/param.h"

typedef enum recurrent_kind {
    RECURRENT_LSTM,
    RECURRENT_GRU,
    RECURRENT_SRU,
} recurrent_kind;

/* The names of the kinds in settings, NULL-terminated. */
extern const char *const cla_recurrent_kinds[];

/* The weights of one direction. */
typedef struct recurrent_way {
    cla_tensor *w, *b; // LSTM [in+n,4n], [4n]; gates: GRU [in+n,2n], SRU [in,2n], [2n]
    cla_tensor *w_c, *b_c; // GRU: candidate [in+n,n], [n]; SRU: input [in,n], NULL
} recurrent_way;

typedef struct recurrent {
    recurrent_kind kind;
    int in, width; // of x; of the state of one direction: n
    bool both;     // both directions: y is twice as wide, [forward, backward]
    bool reverse;  // one direction, from the last token to the first
    recurrent_way way[2];
} recurrent;

/* The state between calls; NULL means zeros. An LSTM uses both, a GRU h, an SRU c. */
typedef struct recurrent_state {
    cla_tensor *h, *c; // [B,n]
} recurrent_state;

/* Adds the parameters of prefix.forward, prefix.backward or both: w and b of an LSTM;
 * gates.w, gates.b, candidate.w, candidate.b of a GRU; input.w, gates.w, gates.b of an
 * SRU. Matrices are initially Glorot uniform, the bias of a GRU's gates ones, other
 * biases zeros. */
cla_status cla_recurrent_init(recurrent *layer, cla_params *params, const char *prefix);

/* Computes y [N,n] ([N,2n] with both directions) of x [N,in].
 *
 * last  out  final states [B,n] ([B,2n] with both: forward, backward); for an SRU, c
 *            alone; may be NULL
 *
 * Errors: as cla_lstm. */
cla_status cla_recurrent_forward(const recurrent *layer, cla_tape *tape, cla_tensor **y,
                                 cla_tensor *x, const cla_ragged *rows,
                                 recurrent_state *last);

/* Runs one token of each sequence: computes y [B,n] of x [B,in] and replaces state.
 * ones is a batch of B sequences of one token. The layer must have one direction.
 * Errors: as cla_lstm. */
cla_status cla_recurrent_step(const recurrent *layer, cla_tape *tape, cla_tensor **y,
                              cla_tensor *x, const cla_ragged *ones,
                              recurrent_state *state);
