/* foreign_huggingface.c - writes a translator as a Hugging Face folder: MarianMT. */
#include "exchange/foreign_huggingface.h"

#include <stdio.h>
#include <string.h>

/* A logit with probability 0 in the softmax. In float16 it would be -infinity. */
static const float NEVER = -1e9f;

enum { NAME = 96 };

/* The order of the pieces in MarianMT: those of clattn from </s> on, then <pad>, as in
 * Opus-MT's models.
 *
 * MarianMT's decoder starts with the embedding of <pad>. If clattn's starts with zeros,
 * <pad> gets a row of zeros. Its trained row, which has a share of the softmax, then
 * goes to a piece that no text has. Both tables have the same number of rows, since
 * transformers 4.40 loads no others. */
typedef struct layout {
    const foreign *f;
    bool moved;             // the trained row of <pad> goes to an unused piece
    int64_t source, target; // pieces of clattn
    int64_t rows;           // of each table in MarianMT
} layout;

enum { END = CLA_EOS - 1 };

static layout make_layout(const foreign *f)
{
    const transformer_config *c = &f->t->config;
    layout l = { .f = f,
                 .moved = !c->start_pad && c->tied != TRANSFORMER_SEPARATE,
                 .source = c->source_pieces,
                 .target = c->target_pieces };
    l.rows = l.target + l.moved;
    l.rows = l.rows > l.source ? l.rows : l.source;
    return l;
}

static int pad(const layout *l)
{
    return (int)l->rows - 1;
}

static cla_status check(const foreign *f)
{
    const transformer_config *c = &f->t->config;
    CLA_TRY(cla_transformer_check_format(c, &f->settings, TRANSFORMER_MARIANMT, false));
    if (c->coder.norm_epsilon < cla_transformer_marian_epsilon) {
        cla_log(CLA_LOG_WARN,
                "norm_epsilon is %g, and always %g in MarianMT: scores will differ "
                "slightly",
                c->coder.norm_epsilon, cla_transformer_marian_epsilon);
    }
    return CLA_OK;
}

/* ---- weights ----------------------------------------------------------------- */

/* Adds a table of `pieces` pieces. start: the decoder starts with its row of <pad>. */
static cla_status add_table(const layout *l, cla_made *made, const char *from,
                            const char *to, int64_t pieces, bool start)
{
    const size_t D = (size_t)l->f->t->config.coder.model, rest = (size_t)pieces - 1;
    const bool moved = start && l->moved;
    const size_t place = moved ? rest : (size_t)pad(l);
    float *numbers = NULL, *table = NULL;
    CLA_TRY(cla_made_add(made, to, l->rows, (int64_t)D, &table));
    CLA_TRY(cla_foreign_take(l->f, from, &numbers));
    memcpy(table, numbers + D, rest * D * sizeof *table);
    if (!start || l->f->t->config.start_pad || moved) {
        memcpy(table + place * D, numbers, D * sizeof *table);
    }
    free(numbers);
    return CLA_OK;
}

/* Adds the output bias, with which unused pieces are never produced. */
static cla_status add_bias(const layout *l, cla_made *made)
{
    const int64_t rest = l->target - 1, place = l->moved ? rest : pad(l);
    float *numbers = NULL, *bias = NULL;
    CLA_TRY(cla_made_add(made, "final_logits_bias", 1, l->rows, &bias));
    for (int64_t i = rest; i < l->rows; i++) {
        bias[i] = NEVER;
    }
    bias[place] = 0;
    if (l->f->t->config.output_bias) {
        CLA_TRY(cla_foreign_take(l->f, "output.bias", &numbers));
        memcpy(bias, numbers + 1, (size_t)rest * sizeof *bias);
        bias[place] = numbers[CLA_PAD];
        free(numbers);
    }
    return CLA_OK;
}

static cla_status add_tables(const layout *l, cla_made *made)
{
    static const char encoder[] = "model.encoder.embed_tokens.weight",
                      decoder[] = "model.decoder.embed_tokens.weight";
    const int tied = l->f->t->config.tied;
    CLA_TRY(add_bias(l, made));
    if (tied == TRANSFORMER_TIED_ALL) {
        return add_table(l, made, "target.table", "model.shared.weight", l->target,
                         true);
    }
    CLA_TRY(add_table(l, made, "source.table", encoder, l->source, false));
    CLA_TRY(add_table(l, made, "target.table", decoder, l->target, true));
    return tied == TRANSFORMER_TIED_OUTPUT
               ? CLA_OK
               : add_table(l, made, "output.table", "lm_head.weight", l->target, false);
}

static cla_status add_all(const layout *l, cla_made *made)
{
    const foreign *f = l->f;
    CLA_TRY(add_tables(l, made));
    CLA_TRY(cla_huggingface_layers(f, made));
    if (f->t->config.positions != TRANSFORMER_MARIAN) {
        CLA_TRY(
            cla_foreign_add_positions(f, made, "model.encoder.embed_positions.weight"));
        CLA_TRY(
            cla_foreign_add_positions(f, made, "model.decoder.embed_positions.weight"));
    }
    return CLA_OK;
}

