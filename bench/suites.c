/* suites.c - the table of suites. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "bench/internal.h"

/* In the order in which they run; the rows of cases.c come before a suite's
 * functions. */
static const struct {
    const char *suite;
    cla_status (*run)(bench *b); // NULL: only rows of cases.c
} table[] = {
    { "softmax", NULL },
    { "gemm", bench_matmul },
    { "weights", bench_weights },
    { "attention", bench_position_attention },
    { "attention", bench_hard_attention },
    { "attention", bench_custom_attention },
    { "attention", bench_gaussian_attention },
    { "ham", bench_ham },
    { "band", NULL },
    { "ragged", bench_ragged },
    { "layers", bench_top_k },
    { "layers", bench_multinomial },
    { "layers", bench_reinforce },
    { "layers", bench_optimiser },
    { "layers", bench_ema },
    { "layers", bench_clip },
    { "characters", NULL },
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

static bool begins(int i)
{
    return !i || strcmp(table[i].suite, table[i - 1].suite) != 0;
}

const char *bench_suite_names(void)
{
    static char names[256];
    *names = '\0';
    size_t at = 0;
    for (int i = 0; i < ROWS; i++) {
        if (begins(i)) {
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? " " : "",
                                   table[i].suite);
            assert(at < sizeof names);
        }
    }
    return names;
}

cla_status bench_suites_check(const char *suite)
{
    for (int i = 0; suite && i < ROWS; i++) {
        if (strcmp(table[i].suite, suite) == 0) {
            return CLA_OK;
        }
    }
    return suite ? cla_fail(CLA_E_USAGE, "bench: no suite '%s' (%s)", suite,
                            bench_suite_names())
                 : CLA_OK;
}

static cla_status run(bench *b, int i)
{
    CLA_TRY(begins(i) ? bench_cases(b, table[i].suite) : CLA_OK);
    return table[i].run ? table[i].run(b) : CLA_OK;
}

cla_status bench_suites_each(bench *b, const char *suite)
{
    cla_status status = CLA_OK;
    if (b->options && b->options->custom) {
        return bench_custom_score(b, b->options->custom);
    }
    for (int i = 0; i < ROWS && !status; i++) {
        const bool wanted = !suite || strcmp(table[i].suite, suite) == 0;
        status = wanted ? run(b, i) : CLA_OK;
    }
    return status;
}
