/* not_finite_lines.c - small calls of each kind of operator. Each has something that
 * must not see a NaN elsewhere: another row, sequence, window or a dropped element. A
 * kind without a call fails the test. */
#include "ops/not_finite.h"

/* Classes 0, 1, ...; the second row is not counted. */
static void fill_targets(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)operand;
    for (int32_t i = 0; i < n; i++) {
        ids[i] = i == 1 ? -1 : i % kind_size(c, "V");
    }
}

/* Row 1 of the table is never looked up, row 0 twice. */
static void fill_ids(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)c;
    (void)operand;
    for (int32_t i = 0; i < n; i++) {
        ids[i] = i == 1 ? 2 : 0;
    }
}

/* The first row of each sequence; the second sequence is not counted. */
static void fill_pointers(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)c;
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = i == 1 ? -1 : 0;
    }
}

/* Lengths: of words, of queries, of keys. */
static void fill_lengths(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)c;
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = i == 0 ? 2 : 3;
    }
}

#define CALL(name, line)       .lines = { .op = (name) }, .text = (line)
#define FILLED(name, line, by) .lines = { .op = (name), .fill = (by) }, .text = (line)

const small_call small_calls[] = {
    { CALL("gelu", "N=3 D=3") },
    { CALL("gelu_tanh", "N=3 D=3") },
    { CALL("silu", "N=3 D=3") },
    { CALL("sigmoid", "...=3,3") },
    { CALL("add", "...=2,3") },
    { CALL("sub", "...=2,3") },
    { CALL("scale_by", "...=2,3 factor=-2") },
    { CALL("sum", "...=2,3") },
    { CALL("mean", "...=2,3") },
    { CALL("mse", "...=2,3") },
    { CALL("multiply", "...=2,3") },
    { CALL("gate", "...=2,3") },
    { CALL("concat", "N=2 Ca=3 Cb=2") },
    { CALL("stack", "A=2 B=3 C=1 D=3 E=0 -x3") },
    { CALL("slice", "N=5 D=3 first=1 count=3") },
    { CALL("scale_heads", "N=3 H=2 d=3") },
    { CALL("dropout", "...=3,5 p=0.5") },
    { CALL("dropout_add", "...=3,5 p=0.5 whole=0") },
    { CALL("dropout_add", "...=3,5 p=0.5 whole=1") },
    { FILLED("embedding", "N=4 D=3 V=3 scale=2", fill_ids) },
    { CALL("layer_norm", "N=4 D=3 eps=1e-6") },
    { CALL("rms_norm", "N=4 D=3 eps=1e-6") },
    { FILLED("rotary", "N=4 H=2 d=3 P=2 R=2 turned=1", fill_ids) },
    { CALL("linear", "N=7 in=5 out=3 activation=0") },
    { CALL("linear", "N=7 in=5 out=3 activation=1") },
    { CALL("linear", "N=7 in=5 out=3 activation=2") },
    { CALL("linear", "N=7 in=5 out=3 activation=3") },
    { CALL("tied_linear", "N=7 in=5 out=3") },
    { CALL("conv1d", "rows=4,1,3 K=3 in=2 out=3 activation=1") },
    { CALL("conv1d", "rows=3,1,3 K=3 in=2 out=3 activation=2") },
    { CALL("depthwise_conv1d", "rows=2,6 K=3 D=7") },
    { FILLED("char_cnn", "rows=4,3 K=3 in=2 out=3", fill_lengths), .pool = true },
    { CALL("gru", "rows=2,0,3 in=3 n=5 +h") },
    { CALL("lstm", "rows=2,0,3 in=3 n=5 +h +c") },
    { CALL("sru", "rows=2,0,3 in=3 n=5 +c"), .no_lowest = true },
    { CALL("length_sigmoid", "rows=3,2 C=2 slope=0.5 shift=-1 base=0.25") },
    { CALL("mix_levels", "...=2,3 depth=3 -x3 -x4 -x5 -x6 -x7") },
    { CALL("relative_spectrum", "H=2 t=4") },
    { FILLED("cross_entropy", "N=4 V=5", fill_targets) },
    { FILLED("cross_entropy", "N=4 V=5 smoothing=0.1 -factor", fill_targets) },
    { FILLED("ragged_cross_entropy", "rows=3,2,4 least=1e-3", fill_pointers) },
    { FILLED("ragged_cross_entropy", "rows=3,2,4 least=1e-3 probabilities=1",
             fill_pointers),
      .positive = "x" },
    { CALL("attention", "q_rows=4,3 k_rows=5,2 H=2 d=3"), .softmax = true },
    { CALL("attention", "q_rows=4,3 k_rows=5,3 H=1 d=3 causal=1 dropout=0.3"),
      .softmax = true },
    { CALL("band_attention", "rows=5,0,3 H=2 d=3 window=3"), .softmax = true },
    { CALL("band_attention", "rows=5,3 H=1 d=3 window=3 causal=1 dropout=0.3"),
      .softmax = true },
    { CALL("band_attention_2d", "rows=5,3 H=3 d=3 window=3 heads=3"), .softmax = true },
    { CALL("position_attention", "rows=4,2 H=2 d=3 t=5"), .softmax = true },
    { CALL("position_attention", "rows=4,2 H=1 d=3 t=5 causal=1 dropout=0.3"),
      .softmax = true },
    { CALL("relative_attention", "q_rows=4,3 k_rows=5,3 H=1 d=3 R=1 dropout=0.3"),
      .softmax = true },
    { CALL("relative_attention", "q_rows=4,3 k_rows=5,3 H=2 Hr=2 d=3 R=1"),
      .softmax = true },
    { CALL("gaussian_attention", "rows=4,2 H=2 d=3 reach=99"), .positive = "sigma",
      .softmax = true },
    { CALL("gaussian_by_head", "rows=4,2 H=2 d=3 reach=99"), .positive = "sigma",
      .softmax = true },
    { CALL("conv_attention_1d", "rows=4,3 H=2 d=3 t=5 activation=1"), .pool = true,
      .ends = "w", .layered = true },
    { CALL("conv_attention_1d", "rows=4,3 H=2 d=3 t=5 activation=2"), .ends = "w",
      .layered = true },
    { CALL("conv_attention_2d", "rows=4,3 H=2 d=8 kh=3 kw=3 activation=1"),
      .pool = true, .ends = "w", .layered = true },
    { CALL("conv_attention_2d", "rows=9,3 H=1 d=3 kh=5 kw=3 activation=2"), .ends = "w",
      .layered = true },
    { CALL("additive_attention", "q_rows=2,1,0 k_rows=4,2,2 a=3 d=5 +weights +scores"),
      .softmax = true },
    { CALL("max_attention", "q_rows=3,2 k_rows=3,2 d=7"), .pool = true },
    { CALL("ham_v", "q_rows=2,1 k_rows=3,2 d=5 depth=2"), .layered = true },
    { CALL("ham_s", "rows=3,2 d=5 depth=2"), .layered = true },
    { FILLED("masked_softmax", "B=2 H=1 T=3 S=4", fill_lengths), .softmax = true },
    { FILLED("masked_softmax", "B=2 H=1 T=3 S=4 causal=1", fill_lengths),
      .softmax = true },
    { .text = NULL },
};
