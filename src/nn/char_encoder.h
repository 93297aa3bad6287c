/* char_encoder.h - encodes words from letters: embedding, convolutions, maximum. */
#pragma once

#include "clattn/ops.h"
#include "nn/param.h"

enum { CHAR_LAYERS = 8, CHAR_TAPS = 5 };

typedef struct char_encoder {
    int chars, letters, dim, layers; // vocabulary size, letters of a word, channels
    cla_tensor *table;               // [chars,dim]
    cla_tensor *filter[CHAR_LAYERS]; // [5,dim,dim]
    cla_tensor *bias[CHAR_LAYERS];   // [dim]
} char_encoder;

/* Adds the parameters prefix.table, prefix.0.filter, prefix.0.bias and so on. */
cla_status cla_char_encoder_init(char_encoder *encoder, cla_params *params,
                                 const char *prefix);

/* Computes y [U,dim] of the letters ids [U*letters] of U words: convolutions (width 5,
 * same padding, ReLU), then the maximum over all letters, padding included. */
cla_status cla_char_encoder_forward(char_encoder *encoder, cla_tape *tape,
                                    cla_tensor **y, const cla_tensor *ids);
