/* attn_softmax.c - plain scaled dot-product attention. */
#include "nn/attn.h"

static cla_status forward(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in)
{
    (void)layer;
    const cla_attention_options options = { .map = in->map };
    return cla_attention(tape, o, in->q, in->k, in->v, in->rows, in->rows, &options);
}

const attn_variant attn_softmax = { "softmax", NULL, forward };
