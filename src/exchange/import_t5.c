/* import_t5.c - the settings and tensors of T5 1.1, mT5 and MADLAD-400 in a Hugging
 * Face folder. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "exchange/import_writer.h"
#include "exchange/t5.h"
#include "nn/buckets.h"

enum { NAME = 96 };

/* ---- settings ------------------------------------------------------------------ */

/* The kinds of feed-forward blocks. transformers takes gated-gelu for the one with a
 * hyperbolic tangent. */
static const struct {
    const char *name, *feed;
    cla_activation activation;
    bool gated;
} feeds[] = { { "relu", "relu", CLA_RELU, false },
              { "gelu", "gelu", CLA_GELU, false },
              { "gelu_new", "gelu_tanh", CLA_GELU_TANH, false },
              { "silu", "silu", CLA_SILU, false },
              { "gated-gelu", "geglu_tanh", CLA_GELU_TANH, true },
              { "gated-gelu_new", "geglu_tanh", CLA_GELU_TANH, true },
              { "gated-silu", "swiglu", CLA_SILU, true } };
enum { FEEDS = sizeof feeds / sizeof *feeds };

static cla_status read_feed(marian *m)
{
    const char *names[FEEDS + 1] = { NULL };
    int chosen = 0;
    for (int i = 0; i < FEEDS; i++) {
        names[i] = feeds[i].name;
    }
    CLA_TRY(cla_config_choice(&m->config, "feed_forward_proj", names, &chosen));
    m->feed = feeds[chosen].feed;
    m->activation = feeds[chosen].activation;
    m->gated = feeds[chosen].gated;
    return CLA_OK;
}

/* Reads whether the decoder's output is divided by the root of its width. Release 5 of
 * transformers has a key of its own for it, and never does so in mT5. */
static cla_status read_scale(marian *m)
{
    const char *type = "t5";
    CLA_TRY(cla_config_text(&m->config, "model_type", &type));
    const bool multilingual = strcmp(type, "mt5") == 0;
    const bool newest = m->search.kind == SEARCH_TRANSFORMERS_5;
    bool tied = !multilingual;
    CLA_TRY(cla_config_bool(&m->config, "tie_word_embeddings", &tied));
    m->output_scale = tied && !(multilingual && newest);
    return cla_config_bool(&m->config, "scale_decoder_outputs", &m->output_scale);
}

static cla_status read_sizes(marian *m)
{
    enum { WIDEST = 1 << 14, INNER = 1 << 16, HEADS = 256, PIECES = 1 << 24 };
    cla_config *c = &m->config;
    m->model = 512;
    m->heads = 8;
    m->head_width = 64;
    m->inner = 2048;
    m->layers = 6;
    m->buckets = 32;
    m->bucket_reach = 128;
    m->source_pieces = 32128;
    m->norm_epsilon = 1e-6;
    CLA_TRY(cla_config_int(c, "d_model", &m->model, 1, WIDEST));
    CLA_TRY(cla_config_int(c, "num_heads", &m->heads, 1, HEADS));
    CLA_TRY(cla_config_int(c, "d_kv", &m->head_width, 1, WIDEST));
    CLA_TRY(cla_config_int(c, "d_ff", &m->inner, 1, INNER));
    CLA_TRY(cla_config_int(c, "num_layers", &m->layers, 1, TRANSFORMER_LAYERS));
    m->decoder_layers = m->layers;
    CLA_TRY(cla_config_int(c, "num_decoder_layers", &m->decoder_layers, 1,
                           TRANSFORMER_LAYERS));
    CLA_TRY(cla_config_int(c, "relative_attention_num_buckets", &m->buckets, 4,
                           CLA_BUCKETS));
    CLA_TRY(cla_config_int(c, "relative_attention_max_distance", &m->bucket_reach, 2,
                           CLA_BUCKET_REACH));
    CLA_TRY(cla_config_int(c, "vocab_size", &m->source_pieces, 3, PIECES));
    m->target_pieces = m->source_pieces;
    return cla_config_double(c, "layer_norm_epsilon", &m->norm_epsilon, 1e-12, 1);
}

cla_status cla_t5_read_network(marian *m)
{
    m->shared = m->tied = true; // unless there is a head
    CLA_TRY(read_sizes(m));
    CLA_TRY(read_scale(m));
    return read_feed(m);
}

const char *cla_t5_feed(cla_activation activation, bool gated)
{
    for (int i = 0; i < FEEDS; i++) {
        if (feeds[i].activation == activation && feeds[i].gated == gated) {
            return feeds[i].feed;
        }
    }
    return NULL;
}

cla_status cla_t5_find_start(marian *m, const char *key)
{
    const int32_t *from = m->source.from;
    m->start_end = m->start == from[CLA_EOS];
    m->start_unknown = m->start == from[CLA_UNK];
    return m->start_end || m->start_unknown || m->start == from[CLA_PAD]
               ? CLA_OK
               : cla_config_refuse(&m->config, key,
                                   "is %d, must be that of padding, end or unknown",
                                   m->start);
}

