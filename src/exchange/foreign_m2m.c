/* foreign_m2m.c - writes a translator as a Hugging Face folder: M2M-100, NLLB and
 * mBART-50. */
#include <stdio.h>
#include <string.h>

#include "exchange/foreign_huggingface.h"

enum { BOS, PAD, END, UNK, OWN }; // fairseq's tokens, by their numbers
enum { NAME = 64 };

/* The order of the rows in the other program: fairseq's own, pieces, languages, <mask>,
 * rows without a token. */
typedef struct layout {
    const foreign *f;
    int32_t *row;                   // [rows] the piece of clattn
    int64_t rows, languages, first; // first: the number of the first language
} layout;

static const cla_vocab *vocab_of(const layout *l)
{
    return &l->f->t->source.vocab;
}

static bool is_mbart(const layout *l)
{
    return l->f->t->languages == TRANSLATION_MBART;
}

static cla_status refuse(const layout *l, const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: %s: %s has no such models", l->f->run, what,
                    is_mbart(l) ? "mBART-50" : "M2M-100");
}

/* ---- rows -------------------------------------------------------------------- */

enum { NAMELESS, LANGUAGE, OTHER };

static int kind_of(const layout *l, size_t piece)
{
    size_t size = 0;
    return cla_translation_language(l->f->t, piece, &size) ? LANGUAGE
           : *vocab_of(l)->tokens[piece]                   ? OTHER
                                                           : NAMELESS;
}

/* Appends the special pieces of a kind, except <s> and those of clattn. */
static void add_special(layout *l, int kind, int32_t start)
{
    for (size_t i = CLA_SPECIALS; i < vocab_of(l)->specials; i++) {
        if (kind_of(l, i) == kind && (int32_t)i != start) {
            l->row[l->rows++] = (int32_t)i;
        }
    }
}

static cla_status make_layout(layout *l, const foreign *f)
{
    *l = (layout){ .f = f };
    const cla_vocab *v = vocab_of(l);
    int32_t start = 0;
    for (size_t i = CLA_SPECIALS; i < v->specials; i++) {
        start = strcmp(v->tokens[i], "<s>") == 0 ? (int32_t)i : start;
    }
    if (!start || !f->joint || v->added) {
        return refuse(l, !start      ? "has no <s>"
                         : !f->joint ? "has two vocabularies"
                                     : "has added tokens");
    }
    CLA_TRY(cla_alloc(&l->row, v->count + OWN, sizeof *l->row));
    l->row[BOS] = start;
    l->row[PAD] = CLA_PAD;
    l->row[END] = CLA_EOS;
    l->row[UNK] = CLA_UNK;
    l->rows = OWN;
    for (size_t i = v->specials; i < v->count; i++) {
        l->row[l->rows++] = (int32_t)i;
    }
    l->first = l->rows;
    add_special(l, LANGUAGE, start);
    l->languages = l->rows - l->first;
    add_special(l, OTHER, start);
    add_special(l, NAMELESS, start);
    return CLA_OK;
}

/* ---- weights ----------------------------------------------------------------- */

static cla_status add_table(const layout *l, cla_made *made, const char *from,
                            const char *to)
{
    return cla_foreign_add_rows(l->f, made, from, to, l->row, l->rows);
}

static bool same_tables(const foreign *f)
{
    const cla_st_tensor *a = cla_st_find(&f->file, "source.table"),
                        *b = cla_st_find(&f->file, "target.table");
    return a && b && a->size == b->size && a->dtype == b->dtype &&
           memcmp(a->data, b->data,
                  (size_t)(a->size * cla_st_dtypes[a->dtype].bytes)) == 0;
}

/* Adds the tables: one, which may be the output layer, too, or one for each. Release 5
 * of transformers keeps those apart. */
static cla_status add_tables(const layout *l, cla_made *made)
{
    const bool all = l->f->t->config.tied == TRANSFORMER_TIED_ALL;
    if (all || same_tables(l->f)) {
        CLA_TRY(add_table(l, made, "target.table", "model.shared.weight"));
    } else {
        CLA_TRY(
            add_table(l, made, "source.table", "model.encoder.embed_tokens.weight"));
        CLA_TRY(
            add_table(l, made, "target.table", "model.decoder.embed_tokens.weight"));
    }
    return all ? CLA_OK : add_table(l, made, "output.table", "lm_head.weight");
}

/* Adds the positions of mBART, behind two rows that no text has, the norms of its
 * embeddings, and its output bias. */
static cla_status add_learned(const layout *l, cla_made *made)
{
    static const char *const stacks[] = { "encoder", "decoder" };
    enum { UNUSED = 2 };
    const transformer_config *c = &l->f->t->config;
    const int64_t D = c->coder.model, rows = c->max_positions;
    float *from = NULL, *to = NULL;
    for (int i = 0; i < 2; i++) {
        char name[NAME], gain[NAME], bias[NAME];
        snprintf(name, sizeof name, "model.%s.embed_positions.weight", stacks[i]);
        CLA_TRY(cla_made_add(made, name, rows + UNUSED, D, &to));
        snprintf(name, sizeof name, "%s.positions", stacks[i]);
        CLA_TRY(cla_foreign_take(l->f, name, &from));
        memcpy(to + UNUSED * D, from, (size_t)(rows * D) * sizeof *to);
        free(from);
        snprintf(name, sizeof name, "%s.embedding_norm", stacks[i]);
        snprintf(gain, sizeof gain, "model.%s.layernorm_embedding.weight", stacks[i]);
        snprintf(bias, sizeof bias, "model.%s.layernorm_embedding.bias", stacks[i]);
        CLA_TRY(cla_foreign_add_norm(l->f, made, name, gain, bias));
    }
    CLA_TRY(cla_made_add(made, "final_logits_bias", 1, l->rows, &to));
    if (c->output_bias) {
        CLA_TRY(cla_foreign_take(l->f, "output.bias", &from));
        for (int64_t i = 0; i < l->rows; i++) {
            to[i] = from[l->row[i]];
        }
        free(from);
    }
    return CLA_OK;
}

