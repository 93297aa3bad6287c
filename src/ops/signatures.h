/* signatures.h - the signatures of operators, each defined beside its launcher. */
#pragma once

#include "tensor/signature.h"

extern const cla_signature cla_cross_entropy_signature, cla_embedding_signature,
    cla_layer_norm_signature, cla_linear_signature, cla_masked_softmax_signature;
