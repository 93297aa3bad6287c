/* cases.c - the cases of operators from their kinds, one in a row of the table. */
#include <string.h>

#include "base/base.h"
#include "base/rng.h"
#include "bench/internal.h"
#include "bench/kind.h"

static void fill_cross_entropy(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = (int32_t)i % kind_size(c, "V");
    }
}

static void fill_ragged_cross_entropy(int32_t *ids, int64_t n, const op_call *c,
                                      int operand)
{
    (void)c;
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = (int32_t)i * 7 % 500;
    }
}

/* Fills half of the ids with 0 (padding) and spreads the others evenly (words). */
static void fill_embedding(int32_t *ids, int64_t count, const op_call *c, int operand)
{
    (void)operand;
    for (int64_t n = 0; n < count; n++) {
        const uint32_t counter[4] = { (uint32_t)n }, key[2] = { 42 };
        const cla_philox r = cla_philox4x32(counter, key);
        ids[n] = r.v[0] % 2 ? 0 : (int32_t)(r.v[1] % (uint32_t)kind_size(c, "V"));
    }
}

static void fill_rotary(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = (int32_t)i % kind_size(c, "P");
    }
}

/* How to fill the inputs of operators for which n(0,1) numbers do not suit. */
static const bench_inputs inputs[] = {
    { "char_cnn", .scale = { [1] = 0.05f } },
    { "conv_attention_1d", .scale = { [3] = 0.1f, [4] = 0.1f } },
    { "conv1d", .scale = { [1] = 0.05f } },
    { "cross_entropy", .fill = fill_cross_entropy },
    { "embedding", .fill = fill_embedding },
    { "gru", .scale = { [1] = 0.08f, [3] = 0.08f } },
    { "linear", .scale = { [1] = 0.05f } },
    { "lstm", .scale = { [1] = 0.08f } },
    { "ragged_cross_entropy", .fill = fill_ragged_cross_entropy },
    { "rotary", .fill = fill_rotary },
    { "sru", .scale = { [1] = 0.08f, [2] = 0.08f } },
    { .op = NULL },
};

