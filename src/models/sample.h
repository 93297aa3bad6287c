/* sample.h - draws a piece from the logits of a language model. */
#pragma once

#include "base/base.h"

typedef struct sample_options {
    bool greedy;        // take the likeliest piece
    double temperature; // t > 0: logits are divided by it
    int top_k;          // of the k likeliest pieces; 0: of all
    double top_p;       // of the fewest likeliest pieces whose probabilities reach p;
                        // 1: of all
    uint32_t seed;
} sample_options;

/* A piece and its logit. */
typedef struct sample_piece {
    double logit;
    int32_t id;
} sample_piece;

/* Draws one of the pieces whose logits are given. The same seed and turn give the same
 * draw. Of equal logits the first piece counts as likelier.
 *
 * id     out
 * logit  in   [count]; -inf: the piece is not drawn
 * scrap  out  [count] room to work
 *
 * Errors: CLA_E_NUMERIC (a logit that is NaN or inf, or none that is finite).
 * Source of top_p: Holtzman et al. 2020; of top_k: Fan et al. 2018. */
cla_status cla_sample(const sample_options *o, uint32_t turn, const float *logit,
                      int64_t count, sample_piece *scrap, int32_t *id);
