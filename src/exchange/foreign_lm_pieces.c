/* foreign_lm_pieces.c - writes the pieces of a language model as a tokenizer.json. */
#include "exchange/foreign_lm.h"

/* ---- pieces of our own ----------------------------------------------------------- */

static const language *task_of(const foreign *f)
{
    return (const language *)f->task;
}

/* Returns the special pieces as added tokens; NULL when out of memory. */
static json_t *special_pieces(void)
{
    json_t *all = json_array();
    for (int i = 0; i < CLA_SPECIALS; i++) {
        json_t *one =
            json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", i, "content",
                      cla_special_names[i], "single_word", 0, "lstrip", 0, "rstrip", 0,
                      "normalized", 0, "special", 1);
        if (json_array_append_new(all, one)) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static bool add(json_t *vocab, const char *piece, size_t id)
{
    return !json_object_set_new(vocab, piece, json_integer((json_int_t)id));
}

/* Returns the numbers of the pieces: bytes by their letters, or characters. */
static json_t *numbers_of(const language *t)
{
    enum { BYTES = 256 };
    const cla_vocab *v = &t->subwords.vocab;
    const bool bytes = t->pieces == LANGUAGE_BYTES;
    const size_t rest = bytes ? BYTES : v->count - CLA_SPECIALS;
    json_t *vocab = json_object();
    bool whole = vocab != NULL;
    for (size_t i = 0; i < CLA_SPECIALS && whole; i++) {
        whole = add(vocab, cla_special_names[i], i);
    }
    for (size_t i = 0; i < rest && whole; i++) {
        char letter[5];
        cla_codec_letter((int)i % BYTES, letter);
        whole =
            add(vocab, bytes ? letter : v->tokens[CLA_SPECIALS + i], CLA_SPECIALS + i);
    }
    if (!whole) {
        json_decref(vocab);
        return NULL;
    }
    return vocab;
}

/* Puts the end in front of a text where documents are apart, as generate does. */
static json_t *template_of(const language *t)
{
    const char *end = cla_special_names[CLA_EOS];
    if (!t->documents) {
        return json_null();
    }
    return json_pack("{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}], s:[{s:{s:s, s:i}}, "
                     "{s:{s:s, s:i}}], s:{s:{s:s, s:[i], s:[s]}}}",
                     "type", "TemplateProcessing", "single", "SpecialToken", "id", end,
                     "type_id", 0, "Sequence", "id", "A", "type_id", 0, "pair",
                     "Sequence", "id", "A", "type_id", 0, "Sequence", "id", "B",
                     "type_id", 1, "special_tokens", end, "id", end, "ids", CLA_EOS,
                     "tokens", end);
}

static json_t *describe(const language *t)
{
    const bool bytes = t->pieces == LANGUAGE_BYTES;
    json_t *model = json_pack("{s:s, s:n, s:s, s:n, s:n, s:b, s:b, s:b, s:o, s:[]}",
                              "type", "BPE", "dropout", "unk_token",
                              cla_special_names[CLA_UNK], "continuing_subword_prefix",
                              "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                              "ignore_merges", 0, "vocab", numbers_of(t), "merges");
    json_t *cut =
        bytes ? json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel",
                          "add_prefix_space", 0, "trim_offsets", 1, "use_regex", 0)
              : json_null();
    json_t *join = bytes ? json_incref(cut) : json_pack("{s:s}", "type", "Fuse");
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:o, s:o, s:o}", "version", "1.0",
                     "truncation", "padding", "added_tokens", special_pieces(),
                     "normalizer", "pre_tokenizer", cut, "post_processor",
                     template_of(t), "decoder", join, "model", model);
}

/* ---- files ----------------------------------------------------------------------- */

/* Returns the name of a special piece, or NULL: transformers cuts texts at each piece
 * that has a name here. */
static const char *name_of(const language *t, int32_t id)
{
    const cla_codec *codec = t->pieces == LANGUAGE_TOKENIZER ? &t->tokenizer : NULL;
    return id < 0 || (codec && !codec->special[id]) ? NULL
           : codec                                  ? codec->vocab.tokens[id]
                                                    : cla_special_names[id];
}

static cla_status write_tokenizer(const foreign *f, cla_publish *p)
{
    const language *t = task_of(f);
    const cla_text *json = &t->subwords.codes;
    if (t->pieces == LANGUAGE_TOKENIZER) {
        return cla_foreign_write(p, "tokenizer.json", json->data, json->size);
    }
    return t->pieces == LANGUAGE_BYTES || t->pieces == LANGUAGE_CHARACTERS
               ? cla_foreign_write_json(p, "tokenizer.json", describe(t))
               : cla_config_refuse(&f->settings, "pieces",
                                   "is '%s', which a tokenizer.json cannot express",
                                   t->pieces == LANGUAGE_BPE ? "bpe" : "sentencepiece");
}

cla_status cla_lm_write_pieces(const foreign *f, cla_publish *p)
{
    const language *t = task_of(f);
    CLA_TRY(write_tokenizer(f, p));
    return cla_foreign_write_json(
        p, "tokenizer_config.json",
        json_pack("{s:s, s:s*, s:s*, s:i, s:b}", "tokenizer_class",
                  "PreTrainedTokenizerFast", "bos_token", name_of(t, t->start),
                  "eos_token", name_of(t, t->end), "model_max_length",
                  t->config.context, "clean_up_tokenization_spaces", 0));
}
