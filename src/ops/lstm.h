/* lstm.h - both directions of an LSTM at once. */
#pragma once

#include "clattn/recurrent.h"

/* Weights as for cla_lstm: w [in+n,4n], b [4n] or NULL. */
typedef struct cla_lstm_weights {
    cla_tensor *w, *b;
} cla_lstm_weights;

/* Runs cla_lstm in both directions over the same x, with the same bits as two calls.
 * Under the group schedule one launch computes a token of each direction. Initial
 * states are zeros.
 *
 * y        out  [N,n] each
 * options  in   exactly one with reverse; h0 and c0 are NULL
 *
 * Errors: those of cla_lstm; CLA_E_SHAPE (the widths differ). */
cla_status cla_lstm_both(cla_tape *tape, cla_tensor *y[2], cla_tensor *x,
                         const cla_lstm_weights w[2], const cla_ragged *rows,
                         const cla_recurrent_options options[2]);
