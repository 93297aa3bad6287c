/* lstm.h - both directions of a long short-term memory at once. */
#pragma once

#include "clattn/recurrent.h"

/* As cla_lstm takes them: [in+n,4n] and [4n] or NULL. */
typedef struct cla_lstm_weights {
    cla_tensor *w, *b;
} cla_lstm_weights;

/* cla_lstm for two directions over the same x, to the same bits; under the group
 * schedule a token of each is one launch. Initial states are zeros.
 *
 * y        out  [N,n] each
 * options  in   one of them reverse; no h0, no c0
 *
 * Errors: those of cla_lstm; CLA_E_SHAPE (the widths differ). */
cla_status cla_lstm_both(cla_tape *tape, cla_tensor *y[2], cla_tensor *x,
                         const cla_lstm_weights w[2], const cla_ragged *rows,
                         const cla_recurrent_options options[2]);
