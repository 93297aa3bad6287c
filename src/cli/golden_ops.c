/* golden_ops.c - the operators that golden files can name, a row each. */
#include <string.h>

#include "cli/golden.h"

/* In the order of cla_activation. */
static const char *const activations[] = { "none", "relu", "tanh", NULL };

static cla_status band_inputs(golden *g, cla_tensor **q, cla_tensor **k, cla_tensor **v,
                              cla_ragged **rows)
{
    CLA_TRY(golden_tensor(g, "q", q));
    CLA_TRY(golden_tensor(g, "k", k));
    CLA_TRY(golden_tensor(g, "v", v));
    return golden_rows(g, "offsets", rows);
}

static cla_status run_conv_attention_2d(golden *g)
{
    cla_tensor *q = NULL, *k = NULL, *v = NULL, *w = NULL, *b = NULL, *o = NULL;
    cla_ragged *rows = NULL;
    int activation = CLA_NONE;
    CLA_TRY(golden_choice(g, "activation", activations, &activation));
    CLA_TRY(band_inputs(g, &q, &k, &v, &rows));
    CLA_TRY(golden_tensor(g, "w", &w));
    CLA_TRY(golden_tensor(g, "b", &b));
    CLA_TRY(cla_conv_attention_2d(golden_tape(g), &o, q, k, v, w, b, rows,
                                  (cla_activation)activation, CLA_CONV_DIRECT, NULL));
    return golden_output(g, "o", o);
}

static cla_status run_conv_attention_1d(golden *g)
{
    cla_tensor *q = NULL, *k = NULL, *v = NULL, *w = NULL, *b = NULL, *o = NULL;
    cla_ragged *rows = NULL;
    int activation = CLA_NONE;
    CLA_TRY(golden_choice(g, "activation", activations, &activation));
    CLA_TRY(band_inputs(g, &q, &k, &v, &rows));
    CLA_TRY(golden_tensor(g, "w", &w));
    CLA_TRY(golden_tensor(g, "b", &b));
    CLA_TRY(cla_conv_attention_1d(golden_tape(g), &o, q, k, v, w, b, rows,
                                  (cla_activation)activation, NULL));
    return golden_output(g, "o", o);
}

static const golden_op ops[] = {
    { "adam", { "lr", "beta1", "beta2", "eps" }, golden_adam },
    { "char_cnn", { NULL }, golden_char_cnn },
    { "conv_attention_2d", { "activation" }, run_conv_attention_2d },
    { "conv_attention_1d", { "activation" }, run_conv_attention_1d },
    { "custom_attention",
      { "score", "mask", "weight", "window" },
      golden_custom_attention },
    { "hard_attention", { NULL }, golden_hard_attention },
    { "reinforce", { "lambda" }, golden_reinforce },
    { "rmsprop", { "lr", "rho", "eps" }, golden_rmsprop },
};

const golden_op *golden_find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(name, ops[i].name) == 0) {
            return &ops[i];
        }
    }
    return NULL;
}