static cla_status add_all(const layout *l, cla_made *made)
{
    const foreign *f = l->f;
    CLA_TRY(add_tables(l, made));
    CLA_TRY(is_mbart(l) ? add_learned(l, made) : CLA_OK);
    CLA_TRY(cla_huggingface_layers(f, made));
    CLA_TRY(cla_foreign_add_norm(f, made, "encoder.norm",
                                 "model.encoder.layer_norm.weight",
                                 "model.encoder.layer_norm.bias"));
    return cla_foreign_add_norm(f, made, "decoder.norm",
                                "model.decoder.layer_norm.weight",
                                "model.decoder.layer_norm.bias");
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

static const char *name_of(const layout *l, int64_t row)
{
    static const char *const own[] = { "<s>", "<pad>", "</s>", "<unk>" };
    return row < OWN ? own[row] : vocab_of(l)->tokens[l->row[row]];
}

/* Writes the numbers of M2M-100's pieces. Its languages follow them in one of two
 * orders that its tokenizer knows. */
static cla_status write_vocab(const layout *l, cla_publish *p)
{
    json_t *tokens = json_object();
    for (int64_t i = 0; i < l->first; i++) {
        if (json_object_set_new(tokens, name_of(l, i), json_integer(i))) {
            json_decref(tokens);
            return cla_fail(CLA_E_INPUT, "%s: piece %lld is not UTF-8", l->f->run,
                            (long long)i);
        }
    }
    return cla_foreign_write_json(p, "vocab.json", tokens);
}

/* Returns the languages and other special tokens of NLLB by their numbers, or NULL. */
static json_t *describe_added(const layout *l)
{
    json_t *all = json_object();
    for (int64_t i = l->first; i < l->rows && *name_of(l, i); i++) {
        char id[24];
        snprintf(id, sizeof id, "%lld", (long long)i);
        json_t *token = json_pack("{s:s, s:b, s:b, s:b, s:b, s:b}", "content",
                                  name_of(l, i), "lstrip", 0, "normalized", 0, "rstrip",
                                  0, "single_word", 0, "special", 1);
        if (json_object_set_new(all, id, token)) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static cla_status write_tokenizer(const layout *l, cla_publish *p)
{
    enum { WMT21 = 8, MBART50 = 52, ALL = 100 };
    const translation *t = l->f->t;
    const cla_text *codes = &t->source.codes;
    const bool nllb = t->languages == TRANSLATION_NLLB, mbart = is_mbart(l);
    if (mbart && l->languages != MBART50) {
        return refuse(l, "has another number of languages than 52");
    }
    if (!nllb && !mbart && l->languages != ALL && l->languages != WMT21) {
        return refuse(l, "has neither 100 languages nor 8");
    }
    CLA_TRY(nllb || mbart ? CLA_OK : write_vocab(l, p));
    CLA_TRY(cla_foreign_write(p, "sentencepiece.bpe.model", codes->data, codes->size));
    json_t *all = json_pack("{s:s, s:s, s:s, s:i, s:o*, s:s*}", "tokenizer_class",
                            nllb    ? "NllbTokenizer"
                            : mbart ? "MBart50Tokenizer"
                                    : "M2M100Tokenizer",
                            "src_lang", t->source_name, "tgt_lang", t->target_name,
                            "model_max_length", cla_foreign_positions(l->f),
                            "added_tokens_decoder", nllb ? describe_added(l) : NULL,
                            "language_codes",
                            nllb || mbart           ? NULL
                            : l->languages == WMT21 ? "wmt21"
                                                    : "m2m100");
    return cla_foreign_write_json(p, "tokenizer_config.json", all);
}

/* ---- all of it --------------------------------------------------------------- */

static cla_status check(const layout *l)
{
    const transformer_config *c = &l->f->t->config;
    CLA_TRY(cla_transformer_check_format(
        c, &l->f->settings, is_mbart(l) ? TRANSFORMER_MBART : TRANSFORMER_M2M100,
        false));
    return c->tied != TRANSFORMER_TIED_OUTPUT
               ? CLA_OK
               : refuse(l, "has a table for each language, which is its output layer");
}

static cla_status write_all(const layout *l, cla_publish *p, bool half,
                            int64_t *numbers)
{
    const huggingface h = { .f = l->f,
                            .type = is_mbart(l) ? "mbart" : "m2m_100",
                            .network = is_mbart(l) ? "MBartForConditionalGeneration"
                                                   : "M2M100ForConditionalGeneration",
                            .rows = l->rows,
                            .start = END,
                            .end = END,
                            .pad = PAD,
                            .half = half,
                            .shared = true };
    CLA_TRY(check(l));
    CLA_TRY(write_weights(l, &h, p, numbers));
    CLA_TRY(write_tokenizer(l, p));
    CLA_TRY(cla_huggingface_search(&h, p));
    return cla_huggingface_config(&h, p);
}

cla_status cla_foreign_m2m(const foreign *f, cla_publish *p, bool half,
                           int64_t *numbers)
{
    layout l;
    cla_status status = make_layout(&l, f);
    status = status ? status : write_all(&l, p, half, numbers);
    free(l.row);
    return status;
}