static const bench_shape cases[] = {
    // softmax
    { "softmax", "masked_softmax", "B8 H8 T256 S256",
      "B=8 H=8 T=256 S=256 -q_len -k_len" },
    { "softmax", "masked_softmax", "B64 H8 T64 S64",
      "B=64 H=8 T=64 S=64 -q_len -k_len full" },
    { "softmax", "masked_softmax", "B8 H8 T1024 S1024",
      "B=8 H=8 T=1024 S=1024 -q_len -k_len full" },

    // gemm
    { "gemm", "linear", "N1 in512 out512", "N=1 in=512 out=512 -residual" },
    { "gemm", "linear", "N1536 in256 out1024 relu",
      "N=1536 in=256 out=1024 activation=1 -residual" },
    { "gemm", "linear", "N64 in256 out8000", "N=64 in=256 out=8000 -residual full" },
    { "gemm", "linear", "N2048 in512 out512 residual", "N=2048 in=512 out=512 full" },
    { "gemm", "linear", "N2048 in512 out2048 relu",
      "N=2048 in=512 out=2048 activation=1 -residual full" },
    { "gemm", "linear", "N2048 in2048 out512 residual", "N=2048 in=2048 out=512 full" },

    // attention
    { "attention", "attention", "B64 H8 T64 d64",
      "q_rows=64x64 k_rows=64x64 H=8 d=64" },
    { "attention", "attention", "B8 H8 T512 d64 causal",
      "q_rows=8x512 k_rows=8x512 H=8 d=64 causal=1 full" },
    { "attention", "attention", "B32 H8 T48 S64 d64",
      "q_rows=32x48 k_rows=32x64 H=8 d=64 full" },
    { "attention", "attention", "B8 H8 T512 d64",
      "q_rows=8x512 k_rows=8x512 H=8 d=64 full" },
    { "attention", "attention", "B8 H8 T256 d128",
      "q_rows=8x256 k_rows=8x256 H=8 d=128 full" },
    { "attention", "relative_attention", "B16 H8 T32 d64 R16",
      "q_rows=16x32 k_rows=16x32 H=8 d=64 R=16" },

    // ham
    { "ham", "additive_attention", "B32 T1 S30 a150 d150",
      "q_rows=32x1 k_rows=32x30 a=150 d=150" },
    { "ham", "additive_attention", "B32 T1 S300 a150 d150",
      "q_rows=32x1 k_rows=32x300 a=150 d=150 full" },
    { "ham", "additive_attention", "B32 T120 S120 a75 d150",
      "q_rows=32x120 k_rows=32x120 a=75 d=150 full" },
    { "ham", "max_attention", "B32 T250 S15 d300",
      "q_rows=32x250 k_rows=32x15 d=300 train" },
    { "ham", "ragged_cross_entropy", "B32 S500", "rows=32x500 train" },
    { "ham", "mix_levels", "N2048 d150 depth5",
      "...=2048,150 depth=5 -x5 -x6 -x7 train" },

    // band
    { "band", "band_attention", "B8 H8 T512 d64 w11", "rows=8x512 H=8 d=64 window=11" },
    { "band", "band_attention", "B1 H8 T4096 d64 w11",
      "rows=1x4096 H=8 d=64 window=11 full" },
    { "band", "band_attention", "B64 H8 T64 d64 w11",
      "rows=64x64 H=8 d=64 window=11 full" },
    { "band", "band_attention", "B8 H8 T512 d64 w3",
      "rows=8x512 H=8 d=64 window=3 full" },
    { "band", "band_attention", "B8 H8 T512 d64 w21",
      "rows=8x512 H=8 d=64 window=21 full" },
    { "band", "band_attention", "B8 H8 T512 d64 w33",
      "rows=8x512 H=8 d=64 window=33 full" },
    { "band", "band_attention", "B8 H8 T512 d64 w65",
      "rows=8x512 H=8 d=64 window=65 full" },
    { "band", "band_attention", "B1 H8 T4096 d64 w65",
      "rows=1x4096 H=8 d=64 window=65 full" },
    { "band", "band_attention", "B8 H8 T512 d32 w11",
      "rows=8x512 H=8 d=32 window=11 full" },
    { "band", "band_attention", "B8 H8 T512 d40 w11",
      "rows=8x512 H=8 d=40 window=11 full" },
    { "band", "band_attention", "B8 H8 T512 d128 w11",
      "rows=8x512 H=8 d=128 window=11 full" },
    { "band", "band_attention", "B8 H8 T512 d256 w11",
      "rows=8x512 H=8 d=256 window=11 full" },
    { "band", "band_attention_2d", "B8 H8 T512 d64 w11 h3",
      "rows=8x512 H=8 d=64 window=11 heads=3" },
    { "band", "band_attention_2d", "B1 H8 T4096 d64 w11 h3",
      "rows=1x4096 H=8 d=64 window=11 heads=3 full" },
    { "band", "band_attention_2d", "B64 H8 T64 d64 w11 h3",
      "rows=64x64 H=8 d=64 window=11 heads=3 full" },
    { "band", "band_attention_2d", "B8 H8 T512 d64 w3 h3",
      "rows=8x512 H=8 d=64 window=3 heads=3 full" },
    { "band", "band_attention_2d", "B8 H8 T512 d64 w33 h3",
      "rows=8x512 H=8 d=64 window=33 heads=3 full" },
    { "band", "band_attention_2d", "B8 H8 T512 d64 w11 h5",
      "rows=8x512 H=8 d=64 window=11 heads=5 full" },
    { "band", "band_attention_2d", "B8 H8 T512 d64 w11 h1",
      "rows=8x512 H=8 d=64 window=11 heads=1 full" },

    // conv
    { "conv", "conv_attention_1d", "B32 H4 T60 d48",
      "rows=32x60 H=4 d=48 t=60 activation=1" },

    // layers
    { "layers", "cross_entropy", "N1920 V19",
      "N=1920 V=19 smoothing=0.1 -factor train" },
    { "layers", "cross_entropy", "N1536 V8000",
      "N=1536 V=8000 smoothing=0.1 -factor full train" },
    { "layers", "depthwise_conv1d", "B64 T32 D256 k7", "rows=64x32 D=256 K=7 train" },
    { "layers", "dropout", "N1920 D192", "...=1920,192 p=0.1 train" },
    { "layers", "dropout_add", "N1920 D192", "...=1920,192 p=0.1 whole=0 train" },
    { "layers", "embedding", "N1920 D128 V8000", "N=1920 D=128 V=8000 scale=1 train" },
    { "layers", "embedding", "N8000 D64 V120", "N=8000 D=64 V=120 scale=1 train" },
    { "layers", "embedding", "N2048 D512 V32000",
      "N=2048 D=512 V=32000 scale=1 full train" },
    { "layers", "gru", "B32 T64 in256 n128", "rows=32x64 in=256 n=128 -h0 -c0" },
    { "layers", "gru", "B32 T64 in256 n512", "rows=32x64 in=256 n=512 -h0 -c0" },
    { "layers", "gru", "B32 T1 in300 n150", "rows=32x1 in=300 n=150 -h0 -c0 forward" },
    { "layers", "layer_norm", "N2048 D512", "N=2048 D=512 eps=1e-6" },
    { "layers", "rms_norm", "N2048 D512", "N=2048 D=512 eps=1e-6" },
    { "layers", "rotary", "N2048 H12 d64", "N=2048 H=12 d=64 P=512 R=64 turned=8" },
    { "layers", "lstm", "B32 T64 in256 n128", "rows=32x64 in=256 n=128 -h0 -c0" },
    { "layers", "lstm", "B32 T64 in256 n512", "rows=32x64 in=256 n=512 -h0 -c0" },
    { "layers", "lstm", "B32 T1 in300 n150", "rows=32x1 in=300 n=150 -h0 -c0 forward" },
    { "layers", "relative_spectrum", "H4 T60", "H=4 t=60 train" },
    { "layers", "sru", "B32 T64 in256 n128", "rows=32x64 in=256 n=128 -h0 -c0" },
    { "layers", "sru", "B32 T1 in300 n150", "rows=32x1 in=300 n=150 -h0 -c0 forward" },
    { "layers", "add", "N1920 D192", "...=1920,192 train" },
    { "layers", "sigmoid", "N1920 D192", "...=1920,192 train" },
    { "layers", "sum", "N1920 D192", "...=1920,192 train" },
    { "layers", "mse", "N1920 D192", "...=1920,192 train" },
    { "layers", "concat", "N1920 128+64", "N=1920 Ca=128 Cb=64 train" },
    { "layers", "scale_heads", "N1920 H4 d48", "N=1920 H=4 d=48 train" },
    { "layers", "gelu", "N2048 D2048", "N=2048 D=2048 train" },
    { "layers", "silu", "N2048 D2048", "N=2048 D=2048 train" },

    // characters
    { "characters", "char_cnn", "B400 T20 C64 k5",
      "rows=400x20 in=64 out=64 K=5 -len" },
    { "characters", "conv1d", "B400 T20 C64 k5",
      "rows=400x20 in=64 out=64 K=5 activation=1" },
};

enum { CASES = sizeof cases / sizeof *cases };

cla_status bench_cases(bench *b, const char *suite)
{
    for (int i = 0; i < CASES; i++) {
        if (strcmp(cases[i].suite, suite) == 0) {
            CLA_TRY(bench_kind_run(b, &cases[i], inputs));
        }
    }
    return CLA_OK;
}
