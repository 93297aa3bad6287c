/* alignment.c - probabilities and cross attention of the pieces of given
 * translations. */
#include "models/alignment.h"

#include "models/likelihood.h"

/* Computes the means over the heads of a map [B,H,Tmax,Smax]. */
static void take_means(const transformer_batch *b, const cla_tensor *map,
                       const float *host, float *weight)
{
    const int64_t H = cla_tensor_dim(map, 1), Tmax = cla_tensor_dim(map, 2),
                  Smax = cla_tensor_dim(map, 3);
    for (int64_t s = 0; s < cla_ragged_sequences(b->input.rows); s++) {
        const int32_t *at = b->input.rows->offsets + s,
                      *of = b->source.rows->offsets + s;
        const int64_t T = at[1] - at[0], S = of[1] - of[0];
        for (int64_t i = 0; i < T * S; i++) {
            double sum = 0;
            for (int64_t h = 0; h < H; h++) {
                sum += (double)host[((s * H + h) * Tmax + i / S) * Smax + i % S];
            }
            weight[i] = (float)(sum / (double)H);
        }
        weight += T * S;
    }
}

static cla_status look(transformer *m, cla_tape *tape, transformer_batch *b,
                       cla_tensor **logits)
{
    cla_tensor *memory = NULL;
    CLA_TRY(cla_transformer_encode(m, tape, &memory, b));
    CLA_TRY(cla_transformer_logits(m, tape, logits, memory, b));
    return b->pass->map ? CLA_OK
                        : cla_fail(CLA_E_INPUT, "the model has hard attention alone, "
                                                "which aligns nothing");
}

cla_status cla_transformer_align(transformer *m, cla_tape *tape,
                                 const transformer_batch *batch, double *logp,
                                 float *weight)
{
    cross_hard_pass pass = { .look = true };
    transformer_batch b = *batch;
    cla_tensor *logits = NULL;
    float *host = NULL;
    b.pass = &pass;
    CLA_TRY(look(m, tape, &b, &logits));
    CLA_TRY(cla_transformer_rows(&b, logits, logp));
    CLA_TRY(cla_alloc(&host, (size_t)cla_tensor_size(pass.map) + 1, sizeof *host));
    const cla_status status = cla_tensor_download(pass.map, host);
    if (!status) {
        take_means(&b, pass.map, host, weight);
    }
    free(host);
    return status;
}
