/* transformer_embed.c - what a stack of the Transformer begins with: embeddings,
 * positions, numbers that scores get by distance. */
#include "models/transformer_embed.h"

#include <math.h>
#include <string.h>

#include "clattn/feed.h"
#include "nn/buckets.h"

cla_status cla_transformer_signal(int kind, int64_t count, int64_t D, float *signal)
{
    static void (*const makers[])(float *, int64_t, int64_t) = {
        [TRANSFORMER_TENSOR2TENSOR] = cla_coder_signal,
        [TRANSFORMER_MARIAN] = cla_coder_signal_marian,
        [TRANSFORMER_FAIRSEQ] = cla_coder_signal,
        [TRANSFORMER_OPENNMT] = cla_coder_signal_opennmt,
    };
    const int64_t before = kind == TRANSFORMER_FAIRSEQ ? 2 : 0;
    float *rows = NULL;
    CLA_TRY(cla_alloc(&rows, (size_t)((count + before) * D) + 1, sizeof *rows));
    makers[kind](rows, count + before, D);
    memcpy(signal, rows + before * D, (size_t)(count * D) * sizeof *signal);
    free(rows);
    return CLA_OK;
}

/* Uploads the encodings of the first `count` positions. */
static cla_status upload_signal(cla_tensor *signal, int kind, int64_t count, int64_t D)
{
    float *host = NULL;
    CLA_TRY(cla_alloc(&host, (size_t)(count * D), sizeof *host));
    cla_status status = cla_transformer_signal(kind, count, D, host);
    status = status ? status : cla_tensor_upload(signal, host);
    free(host);
    return status;
}

/* Doubles the table of position encodings until it covers `length` positions. */
static cla_status reach(transformer *m, cla_runtime *rt, int64_t length)
{
    const int64_t D = m->config.coder.model;
    int64_t want = m->reach ? m->reach : 128;
    while (want < length) {
        want *= 2;
    }
    if (want == m->reach) {
        return CLA_OK;
    }
    cla_tensor *signal = NULL;
    cla_status status = cla_tensor_new(&signal, rt, CLA_F32, 2, (int64_t[]){ want, D });
    status = status ? status : upload_signal(signal, m->config.positions, want, D);
    if (status) {
        cla_tensor_free(&signal);
        return status;
    }
    cla_tensor_free(&m->signal);
    m->signal = signal;
    m->reach = want;
    return CLA_OK;
}

/* Uploads the pieces. The start of a target (-1) becomes the piece that the settings
 * name. */
static cla_status upload_ids(const transformer *m, cla_tape *tape, cla_tensor **ids,
                             const transformer_tokens *t)
{
    const transformer_config *c = &m->config;
    const int32_t start = c->start_end       ? TRANSFORMER_END
                          : c->start_unknown ? TRANSFORMER_UNKNOWN
                                             : TRANSFORMER_PAD;
    int32_t *id = NULL;
    if (!c->start_pad && !c->start_end && !c->start_unknown) {
        return cla_tape_ids(tape, ids, t->count, t->id); // -1 embeds as zeros
    }
    CLA_TRY(cla_alloc(&id, (size_t)t->count + 1, sizeof *id));
    for (int64_t i = 0; i < t->count; i++) {
        id[i] = t->id[i] < 0 ? start : t->id[i];
    }
    const cla_status status = cla_tape_ids(tape, ids, t->count, id);
    free(id);
    return status;
}

/* Gives the table of positions of a stack, which has `longest` rows at least. */
static cla_status find_positions(transformer *m, cla_tape *tape, int stack,
                                 int64_t longest, cla_tensor **table)
{
    const int most = m->config.max_positions;
    if (m->config.positions != TRANSFORMER_LEARNED) {
        CLA_TRY(reach(m, cla_tape_runtime(tape), longest));
        *table = m->signal;
        return CLA_OK;
    }
    *table = m->positions[stack];
    return longest <= most
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "a sentence has %lld pieces, the model learned %d positions",
                          (long long)longest, most);
}

/* Adds the encodings of the positions in a stack: sinusoids or a learned table. */
static cla_status add_positions(transformer *m, cla_tape *tape, cla_tensor **x,
                                int stack, const transformer_tokens *t,
                                cla_tensor *positions)
{
    cla_tensor *signal = NULL, *rows = NULL;
    int64_t longest = 0;
    for (int64_t i = 0; i < t->count; i++) {
        longest = t->position[i] >= longest ? t->position[i] + 1 : longest;
    }
    CLA_TRY(find_positions(m, tape, stack, longest, &rows));
    CLA_TRY(cla_embedding(tape, &signal, rows, positions, 1));
    return cla_add(tape, x, *x, signal);
}

cla_status cla_transformer_embed(transformer *m, cla_tape *tape, cla_tensor **x,
                                 attn_turn *turn, int stack,
                                 const transformer_tokens *t)
{
    cla_tensor *table =
        stack == EMBED_ENCODER && m->source_table ? m->source_table : m->target_table;
    const float scale = m->config.unscaled ? 1 : sqrtf((float)m->config.coder.model);
    cla_tensor *ids = NULL, *positions = NULL;
    CLA_TRY(upload_ids(m, tape, &ids, t));
    CLA_TRY(cla_tape_ids(tape, &positions, t->count, t->position));
    CLA_TRY(cla_embedding(tape, x, table, ids, scale));
    CLA_TRY(cla_angles_turn(&m->angles, tape, turn, t->position, t->count, positions));
    if (m->config.coder.position == CODER_SINE) {
        CLA_TRY(add_positions(m, tape, x, stack, t, positions));
    }
    return m->config.embedding_norm
               ? cla_coder_norm_forward(&m->embedding_norm[stack], tape, x, *x)
               : CLA_OK;
}

/* ---- distances ----------------------------------------------------------------- */

cla_status cla_transformer_distances(transformer *m, cla_tape *tape,
                                     cla_tensor **distances, int stack)
{
    const coder_config *c = &m->config.coder;
    const int most = c->bucket_reach;
    int32_t *bucket = NULL;
    cla_tensor *ids = NULL;
    *distances = NULL;
    if (c->position != CODER_BUCKETS) {
        return CLA_OK;
    }
    CLA_TRY(cla_alloc(&bucket, 2 * (size_t)most + 1, sizeof *bucket));
    for (int n = -most; n <= most; n++) {
        bucket[n + most] = cla_bucket_of(n, c->buckets, most, stack == EMBED_ENCODER);
    }
    const cla_status status = cla_tape_ids(tape, &ids, 2 * most + 1, bucket);
    free(bucket);
    CLA_TRY(status);
    return cla_embedding(tape, distances, m->buckets[stack], ids, 1);
}
