/* attn_block.c - attention inside short blocks, and between summaries of them.
 *
 *   o = attention of each token to those of its block
 *   g[b,h] = sum_i softmax_i(e[i,h]) o[i,h] over block b, e = sigmoid(o W_1 + b_1) W_2
 *   + b_2; c = attention of g W_3 + b_3 to the g of all blocks of the sentence
 *   f = z c + (1 - z) g, z = sigmoid([g;c] W_4 + b_4); a token gets [o ; its block's f]
 *
 * A block is a sequence of its own, so the last block of a sentence needs no padding.
 * Shen et al. 2018, Bi-directional block self-attention, as in the baselines of Yang et
 * al. 2019. */
#include <math.h>
#include <string.h>

#include "nn/attn.h"
#include "tensor/tensor.h"

typedef struct linear {
    cla_tensor *w, *b; // [in,out], [out]
} linear;

/* W_1 [D,D], W_2 [D,H], W_3 [D,D], W_4 [2D,D] and their biases; D = H*d. */
enum { HIDDEN, SCORE, BETWEEN, GATE, LINEARS };

typedef struct block {
    int tokens; // of a block
    linear linear[LINEARS];
} block;

static cla_status read_block(attn_config *config, cla_config *s)
{
    block *c = cla_attn_state(config);
    c->tokens = 4;
    return cla_config_int(s, "block", &c->tokens, 1, 65535);
}

static cla_status init(attn_layer *layer, cla_params *params, const char *prefix)
{
    static const char *const names[] = { "hidden", "score", "between", "gate" };
    block *m = cla_attn_state(&layer->config);
    const int64_t H = layer->config.heads, D = H * layer->config.width;
    const int64_t shape[][2] = { { D, D }, { D, H }, { D, D }, { 2 * D, D } };
    for (int i = 0; i < LINEARS; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s.%s", prefix, names[i]);
        CLA_TRY(cla_param_linear(params, &m->linear[i].w, &m->linear[i].b, shape[i][0],
                                 shape[i][1], name));
    }
    return CLA_OK;
}

/* ---- blocks ------------------------------------------------------------------ */

/* The blocks of a batch. */
typedef struct blocks {
    int64_t count;                         // n
    cla_ragged *tokens, *sentences, *each; // N tokens in n; n in B; n in n
    cla_tensor *of;                        // [N] the block of a token
} blocks;

typedef struct offsets {
    int32_t *tokens, *sentences, *each, *of;
} offsets;

static int64_t cut(offsets *at, const cla_ragged *rows, int size)
{
    int64_t n = 0;
    for (int64_t s = 0; s < rows->sequences; s++) {
        at->sentences[s] = (int32_t)n;
        for (int32_t i = rows->offsets[s]; i < rows->offsets[s + 1]; i++) {
            if ((i - rows->offsets[s]) % size == 0) {
                at->tokens[n] = i;
                at->each[n] = (int32_t)n;
                n++;
            }
            at->of[i] = (int32_t)n - 1;
        }
    }
    at->sentences[rows->sequences] = (int32_t)n;
    at->tokens[n] = (int32_t)rows->tokens;
    at->each[n] = (int32_t)n;
    return n;
}

static cla_status keep_rows(cla_tape *tape, cla_ragged **rows, int64_t sequences,
                            const int32_t *at)
{
    CLA_TRY(cla_ragged_new(rows, cla_tape_runtime(tape), sequences, at));
    cla_tape_keep(tape, *rows);
    return CLA_OK;
}

static cla_status build(blocks *b, cla_tape *tape, offsets *at, const cla_ragged *rows,
                        int size)
{
    const size_t most = (size_t)rows->tokens + 1;
    CLA_TRY(cla_alloc(&at->tokens, most, sizeof *at->tokens));
    CLA_TRY(cla_alloc(&at->each, most, sizeof *at->each));
    CLA_TRY(cla_alloc(&at->of, most, sizeof *at->of));
    CLA_TRY(
        cla_alloc(&at->sentences, (size_t)rows->sequences + 1, sizeof *at->sentences));
    b->count = cut(at, rows, size);
    CLA_TRY(keep_rows(tape, &b->tokens, b->count, at->tokens));
    CLA_TRY(keep_rows(tape, &b->sentences, rows->sequences, at->sentences));
    CLA_TRY(keep_rows(tape, &b->each, b->count, at->each));
    return cla_tape_ids(tape, &b->of, rows->tokens, at->of);
}

static cla_status make_blocks(blocks *b, cla_tape *tape, const cla_ragged *rows,
                              int size)
{
    offsets at = { 0 };
    const cla_status status = build(b, tape, &at, rows, size);
    free(at.tokens);
    free(at.sentences);
    free(at.each);
    free(at.of);
    return status;
}

/* ---- forward ----------------------------------------------------------------- */

static cla_status filled(cla_tape *tape, cla_tensor **t, int64_t rows, int64_t columns,
                         float value)
{
    CLA_TRY(cla_tape_tensor(tape, t, CLA_F32, 2, (int64_t[]){ rows, columns }));
    return cla_tensor_fill(*t, value);
}

static cla_status project(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                          const linear *l)
{
    return cla_linear(tape, y, x, l->w, l->b, CLA_NONE, NULL);
}

