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

/* Adds up the log probabilities of the target pieces of each sentence. */
static cla_status add_rows(const transformer_batch *b, const float *logits,
                           int64_t pieces, double *logp)
{
    const int32_t *offsets = b->input.rows->offsets;
    for (int64_t s = 0; s < cla_ragged_sequences(b->input.rows); s++) {
        logp[s] = 0;
        for (int32_t i = offsets[s]; i < offsets[s + 1]; i++) {
            const float *row = logits + i * pieces;
            logp[s] += (double)row[b->target[i]] - log_sum(row, pieces);
        }
        if (!isfinite(logp[s])) {
            return cla_fail(CLA_E_NUMERIC,
                            "translator: the scores of its pieces are not finite");
        }
    }
    return CLA_OK;
}

cla_status cla_transformer_likelihood(transformer *m, cla_tape *tape,
                                      const transformer_batch *b, double *logp)
{
    const int64_t pieces = m->config.target_pieces;
    cla_tensor *memory = NULL, *logits = NULL;
    float *host = NULL;
    CLA_TRY(cla_transformer_encode(m, tape, &memory, b));
    CLA_TRY(cla_transformer_logits(m, tape, &logits, memory, b));
    CLA_TRY(cla_alloc(&host, (size_t)(b->input.count * pieces) + 1, sizeof *host));
    cla_status status = cla_tensor_download(logits, host);
    status = status ? status : add_rows(b, host, pieces, logp);
    free(host);
    return status;
}
