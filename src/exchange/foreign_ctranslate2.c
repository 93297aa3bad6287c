/* foreign_ctranslate2.c - writes a translator as a CTranslate2 folder, as the
 * converters of its release 4 do. */
#include "exchange/foreign_ctranslate2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A logit with probability 0 in the softmax, which float16 can hold. */
static const float NEVER = -6e4f;

enum { NAME = 96, LONG_NAME = 128 };

/* The order of the pieces in CTranslate2: those of clattn from </s> on. <pad> comes
 * last if it can be produced or if the decoder starts with its embedding; else it is
 * left out. The decoder may also start with the piece that ends sentences. */
typedef struct layout {
    const foreign *f;
    bool pad;        // <pad> is kept
    bool zero_start; // the decoder starts with zeros
    int64_t source, target;
} layout;

typedef struct writer {
    const layout *l;
    cla_made made;
    ct2_file file;
} writer;

/* ---- pieces ------------------------------------------------------------------ */

static cla_status starts_with_zeros(const foreign *f, bool *zeros)
{
    float *table = NULL;
    *zeros = true;
    if (!f->t->config.start_pad) {
        return CLA_OK;
    }
    CLA_TRY(cla_foreign_take(f, "target.table", &table));
    for (int i = 0; i < f->t->config.coder.model; i++) {
        *zeros = *zeros && table[i] == 0;
    }
    free(table);
    return CLA_OK;
}

static cla_status make_layout(layout *l, const foreign *f)
{
    const transformer_config *c = &f->t->config;
    *l = (layout){ .f = f };
    CLA_TRY(c->start_end ? CLA_OK : starts_with_zeros(f, &l->zero_start));
    l->pad = (c->start_pad && !l->zero_start) || !f->t->search.never_pad;
    l->source = c->source_pieces - !l->pad;
    l->target = c->target_pieces - !l->pad;
    return CLA_OK;
}

/* Copies rows [pieces,D] into the order of CTranslate2. */
static void place(const layout *l, float *to, const float *from, int64_t pieces,
                  size_t D)
{
    const size_t rest = (size_t)(pieces - l->pad);
    memcpy(to, from + D, rest * D * sizeof *to);
    if (l->pad) {
        memcpy(to + rest * D, from, D * sizeof *to);
    }
}

cla_status cla_ct2_add_token(const foreign *f, json_t *tokens, size_t piece,
                             const char *token)
{
    return json_array_append_new(tokens, json_string(token))
               ? cla_fail(CLA_E_INPUT,
                          "%s: piece %zu is not UTF-8, or there is no memory", f->run,
                          piece)
               : CLA_OK;
}

static cla_status write_vocab(const layout *l, cla_publish *p, const char *name,
                              const cla_vocab *vocab, int64_t pieces)
{
    json_t *tokens = json_array();
    int64_t next = 0;
    for (int64_t i = 0; i < pieces && tokens; i++) {
        char unused[FOREIGN_UNUSED];
        const size_t at = (size_t)i + 1 < vocab->count ? (size_t)i + 1 : CLA_PAD;
        const char *token = cla_foreign_token(vocab, at, &next, unused);
        const cla_status status = cla_ct2_add_token(l->f, tokens, at, token);
        if (status) {
            json_decref(tokens);
            return status;
        }
    }
    return cla_foreign_write_json(p, name, tokens);
}

static cla_status write_pieces(const layout *l, cla_publish *p)
{
    const translation *t = l->f->t;
    if (l->f->joint) {
        CLA_TRY(
            write_vocab(l, p, "shared_vocabulary.json", &t->source.vocab, l->source));
    } else {
        CLA_TRY(
            write_vocab(l, p, "source_vocabulary.json", &t->source.vocab, l->source));
        CLA_TRY(
            write_vocab(l, p, "target_vocabulary.json", &t->target.vocab, l->target));
    }
    return cla_foreign_write_codes(l->f, p);
}

/* ---- variables --------------------------------------------------------------- */

static cla_status add_linear(writer *w, const char *from, int64_t columns,
                             const char *to)
{
    char weight[LONG_NAME], bias[LONG_NAME];
    snprintf(weight, sizeof weight, "%s/weight", to);
    snprintf(bias, sizeof bias, "%s/bias", to);
    return cla_foreign_add_linear(w->l->f, &w->made,
                                  &(foreign_linear){ from, 0, columns, weight, bias });
}

static cla_status add_norm(writer *w, const char *from, const char *to)
{
    char gain[LONG_NAME], bias[LONG_NAME];
    snprintf(gain, sizeof gain, "%s/layer_norm/gamma", to);
    snprintf(bias, sizeof bias, "%s/layer_norm/beta", to);
    return cla_foreign_add_norm(w->l->f, &w->made, from, gain, bias);
}

/* A block and its norm. part: ends of the names of clattn's linear layers, which become
 * linear_0, linear_1, ... */
typedef struct block {
    const char *from, *to;
    const char *part[3];
    int64_t columns[3];
} block;