static cla_status sigmoid(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    cla_tensor *one = NULL, *zero = NULL;
    const int64_t rows = cla_tensor_dim(x, 0), columns = cla_tensor_dim(x, 1);
    CLA_TRY(filled(tape, &one, rows, columns, 1));
    CLA_TRY(filled(tape, &zero, rows, columns, 0));
    return cla_gate(tape, y, x, one, zero);
}

/* Makes keys [N,D] whose scaled dot products with ones are the scores e [N,H]:
 * sqrt(d) e in the first number of a head, 0 in the others. */
static cla_status widen(cla_tape *tape, cla_tensor **keys, cla_tensor *e, int64_t D)
{
    const int64_t H = cla_tensor_dim(e, 1), d = D / H;
    cla_tensor *spread = NULL;
    float *host = NULL;
    CLA_TRY(cla_tape_tensor(tape, &spread, CLA_F32, 2, (int64_t[]){ H, D }));
    CLA_TRY(cla_alloc(&host, (size_t)(H * D), sizeof *host));
    for (int64_t h = 0; h < H; h++) {
        host[h * D + h * d] = sqrtf((float)d);
    }
    const cla_status status = cla_tensor_upload(spread, host);
    free(host);
    CLA_TRY(status);
    return cla_matmul(tape, keys, e, spread, false, false);
}

/* Computes the summaries g [n,D] of the blocks from o [N,D]. */
static cla_status summarise(attn_layer *l, cla_tape *tape, cla_tensor **g,
                            cla_tensor *o, const blocks *b)
{
    const block *m = cla_attn_state(&l->config);
    const int64_t H = l->config.heads, d = l->config.width, D = H * d;
    cla_tensor *e = NULL, *ones = NULL, *q = NULL, *k = NULL, *v = NULL;
    CLA_TRY(project(tape, &e, o, &m->linear[HIDDEN]));
    CLA_TRY(sigmoid(tape, &e, e));
    CLA_TRY(project(tape, &e, e, &m->linear[SCORE]));
    CLA_TRY(widen(tape, &k, e, D));
    CLA_TRY(filled(tape, &ones, b->count, D, 1));
    CLA_TRY(cla_tensor_columns(tape, &q, ones, 0, H, d));
    CLA_TRY(cla_tensor_columns(tape, &k, k, 0, H, d));
    CLA_TRY(cla_tensor_columns(tape, &v, o, 0, H, d));
    CLA_TRY(cla_attention(tape, g, q, k, v, b->each, b->tokens, NULL));
    return cla_tensor_reshape(tape, g, *g, 2, (int64_t[]){ b->count, D });
}

/* Computes f [n,D] of g [n,D]. Keys and values are two copies of g side by side. */
static cla_status mix(attn_layer *l, cla_tape *tape, cla_tensor **f, cla_tensor *g,
                      const blocks *b)
{
    const block *m = cla_attn_state(&l->config);
    const int64_t H = l->config.heads, d = l->config.width, D = H * d;
    cla_tensor *query = NULL, *twice = NULL, *q = NULL, *k = NULL, *v = NULL, *c = NULL;
    CLA_TRY(project(tape, &query, g, &m->linear[BETWEEN]));
    CLA_TRY(cla_concat(tape, &twice, g, g));
    CLA_TRY(cla_tensor_columns(tape, &q, query, 0, H, d));
    CLA_TRY(cla_tensor_columns(tape, &k, twice, 0, H, d));
    CLA_TRY(cla_tensor_columns(tape, &v, twice, D, H, d));
    CLA_TRY(cla_attention(tape, &c, q, k, v, b->sentences, b->sentences, NULL));
    CLA_TRY(cla_tensor_reshape(tape, &c, c, 2, (int64_t[]){ b->count, D }));
    CLA_TRY(cla_concat(tape, &twice, g, c));
    CLA_TRY(project(tape, f, twice, &m->linear[GATE]));
    return cla_gate(tape, f, *f, c, g);
}

static cla_status attend(attn_layer *layer, cla_tape *tape, cla_tensor **out,
                         const attn_input *in)
{
    const block *m = cla_attn_state(&layer->config);
    blocks b = { 0 };
    cla_tensor *o = NULL, *g = NULL, *f = NULL;
    CLA_TRY(make_blocks(&b, tape, in->q_rows, m->tokens));
    CLA_TRY(
        cla_attention(tape, &o, in->q, in->k, in->v, b.tokens, b.tokens, &in->options));
    const int64_t N = cla_tensor_dim(o, 0), shape[] = { N, cla_tensor_size(o) / N };
    CLA_TRY(cla_tensor_reshape(tape, &o, o, 2, shape));
    CLA_TRY(summarise(layer, tape, &g, o, &b));
    CLA_TRY(mix(layer, tape, &f, g, &b));
    CLA_TRY(cla_embedding(tape, &f, f, b.of, 1));
    return cla_concat(tape, out, o, f);
}

static const char *const small[] = { "block=2", NULL };

extern const attn_way cla_attn_block;
const attn_way cla_attn_block = { .name = "block",
                                  .size = sizeof(block),
                                  .configure = read_block,
                                  .init = init,
                                  .forward = attend,
                                  .parts = 2,
                                  .without_map = true,
                                  .small = small };
