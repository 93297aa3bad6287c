/* suites.c - the table of suites. */
#include <string.h>

#include "bench/internal.h"

static const struct {
    const char *suite;
    cla_status (*run)(bench *b);
} table[] = {
    { "softmax", bench_masked_softmax },
    { "gemm", bench_matmul },
    { "gemm", bench_linear },
    { "attention", bench_attention },
    { "attention", bench_position_attention },
    { "attention", bench_relative_attention },
    { "attention", bench_hard_attention },
    { "attention", bench_custom_attention },
    { "attention", bench_gaussian_attention },
    { "ham", bench_ham },
    { "ham", bench_max_attention },
    { "ham", bench_mix_levels },
    { "ham", bench_additive_attention },
    { "ham", bench_ragged_cross_entropy },
    { "band", bench_band_attention },
    { "band", bench_band_attention_2d },
    { "ragged", bench_ragged },
    { "layers", bench_activation },
    { "layers", bench_elementwise },
    { "layers", bench_dropout },
    { "layers", bench_embedding },
    { "layers", bench_depthwise_conv1d },
    { "layers", bench_layer_norm },
    { "layers", bench_cross_entropy },
    { "layers", bench_top_k },
    { "layers", bench_multinomial },
    { "layers", bench_lstm },
    { "layers", bench_gru },
    { "layers", bench_sru },
    { "layers", bench_reinforce },
    { "layers", bench_relative_spectrum },
    { "layers", bench_optimiser },
    { "layers", bench_ema },
    { "layers", bench_clip },
    { "characters", bench_conv1d },
    { "characters", bench_char_cnn },
    { "conv", bench_conv_attention_1d },
    { "conv", bench_conv_attention_2d },
    { "tagger", bench_tagger },
    { "nmt", bench_nmt },
    { "hard", bench_hard },
    { "sizes", bench_nmt_sizes },
    { "reader", bench_reader },
    { "reader", bench_steps },
    { "poem", bench_poem },
    { "startup", bench_startup },
};

enum { ROWS = sizeof table / sizeof *table };

static cla_status unknown(const char *suite)
{
    cla_text names = { 0 };
    cla_status status = CLA_OK;
    for (int i = 0; i < ROWS && !status; i++) {
        const bool again = i && strcmp(table[i].suite, table[i - 1].suite) == 0;
        status = again ? CLA_OK
                       : cla_text_add(&names, "%s%s", i ? ", " : "", table[i].suite);
    }
    status =
        status ? status
               : cla_fail(CLA_E_USAGE, "bench: no suite '%s' (%s)", suite, names.data);
    cla_text_free(&names);
    return status;
}

cla_status bench_suites_check(const char *suite)
{
    for (int i = 0; suite && i < ROWS; i++) {
        if (strcmp(table[i].suite, suite) == 0) {
            return CLA_OK;
        }
    }
    return suite ? unknown(suite) : CLA_OK;
}

cla_status bench_suites_each(bench *b, const char *suite)
{
    cla_status status = CLA_OK;
    for (int i = 0; i < ROWS && !status; i++) {
        const bool wanted = !suite || strcmp(table[i].suite, suite) == 0;
        status = wanted ? table[i].run(b) : CLA_OK;
    }
    return status;
}
