/* bleu_bootstrap.c - paired bootstrap resampling. */
#include "base/rng.h"
#include "metrics/bleu.h"

/* Separates these draws from others with the same seed. */
enum { DRAW_BOOTSTRAP = 0x626f6f74 };

/* Draws the index of sentence i of a resample of n sentences. */
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

/* Adds up the counts of a resample of n sentences, the same for both systems. */
static void resample(const cla_bleu_counts *model, const cla_bleu_counts *base,
                     size_t n, int sample, uint32_t seed, cla_bleu_counts sums[2])
{
    sums[0] = sums[1] = (cla_bleu_counts){ 0 };
    for (size_t i = 0; i < n; i++) {
        const size_t at = draw(n, i, sample, seed);
        cla_bleu_add(&sums[0], &model[at]);
        cla_bleu_add(&sums[1], &base[at]);
    }
}

static cla_status check(size_t n, int samples)
{
    return n && n <= UINT32_MAX && samples >= 1
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "bootstrap: %d resamples of %zu sentences",
                          samples, n);
}

cla_status cla_bleu_bootstrap(const cla_bleu_options *options,
                              const cla_bleu_counts *model, const cla_bleu_counts *base,
                              size_t n, int samples, uint32_t seed, cla_bootstrap *out)
{
    double *scores = NULL;
    int as_good = 0;
    CLA_TRY(check(n, samples));
    CLA_TRY(cla_alloc(&scores, 2 * (size_t)samples, sizeof *scores));
    for (int s = 0; s < samples; s++) {
        cla_bleu_counts sums[2];
        resample(model, base, n, s, seed, sums);
        scores[s] = cla_bleu_of(options, &sums[0]).score;
        scores[samples + s] = cla_bleu_of(options, &sums[1]).score;
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

cla_status cla_bleu_bootstrap_orders(const cla_bleu_counts *model,
                                     const cla_bleu_counts *base, size_t n, int samples,
                                     uint32_t seed, double p[CLA_MAX_ORDER])
{
    int as_good[CLA_MAX_ORDER] = { 0 };
    CLA_TRY(check(n, samples));
    for (int s = 0; s < samples; s++) {
        cla_bleu_counts sums[2];
        resample(model, base, n, s, seed, sums);
        for (int k = 0; k < CLA_MAX_ORDER; k++) {
            as_good[k] +=
                cla_bleu_single(&sums[1], k + 1) >= cla_bleu_single(&sums[0], k + 1);
        }
    }
    for (int k = 0; k < CLA_MAX_ORDER; k++) {
        p[k] = (double)as_good[k] / samples;
    }
    return CLA_OK;
}
