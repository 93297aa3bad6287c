/* bleu_bootstrap.c - paired bootstrap resampling. */
#include "base/rng.h"
#include "metrics/bleu.h"

/* Keeps these draws apart from others under the same seed. */
enum { DRAW_BOOTSTRAP = 0x626f6f74 };

/* Sentence i of a resample, of n. */
static size_t draw(size_t n, size_t i, int sample, uint32_t seed)
{
    const uint32_t counter[4] = { (uint32_t)i, (uint32_t)sample, 0, 0 };
    const uint32_t key[2] = { seed, DRAW_BOOTSTRAP };
    return (size_t)(((uint64_t)cla_philox4x32(counter, key).v[0] * n) >> 32);
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void percentiles(double *scores, int samples, double out[3])
{
    qsort(scores, (size_t)samples, sizeof *scores, rising);
    out[1] = scores[(int)(0.025 * samples)];
    out[2] = scores[samples - 1 - (int)(0.025 * samples)];
}

static double score_of_all(const cla_bleu_options *options, const cla_bleu_counts *c,
                           size_t n)
{
    cla_bleu_counts sum = { 0 };
    for (size_t i = 0; i < n; i++) {
        cla_bleu_add(&sum, &c[i]);
    }
    return cla_bleu_of(options, &sum).score;
}

cla_status cla_bleu_bootstrap(const cla_bleu_options *options,
                              const cla_bleu_counts *model, const cla_bleu_counts *base,
                              size_t n, int samples, uint32_t seed, cla_bootstrap *out)
{
    double *scores = NULL;
    int as_good = 0;
    if (!n || n > UINT32_MAX || samples < 1) {
        return cla_fail(CLA_E_USAGE, "bootstrap: %d resamples of %zu sentences",
                        samples, n);
    }
    CLA_TRY(cla_alloc(&scores, 2 * (size_t)samples, sizeof *scores));
    for (int s = 0; s < samples; s++) {
        cla_bleu_counts of_model = { 0 }, of_base = { 0 };
        for (size_t i = 0; i < n; i++) {
            const size_t at = draw(n, i, s, seed);
            cla_bleu_add(&of_model, &model[at]);
            cla_bleu_add(&of_base, &base[at]);
        }
        scores[s] = cla_bleu_of(options, &of_model).score;
        scores[samples + s] = cla_bleu_of(options, &of_base).score;
        as_good += scores[samples + s] >= scores[s];
    }
    out->p = (double)as_good / samples;
    out->model[0] = score_of_all(options, model, n);
    out->base[0] = score_of_all(options, base, n);
    percentiles(scores, samples, out->model);
    percentiles(scores + samples, samples, out->base);
    free(scores);
    return CLA_OK;
}