static cla_status add_block(writer *w, const char *stack, int i, const block *b)
{
    char from[NAME], to[NAME];
    for (int k = 0; k < 3 && b->part[k]; k++) {
        snprintf(from, sizeof from, "%s.%d.%s.%s", stack, i, b->from, b->part[k]);
        snprintf(to, sizeof to, "%s/layer_%d/%s/linear_%d", stack, i, b->to, k);
        CLA_TRY(add_linear(w, from, b->columns[k], to));
    }
    snprintf(from, sizeof from, "%s.%d.%s.norm", stack, i, b->from);
    snprintf(to, sizeof to, "%s/layer_%d/%s", stack, i, b->to);
    return add_norm(w, from, to);
}

static cla_status add_layers(writer *w, const char *stack, int layers)
{
    const int64_t D = w->l->f->t->config.coder.model,
                  F = w->l->f->t->config.coder.inner;
    const block self = { "self", "self_attention", { "in", "out" }, { 3 * D, D } },
                cross = { "cross",
                          "attention",
                          { "in", "memory", "out" },
                          { D, 2 * D, D } },
                feed = { "feed", "ffn", { "in", "out" }, { F, D } };
    for (int i = 0; i < layers; i++) {
        CLA_TRY(add_block(w, stack, i, &self));
        CLA_TRY(*stack == 'd' ? add_block(w, stack, i, &cross) : CLA_OK);
        CLA_TRY(add_block(w, stack, i, &feed));
    }
    char norm[NAME];
    snprintf(norm, sizeof norm, "%s.norm", stack);
    return w->l->f->t->config.coder.pre_norm ? add_norm(w, norm, stack) : CLA_OK;
}

static cla_status add_table(writer *w, const char *from, const char *to, int64_t pieces)
{
    const int64_t D = w->l->f->t->config.coder.model;
    float *numbers = NULL, *table = NULL;
    CLA_TRY(cla_made_add(&w->made, to, pieces, D, &table));
    CLA_TRY(cla_foreign_take(w->l->f, from, &numbers));
    place(w->l, table, numbers, pieces, (size_t)D);
    free(numbers);
    return CLA_OK;
}

static cla_status add_bias(writer *w)
{
    const foreign *f = w->l->f;
    const bool never = w->l->pad && f->t->search.never_pad;
    float *numbers = NULL, *bias = NULL;
    if (!f->t->config.output_bias && !never) {
        return CLA_OK;
    }
    CLA_TRY(cla_made_add(&w->made, "decoder/projection/bias", 0, w->l->target, &bias));
    if (f->t->config.output_bias) {
        CLA_TRY(cla_foreign_take(f, "output.bias", &numbers));
        place(w->l, bias, numbers, w->l->target, 1);
        free(numbers);
    }
    if (never) {
        bias[w->l->target - 1] = NEVER;
    }
    return CLA_OK;
}

/* Adds the positions of both stacks: sines are one table; those of mBART are learned,
 * and norms of the embeddings follow them. */
static cla_status add_positions(writer *w)
{
    static const char *const stacks[] = { "decoder", "encoder" };
    const foreign *f = w->l->f;
    const transformer_config *c = &f->t->config;
    static const char sines[] = "decoder/position_encodings/encodings";
    char from[NAME], to[NAME], gain[NAME], bias[NAME];
    if (c->positions != TRANSFORMER_LEARNED) {
        CLA_TRY(cla_foreign_add_positions(f, &w->made, sines));
        return cla_ct2_add_alias(&w->file, "encoder/position_encodings/encodings",
                                 sines);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "%s.positions", stacks[i]);
        snprintf(to, sizeof to, "%s/position_encodings/encodings", stacks[i]);
        CLA_TRY(cla_foreign_add_same(f, &w->made, from, to, c->max_positions,
                                     c->coder.model));
        snprintf(from, sizeof from, "%s.embedding_norm", stacks[i]);
        snprintf(gain, sizeof gain, "%s/layernorm_embedding/gamma", stacks[i]);
        snprintf(bias, sizeof bias, "%s/layernorm_embedding/beta", stacks[i]);
        CLA_TRY(cla_foreign_add_norm(f, &w->made, from, gain, bias));
    }
    return CLA_OK;
}

static cla_status add_tables(writer *w)
{
    static const char decoder[] = "decoder/embeddings/weight",
                      encoder[] = "encoder/embeddings_0/weight",
                      output[] = "decoder/projection/weight";
    const int tied = w->l->f->t->config.tied;
    CLA_TRY(add_table(w, "target.table", decoder, w->l->target));
    CLA_TRY(tied == TRANSFORMER_TIED_ALL
                ? cla_ct2_add_alias(&w->file, encoder, decoder)
                : add_table(w, "source.table", encoder, w->l->source));
    CLA_TRY(tied == TRANSFORMER_SEPARATE
                ? add_table(w, "output.table", output, w->l->target)
                : cla_ct2_add_alias(&w->file, output, decoder));
    CLA_TRY(add_positions(w));
    return add_bias(w);
}

