/* attn_bi_direct.c - attention with directed heads: every other one sees no later
 * tokens, the rest see no earlier ones.
 * Shen et al. 2018, DiSAN; as in the baselines of Yang et al. 2019. */
#include <math.h>

#include "nn/attn.h"
#include "tensor/tensor.h"

typedef struct bi_direct {
    int directed; // heads with a direction: the last ones
} bi_direct;

static cla_status read_heads(attn_config *config, cla_config *s)
{
    bi_direct *c = cla_attn_state(config);
    c->directed = config->heads;
    return cla_config_int(s, "directed_heads", &c->directed, 0, config->heads);
}

/* Fills the table [H,2t] that is added to scores: number i - j + t of a row is for
 * query i and key j; -infinity hides the key. The last `directed` heads alternately see
 * keys j <= i and keys j >= i. */
static void fill(float *table, attn_config *config, int64_t t)
{
    const bi_direct *c = cla_attn_state(config);
    const int first = config->heads - c->directed;
    for (int64_t h = 0; h < config->heads; h++) {
        for (int64_t m = 0; m < 2 * t; m++) {
            const bool back = (h - first) % 2 == 0;
            const bool hidden = h >= first && (back ? m < t : m > t);
            table[h * 2 * t + m] = hidden ? -INFINITY : 0;
        }
    }
}

static cla_status add_table(cla_tape *tape, cla_tensor **table, attn_config *c,
                            int64_t t)
{
    float *host = NULL;
    const int64_t shape[] = { c->heads, 2 * t };
    CLA_TRY(cla_tape_tensor(tape, table, CLA_F32, 2, shape));
    CLA_TRY(cla_alloc(&host, (size_t)(shape[0] * shape[1]), sizeof *host));
    fill(host, c, t);
    const cla_status status = cla_tensor_upload(*table, host);
    free(host);
    return status;
}

static cla_status attend(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                         const attn_input *in)
{
    const int64_t longest = cla_ragged_longest(in->q_rows);
    cla_tensor *table = NULL;
    CLA_TRY(add_table(tape, &table, &layer->config, longest ? longest : 1));
    return cla_position_attention(tape, o, in->q, in->k, in->v, NULL, table, in->q_rows,
                                  &in->options);
}

extern const attn_way cla_attn_bi_direct;
const attn_way cla_attn_bi_direct = { .name = "bi_direct",
                                      .size = sizeof(bi_direct),
                                      .configure = read_heads,
                                      .forward = attend };
