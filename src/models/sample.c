/* sample.c - draws a piece from the logits of a language model. */
#include "models/sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

static int by_logit(const void *a, const void *b)
{
    const sample_piece *x = a, *y = b;
    return x->logit > y->logit ? -1 : x->logit < y->logit ? 1 : x->id - y->id;
}

/* Writes the pieces, likeliest first; *finite counts those that can be drawn. */
static cla_status rank(const float *logit, int64_t count, sample_piece *piece,
                       int64_t *finite)
{
    *finite = 0;
    for (int64_t i = 0; i < count; i++) {
        const double value = (double)logit[i];
        if (isnan(value) || value == INFINITY) {
            return cla_fail(CLA_E_NUMERIC,
                            "lm: the scores of its pieces are not finite");
        }
        piece[i] = (sample_piece){ value, (int32_t)i };
        *finite += value > -INFINITY;
    }
    if (!*finite) {
        return cla_fail(CLA_E_NUMERIC, "lm: the scores of its pieces are not finite");
    }
    qsort(piece, (size_t)count, sizeof *piece, by_logit);
    return CLA_OK;
}

/* Turns the first n logits into weights, of which the largest is 1; returns their
 * sum. */
static double weigh(sample_piece *piece, int64_t n, double temperature)
{
    const double most = piece[0].logit;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        piece[i].logit = exp((piece[i].logit - most) / temperature);
        sum += piece[i].logit;
    }
    return sum;
}

/* Returns how many of the n likeliest pieces reach the share p of the sum, which
 * becomes that of these. */
static int64_t nucleus(const sample_piece *piece, int64_t n, double p, double *sum)
{
    double reached = 0;
    int64_t kept = 0;
    while (kept < n && (!kept || reached < p * *sum)) {
        reached += piece[kept++].logit;
    }
    *sum = reached;
    return kept;
}

cla_status cla_sample(const sample_options *o, uint32_t turn, const float *logit,
                      int64_t count, sample_piece *scrap, int32_t *id)
{
    const uint32_t counter[4] = { turn }, key[2] = { o->seed, 0x4c6d6f64 }; // "Lmod"
    int64_t n = 0;
    CLA_TRY(rank(logit, count, scrap, &n));
    *id = scrap[0].id;
    if (o->greedy) {
        return CLA_OK;
    }
    n = o->top_k && o->top_k < n ? o->top_k : n;
    double sum = weigh(scrap, n, o->temperature);
    n = nucleus(scrap, n, o->top_p, &sum);
    const double word = cla_philox4x32(counter, key).v[0];
    double left = (word + 0.5) * 0x1p-32 * sum;
    int64_t i = 0;
    while (i + 1 < n && left >= scrap[i].logit) {
        left -= scrap[i++].logit;
    }
    *id = scrap[i].id;
    return CLA_OK;
}
