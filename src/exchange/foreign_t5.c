/* foreign_t5.c - writes a translator as a Hugging Face folder: T5 1.1, mT5 and
 * MADLAD-400, which are one network for transformers. */
#include "exchange/foreign_t5.h"

#include <stdio.h>
#include <string.h>

#include "exchange/foreign_huggingface.h"
#include "exchange/t5.h"

enum { NAME = 96 };

static const cla_vocab *vocab_of(const t5_layout *l)
{
    return &l->f->t->source.vocab;
}

static cla_status refuse(const t5_layout *l, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: %s: T5 has no such models", l->f->run, what);
}

/* ---- rows -------------------------------------------------------------------- */

/* Places a piece of clattn in the next row. */
static void place(t5_layout *l, bool *placed, int32_t piece)
{
    if (piece < CLA_SPECIALS) {
        l->special[piece] = (int)l->rows;
    }
    placed[piece] = true;
    l->row[l->rows++] = piece;
}

/* Returns the piece of this name that is not placed yet, or -1. Where padding is no
 * piece of the model, a piece that the vocabulary lacks became it. */
static int32_t piece_of(const t5_layout *l, const bool *placed, const char *name)
{
    const cla_vocab *v = vocab_of(l);
    for (size_t i = 0; i < v->count; i++) {
        if (!placed[i] && strcmp(v->tokens[i], name) == 0) {
            return (int32_t)i;
        }
    }
    return placed[CLA_PAD] ? -1 : CLA_PAD;
}

static cla_status place_model(t5_layout *l, bool *placed)
{
    const char *at = l->pieces.data, *end = at + l->pieces.size;
    for (; at < end; at += strlen(at) + 1) {
        const int32_t piece = piece_of(l, placed, at);
        if (piece < 0) {
            return refuse(l, "lacks pieces of its SentencePiece model");
        }
        l->pad = piece == CLA_PAD ? at : l->pad;
        place(l, placed, piece);
    }
    l->numbered = l->rows;
    return CLA_OK;
}

/* Places what the model does not have: tokens first, then rows without one. */
static cla_status place_rest(t5_layout *l, bool *placed)
{
    const cla_vocab *v = vocab_of(l);
    for (int nameless = 0; nameless < 2; nameless++) {
        for (size_t i = 0; i < v->count; i++) {
            if (!placed[i] && (*v->tokens[i] == 0) == nameless) {
                place(l, placed, (int32_t)i);
            }
        }
    }
    return l->rows == (int64_t)v->count ? CLA_OK : refuse(l, "has other pieces");
}

cla_status cla_t5_layout(t5_layout *l, const foreign *f)
{
    *l = (t5_layout){ .f = f, .pad = cla_special_names[CLA_PAD] };
    const cla_vocab *v = vocab_of(l);
    bool *placed = NULL;
    CLA_TRY(cla_transformer_check_format(&f->t->config, &f->settings, TRANSFORMER_T5,
                                         false));
    if (!f->joint || f->t->source.kind != CLA_PIECES_MODEL) {
        return refuse(l, "has two vocabularies, or no SentencePiece model");
    }
    CLA_TRY(cla_alloc(&l->row, 2 * v->count, sizeof *l->row));
    cla_status status = cla_alloc(&placed, v->count, sizeof *placed);
    status = status ? status : cla_sentencepiece_list(f->t->source.model, &l->pieces);
    status = status ? status : place_model(l, placed);
    status = status ? status : place_rest(l, placed);
    free(placed);
    return status;
}

void cla_t5_layout_free(t5_layout *l)
{
    free(l->row);
    cla_text_free(&l->pieces);
}

/* ---- weights ----------------------------------------------------------------- */

static cla_status add_table(const t5_layout *l, cla_made *made, const char *from,
                            const char *to)
{
    return cla_foreign_add_rows(l->f, made, from, to, l->row, l->rows);
}

static int64_t width_of(const coder_config *c, char kind)
{
    return cla_t5_width(kind, c->model, c->inner, c->heads * cla_coder_head_width(c));
}

static cla_status add_block(const foreign *f, cla_made *made, const char *stack, int i)
{
    const coder_config *c = &f->t->config.coder;
    const bool decoder = *stack == 'd';
    char from[NAME], to[NAME];
    for (int k = 0; k < T5_LINEARS; k++) {
        const t5_linear *l = &cla_t5_linears[k];
        if (!cla_t5_has(l, decoder, c->gated)) continue;
        snprintf(from, sizeof from, "%s.%d.%s", stack, i, l->name);
        for (int part = 0; part < 3 && l->part[part]; part++) {
            const int64_t out = width_of(c, l->out);
            snprintf(to, sizeof to, "%s.block.%d.layer.%d.%s.weight", stack, i,
                     cla_t5_layer(l->layer, decoder), l->part[part]);
            CLA_TRY(cla_foreign_add_linear(
                f, made, &(foreign_linear){ from, part * out, out, to, NULL }));
        }
    }
    for (int k = 0; k < T5_NORMS; k++) {
        const t5_norm *n = &cla_t5_norms[k];
        if (n->cross && !decoder) continue;
        snprintf(from, sizeof from, "%s.%d.%s.gain", stack, i, n->name);
        snprintf(to, sizeof to, "%s.block.%d.layer.%d.layer_norm.weight", stack, i,
                 cla_t5_layer(n->layer, decoder));
        CLA_TRY(cla_foreign_add_same(f, made, from, to, 0, c->model));
    }
    return CLA_OK;
}