static cla_status write_weights(const layout *l, const huggingface *h, cla_publish *p,
                                int64_t *numbers)
{
    cla_made made = { 0 };
    cla_status status = add_all(l, &made);
    status = status ? status : cla_huggingface_save(h, p, &made);
    *numbers = made.numbers;
    cla_made_free(&made);
    return status;
}

/* ---- pieces ------------------------------------------------------------------ */

static cla_status write_vocab(const layout *l, cla_publish *p, const char *name,
                              const cla_vocab *vocab)
{
    json_t *tokens = json_object();
    int64_t next = 0;
    for (int64_t i = 0; i < l->rows && tokens; i++) {
        char unused[FOREIGN_UNUSED];
        const size_t at = i == pad(l) ? CLA_PAD : (size_t)i + 1;
        const char *token = cla_foreign_token(vocab, at, &next, unused);
        if (json_object_set_new(tokens, token, json_integer(i))) {
            json_decref(tokens);
            return cla_fail(CLA_E_INPUT,
                            "%s: piece %lld is not UTF-8, or there is no memory",
                            l->f->run, (long long)i);
        }
    }
    return cla_foreign_write_json(p, name, tokens);
}

/* Writes vocabularies and codes. Without SentencePiece, transformers has no tokenizer
 * for the pieces. */
static cla_status write_pieces(const layout *l, cla_publish *p)
{
    const cla_subwords *source = &l->f->t->source, *target = &l->f->t->target;
    CLA_TRY(write_vocab(l, p, "vocab.json", &source->vocab));
    CLA_TRY(l->f->joint ? CLA_OK
                        : write_vocab(l, p, "target_vocab.json", &target->vocab));
    if (source->kind != CLA_PIECES_MODEL) {
        cla_log(CLA_LOG_WARN,
                "transformers has no tokenizer for byte pairs: give the model the "
                "numbers in vocab.json of the pieces of `clattn bpe apply%s --codes "
                "codes.txt`",
                source->kind == CLA_PIECES_SPLIT ? " --split" : "");
    }
    return cla_foreign_write_codes(l->f, p);
}

/* Returns the tokens [n] before `last`, which the tokenizer finds anywhere, with their
 * ids as keys; NULL when out of memory. */
static json_t *describe_added(json_t *object, const cla_vocab *v, size_t last, size_t n,
                              bool special)
{
    for (size_t i = last - n; i < last && object; i++) {
        char id[24];
        snprintf(id, sizeof id, "%zu", i - 1);
        json_t *token = json_pack("{s:s, s:b, s:b, s:b, s:b, s:b}", "content",
                                  v->tokens[i], "lstrip", 0, "normalized", !special,
                                  "rstrip", 0, "single_word", 0, "special", special);
        if (json_object_set_new(object, id, token)) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

static cla_status write_tokenizer(const layout *l, cla_publish *p)
{
    const translation *t = l->f->t;
    const cla_vocab *v = &t->source.vocab;
    if (t->source.kind != CLA_PIECES_MODEL) {
        return CLA_OK;
    }
    json_t *all = json_pack(
        "{s:s, s:s, s:s, s:b, s:i}", "tokenizer_class", "MarianTokenizer",
        "source_lang", t->source_name, "target_lang", t->target_name, "separate_vocabs",
        !l->f->joint, "model_max_length", cla_foreign_positions(l->f));
    if (v->added || v->added_specials) {
        json_t *added =
            describe_added(json_object(), v, v->specials, v->added_specials, true);
        added = describe_added(added, v, v->count, v->added, false);
        if (!added || json_object_set_new(all, "added_tokens_decoder", added)) {
            json_decref(all);
            all = NULL;
        }
    }
    return cla_foreign_write_json(p, "tokenizer_config.json", all);
}

static cla_status write_marian(const foreign *f, cla_publish *p, bool half,
                               int64_t *numbers)
{
    const layout l = make_layout(f);
    const huggingface h = { .f = f,
                            .type = "marian",
                            .network = "MarianMTModel",
                            .rows = l.rows,
                            .start = pad(&l),
                            .end = END,
                            .pad = pad(&l),
                            .half = half,
                            .shared = f->t->config.tied == TRANSFORMER_TIED_ALL };
    CLA_TRY(check(f));
    CLA_TRY(write_weights(&l, &h, p, numbers));
    CLA_TRY(write_pieces(&l, p));
    CLA_TRY(write_tokenizer(&l, p));
    CLA_TRY(cla_huggingface_search(&h, p));
    return cla_huggingface_config(&h, p);
}

cla_status cla_foreign_huggingface(const foreign *f, cla_publish *p, bool half,
                                   int64_t *numbers)
{
    const int languages = f->t->languages;
    return (languages == TRANSLATION_PREFIX ? write_marian
            : languages == TRANSLATION_TAG  ? cla_foreign_t5
                                            : cla_foreign_m2m)(f, p, half, numbers);
}