json_t *cla_t5_settings(const marian *m)
{
    return json_pack("{s:s, s:b, s:s, s:s, s:i, s:i, s:i, s:b, s:b, s:b, s:s, s:b}",
                     "norm", "rms", "bias", 0, "feed_forward", m->feed, "position",
                     "buckets", "buckets", m->buckets, "bucket_reach", m->bucket_reach,
                     "head_width", m->head_width, "attention_scale", 0, "output_scale",
                     m->output_scale, "start_unknown", m->start_unknown, "tied",
                     m->tied ? "all" : "input", "start_pad",
                     !m->start_unknown && !m->start_end);
}

/* ---- tensors ------------------------------------------------------------------- */

/* Copies a tensor as it is: [rows,columns], rows 0: a vector. */
static cla_status copy(writer *w, const char *to, const char *from, int64_t rows,
                       int64_t columns)
{
    float *made = NULL, *numbers = NULL;
    CLA_TRY(cla_made_add(&w->made, to, rows, columns, &made));
    CLA_TRY(cla_writer_take(w, from, rows, columns, &numbers));
    assert(made && numbers);
    memcpy(made, numbers, (size_t)((rows ? rows : 1) * columns) * sizeof *made);
    free(numbers);
    return CLA_OK;
}

static int64_t width_of(const marian *m, char kind)
{
    return cla_t5_width(kind, m->model, m->inner, m->heads * m->head_width);
}

static cla_status copy_block(writer *w, const char *stack, int i)
{
    const marian *m = w->m;
    const bool decoder = *stack == 'd';
    char to[NAME], from[NAME];
    for (int k = 0; k < T5_LINEARS; k++) {
        const t5_linear *l = &cla_t5_linears[k];
        if (!cla_t5_has(l, decoder, m->gated)) continue;
        snprintf(to, sizeof to, "%s.%d.%s", stack, i, l->name);
        snprintf(from, sizeof from, "%s.block.%d.layer.%d.", stack, i,
                 cla_t5_layer(l->layer, decoder));
        const writer_linear linear = { to,
                                       from,
                                       { l->part[0], l->part[1], l->part[2] },
                                       width_of(m, l->in),
                                       width_of(m, l->out),
                                       .unbiased = true };
        CLA_TRY(cla_writer_linear(w, &linear));
    }
    for (int k = 0; k < T5_NORMS; k++) {
        const t5_norm *n = &cla_t5_norms[k];
        if (n->cross && !decoder) continue;
        snprintf(to, sizeof to, "%s.%d.%s.gain", stack, i, n->name);
        snprintf(from, sizeof from, "%s.block.%d.layer.%d.layer_norm.weight", stack, i,
                 cla_t5_layer(n->layer, decoder));
        CLA_TRY(copy(w, to, from, 0, m->model));
    }
    return CLA_OK;
}

static cla_status copy_stack(writer *w, const char *stack, int layers)
{
    const marian *m = w->m;
    char to[NAME], from[NAME];
    snprintf(to, sizeof to, "%s.buckets", stack);
    snprintf(from, sizeof from,
             "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight", stack);
    CLA_TRY(copy(w, to, from, m->buckets, m->heads));
    for (int i = 0; i < layers; i++) {
        CLA_TRY(copy_block(w, stack, i));
    }
    snprintf(to, sizeof to, "%s.norm.gain", stack);
    snprintf(from, sizeof from, "%s.final_layer_norm.weight", stack);
    return copy(w, to, from, 0, m->model);
}

#define SHARED  "shared.weight"
#define ENCODER "encoder.embed_tokens.weight"
#define DECODER "decoder.embed_tokens.weight"
#define HEAD    "lm_head.weight"

/* Returns whether the file has a head with other numbers than the table. */
static bool has_head(const writer *w)
{
    const cla_st_tensor *head = cla_st_find(&w->file, HEAD);
    const cla_st_tensor *table = cla_st_find(&w->file, SHARED);
    return head && table &&
           (head->size != table->size || head->dtype != table->dtype ||
            memcmp(head->data, table->data,
                   (size_t)(head->size * cla_st_dtypes[head->dtype].bytes)) != 0);
}

cla_status cla_writer_t5(writer *w, bool *tied)
{
    static const char *const all[] = { SHARED, ENCODER, DECODER, HEAD, NULL };
    static const char *const input[] = { SHARED, ENCODER, DECODER, NULL };
    static const char *const head[] = { HEAD, NULL };
    // which old folders hold, and no release uses
    static const char unused[] =
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";
    const cla_st_tensor *old = cla_st_find(&w->file, unused);
    *tied = !has_head(w);
    CLA_TRY(cla_writer_table(w, "target.table", &w->m->source, *tied ? all : input));
    CLA_TRY(*tied ? CLA_OK : cla_writer_table(w, "output.table", &w->m->source, head));
    CLA_TRY(copy_stack(w, "encoder", w->m->layers));
    CLA_TRY(copy_stack(w, "decoder", w->m->decoder_layers));
    if (old) {
        w->used[old - w->file.tensors] = true;
    }
    return CLA_OK;
}
