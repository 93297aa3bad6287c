/* prefix_bleu.c - sentence BLEU of every prefix of a hypothesis in one pass. */
#include <math.h>

#include "metrics/bleu.h"

enum { ORDER = 4 };

/* Returns the BLEU of a prefix. Every count starts at 1, so no precision is 0. */
static double score(const int64_t correct[ORDER], int64_t length, int64_t ref)
{
    double product = 1;
    for (int k = 0; k < ORDER; k++) {
        const int64_t possible = length > k ? length - k : 0;
        product *= (double)(correct[k] + 1) / (double)(possible + 1);
    }
    const double brevity = length < ref ? exp(1.0 - (double)ref / (double)length) : 1.0;
    return sqrt(sqrt(product)) * brevity;
}

cla_status cla_prefix_bleu(const int32_t *ref, size_t ref_count, const int32_t *hyp,
                           size_t n, int32_t unknown, double *r)
{
    cla_ngrams ngrams = { .order = ORDER };
    cla_ngram_walk walk;
    int64_t correct[ORDER] = { 0 };
    const cla_status status = cla_ngrams_add_reference(&ngrams, ref, ref_count);
    cla_ngrams_start(&ngrams, &walk);
    for (size_t i = 0; i < n && !status; i++) {
        const int32_t token = hyp[i] == unknown ? -1 : hyp[i];
        cla_ngrams_step(&ngrams, &walk, token, correct);
        r[i] = score(correct, (int64_t)i + 1, (int64_t)ref_count);
    }
    cla_ngrams_free(&ngrams);
    return status;
}

void cla_prefix_returns(const double *r, size_t n, double scale, double *g)
{
    const double whole = n ? r[n - 1] : 0.0;
    double before = 0;
    for (size_t t = 0; t < n; t++) {
        const double here = r[t];
        g[t] = (whole - before) * scale;
        before = here;
    }
}
