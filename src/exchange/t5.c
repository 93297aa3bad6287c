/* t5.c - the tensors of T5, mT5 and MADLAD-400 in transformers and CTranslate2. */
#include "exchange/t5.h"

#define SELF  "SelfAttention."
#define CROSS "EncDecAttention."
#define FEED  "DenseReluDense."

const t5_linear cla_t5_linears[T5_LINEARS] = {
    { "self.in",
      { SELF "q", SELF "k", SELF "v" },
      "self_attention/linear_0",
      0,
      'D',
      'A',
      false,
      T5_ANY },
    { "self.out", { SELF "o" }, "self_attention/linear_1", 0, 'A', 'D', false, T5_ANY },
    { "cross.in", { CROSS "q" }, "attention/linear_0", 1, 'D', 'A', true, T5_ANY },
    { "cross.memory",
      { CROSS "k", CROSS "v" },
      "attention/linear_1",
      1,
      'D',
      'A',
      true,
      T5_ANY },
    { "cross.out", { CROSS "o" }, "attention/linear_2", 1, 'A', 'D', true, T5_ANY },
    { "feed.gate",
      { FEED "wi_0" },
      "ffn/linear_0",
      T5_FEED,
      'D',
      'F',
      false,
      T5_GATED },
    { "feed.in",
      { FEED "wi_1" },
      "ffn/linear_0_noact",
      T5_FEED,
      'D',
      'F',
      false,
      T5_GATED },
    { "feed.in", { FEED "wi" }, "ffn/linear_0", T5_FEED, 'D', 'F', false, T5_PLAIN },
    { "feed.out", { FEED "wo" }, "ffn/linear_1", T5_FEED, 'F', 'D', false, T5_ANY },
};

const t5_norm cla_t5_norms[T5_NORMS] = {
    { "self.norm", "self_attention", 0, false },
    { "cross.norm", "attention", 1, true },
    { "feed.norm", "ffn", T5_FEED, false },
};

bool cla_t5_has(const t5_linear *linear, bool decoder, bool gated)
{
    return (decoder || !linear->cross) && linear->gate != (gated ? T5_PLAIN : T5_GATED);
}

int cla_t5_layer(int layer, bool decoder)
{
    return layer != T5_FEED ? layer : decoder ? 2 : 1;
}

int64_t cla_t5_width(char letter, int model, int inner, int all)
{
    return letter == 'D' ? model : letter == 'F' ? inner : all;
}