static cla_status add_stack(const foreign *f, cla_made *made, const char *stack,
                            int layers)
{
    const coder_config *c = &f->t->config.coder;
    char from[NAME], to[NAME];
    for (int i = 0; i < layers; i++) {
        CLA_TRY(add_block(f, made, stack, i));
    }
    snprintf(from, sizeof from, "%s.buckets", stack);
    snprintf(to, sizeof to,
             "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight", stack);
    CLA_TRY(cla_foreign_add_same(f, made, from, to, c->buckets, c->heads));
    snprintf(from, sizeof from, "%s.norm.gain", stack);
    snprintf(to, sizeof to, "%s.final_layer_norm.weight", stack);
    return cla_foreign_add_same(f, made, from, to, 0, c->model);
}

static cla_status write_weights(const t5_layout *l, const huggingface *h,
                                cla_publish *p, int64_t *numbers)
{
    const foreign *f = l->f;
    const transformer_config *c = &f->t->model.config;
    cla_made made = { 0 };
    cla_status status = add_table(l, &made, "target.table", "shared.weight");
    status = status || c->tied == TRANSFORMER_TIED_ALL
                 ? status
                 : add_table(l, &made, "output.table", "lm_head.weight");
    status = status ? status : add_stack(f, &made, "encoder", c->layers);
    status = status ? status : add_stack(f, &made, "decoder", c->decoder_layers);
    status = status ? status : cla_huggingface_save(h, p, &made);
    *numbers = made.numbers;
    cla_made_free(&made);
    return status;
}

/* ---- settings ---------------------------------------------------------------- */

/* Returns the tokens that are no pieces of the model by their numbers, or NULL. */
static json_t *describe_added(const t5_layout *l)
{
    const cla_vocab *v = vocab_of(l);
    json_t *all = json_object();
    for (int64_t i = l->numbered; i < l->rows && *v->tokens[l->row[i]]; i++) {
        char id[24];
        const bool special = (size_t)l->row[i] < v->specials;
        snprintf(id, sizeof id, "%lld", (long long)i);
        json_t *token =
            json_pack("{s:s, s:b, s:b, s:b, s:b, s:b}", "content", v->tokens[l->row[i]],
                      "lstrip", 0, "normalized", !special, "rstrip", 0, "single_word",
                      0, "special", special);
        if (json_object_set_new(all, id, token)) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static cla_status write_tokenizer(const t5_layout *l, cla_publish *p)
{
    const cla_text *codes = &l->f->t->source.codes;
    CLA_TRY(cla_foreign_write(p, "spiece.model", codes->data, codes->size));
    return cla_foreign_write_json(p, "tokenizer_config.json",
                                  json_pack("{s:s, s:i, s:o}", "tokenizer_class",
                                            "T5Tokenizer", "extra_ids", 0,
                                            "added_tokens_decoder", describe_added(l)));
}

static const char *feed_of(const coder_config *c)
{
    static const char *const plain[] = { [CLA_RELU] = "relu",
                                         [CLA_GELU] = "gelu",
                                         [CLA_SILU] = "silu",
                                         [CLA_GELU_TANH] = "gelu_new" };
    static const char *const gated[] = {
        [CLA_SILU] = "gated-silu", [CLA_GELU_TANH] = "gated-gelu"
    };
    return (c->gated ? gated : plain)[c->activation];
}

static cla_status write_config(const t5_layout *l, const huggingface *h, cla_publish *p)
{
    const transformer_config *c = &l->f->t->model.config;
    const bool tied = c->tied == TRANSFORMER_TIED_ALL;
    return cla_foreign_write_json(
        p, "config.json",
        json_pack("{s:[s], s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f,"
                  " s:f, s:b, s:b, s:b, s:i, s:i, s:i, s:I}",
                  "architectures", h->network, "model_type", h->type, "torch_dtype",
                  h->half ? "float16" : "float32", "d_model", c->coder.model, "d_kv",
                  cla_coder_head_width(&c->coder), "d_ff", c->coder.inner, "num_heads",
                  c->coder.heads, "num_layers", c->layers, "num_decoder_layers",
                  c->decoder_layers, "relative_attention_num_buckets", c->coder.buckets,
                  "relative_attention_max_distance", c->coder.bucket_reach,
                  "feed_forward_proj", feed_of(&c->coder), "layer_norm_epsilon",
                  c->coder.norm_epsilon, "dropout_rate", c->coder.dropout,
                  "is_encoder_decoder", 1, "tie_word_embeddings", tied,
                  "scale_decoder_outputs", c->output_scale, "eos_token_id", h->end,
                  "pad_token_id", h->pad, "decoder_start_token_id", h->start,
                  "vocab_size", (json_int_t)l->rows));
}

static cla_status write_all(const t5_layout *l, cla_publish *p, bool half,
                            int64_t *numbers)
{
    const transformer_config *c = &l->f->t->config;
    const int start = c->start_end ? CLA_EOS : c->start_unknown ? CLA_UNK : CLA_PAD;
    const huggingface h = { .f = l->f,
                            .type = "t5",
                            .network = "T5ForConditionalGeneration",
                            .rows = l->rows,
                            .start = l->special[start],
                            .end = l->special[CLA_EOS],
                            .pad = l->special[CLA_PAD],
                            .half = half,
                            .shared = true };
    CLA_TRY(write_weights(l, &h, p, numbers));
    CLA_TRY(write_tokenizer(l, p));
    CLA_TRY(cla_huggingface_search(&h, p));
    return write_config(l, &h, p);
}

cla_status cla_foreign_t5(const foreign *f, cla_publish *p, bool half, int64_t *numbers)
{
    t5_layout l;
    cla_status status = cla_t5_layout(&l, f);
    status = status ? status : write_all(&l, p, half, numbers);
    cla_t5_layout_free(&l);
    return status;
}