static int activation_of(cla_activation activation)
{
    static const int numbers[] = {
        [CLA_NONE] = -1, [CLA_RELU] = 0, [CLA_TANH] = 5,      [CLA_SIGMOID] = 6,
        [CLA_GELU] = 3,  [CLA_SILU] = 2, [CLA_GELU_TANH] = 1,
    };
    return numbers[activation];
}

cla_status cla_ct2_add_scalars(const foreign *f, ct2_file *file, bool zero_start)
{
    const transformer_config *c = &f->t->config;
    const int activation = activation_of(c->coder.activation);
    const struct {
        const char *name;
        int type, value;
    } all[] = {
        { "decoder/activation", CT2_I8, activation },
        { "decoder/alibi", CT2_I8, 0 },
        { "decoder/alibi_use_positive_positions", CT2_I8, 0 },
        { "decoder/alignment_heads", CT2_I16, 1 },
        { "decoder/alignment_layer", CT2_I16, -1 },
        { "decoder/num_heads", CT2_I16, c->coder.heads },
        { "decoder/pre_norm", CT2_I8, c->coder.pre_norm },
        { "decoder/scale_alibi", CT2_I8, 0 },
        { "decoder/start_from_zero_embedding", CT2_I8, zero_start },
        { "encoder/activation", CT2_I8, activation },
        { "encoder/embeddings_merge", CT2_I8, 0 },
        { "encoder/multi_query_attention", CT2_I8, 0 },
        { "encoder/num_heads", CT2_I16, c->coder.heads },
        { "encoder/pre_norm", CT2_I8, c->coder.pre_norm },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CLA_TRY(cla_ct2_add_whole(file, all[i].name, all[i].type, all[i].value));
    }
    return CLA_OK;
}

static cla_status add_scalars(writer *w)
{
    const transformer_config *c = &w->l->f->t->config;
    const float scale = c->unscaled ? 1 : sqrtf((float)c->coder.model);
    CLA_TRY(cla_ct2_add_scalars(w->l->f, &w->file, w->l->zero_start));
    CLA_TRY(cla_ct2_add_real(&w->file, "decoder/scale_embeddings", scale));
    return cla_ct2_add_real(&w->file, "encoder/scale_embeddings", scale);
}

/* ---- the file ---------------------------------------------------------------- */

cla_status cla_ct2_save(const foreign *f, cla_publish *p, cla_made *made,
                        ct2_file *file, bool half)
{
    cla_text out = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < made->count && !status; i++) {
        status = half ? cla_made_halve(&made->tensors[i], f->path) : CLA_OK;
        status = status ? status : cla_ct2_add_tensor(file, &made->tensors[i]);
    }
    status = status ? status : cla_ct2_format(file, &out);
    status = status ? status : cla_foreign_write(p, "model.bin", out.data, out.size);
    cla_text_free(&out);
    return status;
}

static cla_status make(writer *w)
{
    const transformer_config *c = &w->l->f->t->model.config;
    CLA_TRY(add_tables(w));
    CLA_TRY(add_layers(w, "encoder", c->layers));
    CLA_TRY(add_layers(w, "decoder", c->decoder_layers));
    return add_scalars(w);
}

static cla_status write_weights(const layout *l, cla_publish *p, bool half,
                                int64_t *numbers)
{
    writer w = { .l = l };
    cla_status status = make(&w);
    *numbers = w.made.numbers;
    status = status ? status : cla_ct2_save(l->f, p, &w.made, &w.file, half);
    cla_ct2_free(&w.file);
    cla_made_free(&w.made);
    return status;
}

/* ---- settings ---------------------------------------------------------------- */

cla_status cla_ct2_write_settings(const foreign *f, cla_publish *p, const char *first,
                                  const char *start, double usual)
{
    const double epsilon = f->t->config.coder.norm_epsilon;
    json_t *norm = epsilon == usual ? json_null() : json_real(epsilon);
    return cla_foreign_write_json(
        p, "config.json",
        json_pack("{s:b, s:b, s:s, s:s, s:s, s:o, s:b, s:s}", "add_source_bos", 0,
                  "add_source_eos", 0, "bos_token", first, "decoder_start_token", start,
                  "eos_token", cla_special_names[CLA_EOS], "layer_norm_epsilon", norm,
                  "multi_query_attention", 0, "unk_token", cla_special_names[CLA_UNK]));
}

cla_status cla_foreign_ctranslate2(const foreign *f, cla_publish *p, bool half,
                                   int64_t *numbers)
{
    layout l;
    if (f->t->languages == TRANSLATION_TAG) {
        return cla_foreign_ctranslate2_t5(f, p, half, numbers);
    }
    CLA_TRY(cla_transformer_check_format(&f->t->config, &f->settings,
                                         TRANSFORMER_CTRANSLATE2, false));
    CLA_TRY(make_layout(&l, f));
    CLA_TRY(write_weights(&l, p, half, numbers));
    CLA_TRY(write_pieces(&l, p));
    const int start = f->t->config.start_pad && !l.zero_start ? CLA_PAD : CLA_EOS;
    return cla_ct2_write_settings(f, p, "<s>", cla_special_names[start], 1e-5);
}
