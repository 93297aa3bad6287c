/* signatures.h - the signatures of operators, each defined beside its launcher. */
#pragma once

#include "tensor/signature.h"

extern const cla_signature cla_add_signature, cla_additive_attention_signature,
    cla_attention_signature, cla_band_attention_2d_signature,
    cla_band_attention_signature, cla_char_cnn_signature, cla_concat_signature,
    cla_conv1d_signature, cla_cross_entropy_signature, cla_depthwise_conv1d_signature,
    cla_dropout_signature, cla_embedding_signature, cla_gate_signature,
    cla_gaussian_attention_signature, cla_gaussian_by_head_signature,
    cla_gelu_signature, cla_gru_signature, cla_ham_s_signature, cla_ham_v_signature,
    cla_layer_norm_signature, cla_length_sigmoid_signature, cla_linear_signature,
    cla_lstm_signature, cla_masked_softmax_signature, cla_max_attention_signature,
    cla_multiply_signature, cla_position_attention_signature,
    cla_ragged_cross_entropy_signature, cla_relative_attention_signature,
    cla_relative_spectrum_signature, cla_scale_heads_signature, cla_silu_signature,
    cla_sru_signature, cla_tied_linear_signature;
