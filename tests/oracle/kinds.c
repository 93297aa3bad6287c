/* kinds.c - operators by name. */
#include <string.h>

#include "oracle/kind.h"

static const op_kind *const kinds[] = {
    &add_kind,
    &additive_attention_kind,
    &attention_kind,
    &band_attention_2d_kind,
    &band_attention_kind,
    &char_cnn_kind,
    &concat_kind,
    &conv1d_kind,
    &cross_entropy_kind,
    &depthwise_conv1d_kind,
    &dropout_kind,
    &embedding_kind,
    &gate_kind,
    &gaussian_attention_kind,
    &gaussian_by_head_kind,
    &gelu_kind,
    &gru_kind,
    &ham_s_kind,
    &ham_v_kind,
    &layer_norm_kind,
    &length_sigmoid_kind,
    &linear_kind,
    &lstm_kind,
    &masked_softmax_kind,
    &max_attention_kind,
    &multiply_kind,
    &position_attention_kind,
    &ragged_cross_entropy_kind,
    &relative_attention_kind,
    &relative_spectrum_kind,
    &scale_heads_kind,
    &silu_kind,
    &sru_kind,
    &tied_linear_kind,
};

const op_kind *op_kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i]->signature->op, name) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}
