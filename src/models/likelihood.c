/* likelihood.c - log probabilities of given translations. */
#include "models/likelihood.h"

#include <math.h>

/* Returns ln sum over v of exp(x[v]), relative to the largest; NaN if one is NaN. */
static double log_sum(const float *x, int64_t n)
{
    double most = (double)x[0], sum = 1;
    for (int64_t v = 1; v < n; v++) {
        const double value = (double)x[v];
        if (value > most) {
            sum = sum * exp(most - value) + 1;
            most = value;
        } else {
            sum += (double)expf((float)(value - most));
        }
    }
    return most + log(sum);
}

double cla_transformer_worth(double logp, int64_t length, double alpha)
{
    return logp / pow((5 + (double)length) / 6, alpha);
}

cla_status cla_transformer_rows(const transformer_batch *b, const cla_tensor *logits,
                                double *logp)
{
    const int64_t rows = b->input.count, pieces = cla_tensor_dim(logits, 1);
    float *host = NULL;
    CLA_TRY(cla_alloc(&host, (size_t)(rows * pieces) + 1, sizeof *host));
    cla_status status = cla_tensor_download(logits, host);
    for (int64_t i = 0; i < rows && !status; i++) {
        const float *row = host + i * pieces;
        logp[i] = (double)row[b->target[i]] - log_sum(row, pieces);
        if (!isfinite(logp[i])) {
            status = cla_fail(CLA_E_NUMERIC,
                              "translator: the scores of its pieces are not finite");
        }
    }
    free(host);
    return status;
}

cla_status cla_transformer_likelihood(transformer *m, cla_tape *tape,
                                      const transformer_batch *b, double *logp)
{
    const int32_t *offsets = b->input.rows->offsets;
    cla_tensor *memory = NULL, *logits = NULL;
    double *row = NULL;
    CLA_TRY(cla_transformer_encode(m, tape, &memory, b));
    CLA_TRY(cla_transformer_logits(m, tape, &logits, memory, b));
    CLA_TRY(cla_alloc(&row, (size_t)b->input.count + 1, sizeof *row));
    const cla_status status = cla_transformer_rows(b, logits, row);
    for (int64_t s = 0; s < cla_ragged_sequences(b->input.rows) && !status; s++) {
        logp[s] = 0;
        for (int32_t i = offsets[s]; i < offsets[s + 1]; i++) {
            logp[s] += row[i];
        }
    }
    free(row);
    return status;
}
