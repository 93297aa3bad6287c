/* import_settings.c - reads the settings of a Hugging Face MarianMT folder. */
#include <stdio.h>
#include <string.h>

#include "exchange/import_marian.h"
#include "nn/coder.h"
#include "tasks/translation/translation.h"
#include "train/folder.h"

void marian_fini(marian *m)
{
    cla_config_fini(&m->config);
    cla_config_fini(&m->generation);
    cla_config_fini(&m->tokenizer);
    cla_vocab_free(&m->source.vocab);
    cla_vocab_free(&m->target.vocab);
    free(m->source.from);
    free(m->target.from);
    free(m->weights);
    free(m->source_spm);
    free(m->target_spm);
    cla_made_free(&m->made);
    *m = (marian){ 0 };
}

/* ---- files ------------------------------------------------------------------- */

/* Removes keys whose value is null; they count as absent. */
static void drop_nulls(json_t *object)
{
    const char *key = NULL;
    json_t *value = NULL;
    void *next = NULL;
    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_null(value)) {
            json_object_del(object, key);
        }
    }
}

cla_status marian_check_file(const char *dir, const char *name)
{
    return cla_folder_holds(dir, name)
               ? cla_folder_inside(dir, name)
               : cla_fail(CLA_E_INPUT, "%s: has no %s", dir, name);
}

static cla_status read_config(cla_config *config, const char *dir, const char *name)
{
    cla_text path = { 0 };
    cla_status status = marian_check_file(dir, name);
    status = status ? status : cla_text_add(&path, "%s/%s", dir, name);
    status = status ? status : cla_config_read(config, path.data);
    cla_text_free(&path);
    if (!status) {
        drop_nulls(config->values);
    }
    return status;
}

static cla_status wrong(const cla_config *c, const char *key, const char *what)
{
    return cla_config_refuse(c, key, "%s", what);
}

/* ---- the network ------------------------------------------------------------- */

static cla_status read_kind(marian *m)
{
    const char *type = "";
    CLA_TRY(cla_config_text(&m->config, "model_type", &type));
    return strcmp(type, "marian") == 0
               ? CLA_OK
               : wrong(&m->config, "model_type",
                       "is not 'marian': no such model is read");
}

/* Reads a size that clattn has once for both stacks, so they must agree. */
static cla_status read_pair(marian *m, const char *encoder, const char *decoder,
                            int *value, int high)
{
    int other = *value;
    CLA_TRY(cla_config_int(&m->config, encoder, value, 1, high));
    CLA_TRY(cla_config_int(&m->config, decoder, &other, 1, high));
    return other == *value ? CLA_OK
                           : wrong(&m->config, decoder, "differs from the encoder's");
}

static cla_status read_activation(marian *m)
{
    static const char *const names[] = { "relu", "gelu", "silu", "swish", NULL };
    m->activation = CODER_GELU;
    CLA_TRY(
        cla_config_choice(&m->config, "activation_function", names, &m->activation));
    m->activation = m->activation > CODER_SILU ? CODER_SILU : m->activation;
    return CLA_OK;
}

/* Refuses layouts that the class MarianMTModel ignores or does not have. */
static cla_status read_absent(marian *m)
{
    static const char *const keys[] = { "normalize_before", "normalize_embedding",
                                        "add_final_layer_norm", "add_bias_logits",
                                        NULL };
    for (int i = 0; keys[i]; i++) {
        bool on = false;
        CLA_TRY(cla_config_bool(&m->config, keys[i], &on));
        CLA_TRY(on ? wrong(&m->config, keys[i], "is true: such models are not read")
                   : CLA_OK);
    }
    bool fixed = true;
    CLA_TRY(cla_config_bool(&m->config, "static_position_embeddings", &fixed));
    return fixed ? CLA_OK
                 : wrong(&m->config, "static_position_embeddings",
                         "is false: learned positions are not read");
}

static cla_status read_sizes(marian *m)
{
    enum { WIDEST = 1 << 14, INNER = 1 << 16, HEADS = 256 };
    cla_config *c = &m->config;
    m->model = 1024;
    m->heads = 16;
    m->inner = 4096;
    m->layers = m->decoder_layers = 12;
    CLA_TRY(cla_config_int(c, "d_model", &m->model, 1, WIDEST));
    CLA_TRY(read_pair(m, "encoder_attention_heads", "decoder_attention_heads",
                      &m->heads, HEADS));
    CLA_TRY(read_pair(m, "encoder_ffn_dim", "decoder_ffn_dim", &m->inner, INNER));
    CLA_TRY(cla_config_int(c, "encoder_layers", &m->layers, 1, TRANSFORMER_LAYERS));
    CLA_TRY(
        cla_config_int(c, "decoder_layers", &m->decoder_layers, 1, TRANSFORMER_LAYERS));
    return m->model % m->heads == 0
               ? CLA_OK
               : wrong(c, "encoder_attention_heads", "do not divide d_model");
}

static cla_status read_tables(marian *m)
{
    enum { PIECES = 1 << 24 };
    cla_config *c = &m->config;
    m->shared = m->tied = true;
    m->source_pieces = 58101;
    CLA_TRY(cla_config_bool(c, "scale_embedding", &m->scaled));
    CLA_TRY(cla_config_bool(c, "share_encoder_decoder_embeddings", &m->shared));
    CLA_TRY(cla_config_bool(c, "tie_word_embeddings", &m->tied));
    CLA_TRY(cla_config_int(c, "vocab_size", &m->source_pieces, 3, PIECES));
    m->target_pieces = m->source_pieces;
    CLA_TRY(cla_config_int(c, "decoder_vocab_size", &m->target_pieces, 3, PIECES));
    return m->shared && m->target_pieces != m->source_pieces
               ? wrong(c, "decoder_vocab_size",
                       "differs from vocab_size, though the table is shared")
               : CLA_OK;
}

/* ---- the search -------------------------------------------------------------- */

/* Reads the ids of end, padding and start from config.json, with which
 * generation_config.json must agree. */
static cla_status read_ids(marian *m)
{
    cla_config *c = &m->config, *g = &m->generation;
    const int high = m->target_pieces - 1;
    m->pad = high < 58100 ? high : 58100; // MarianConfig's default or the last id
    CLA_TRY(cla_config_int(c, "eos_token_id", &m->end, 0, high));
    CLA_TRY(cla_config_int(c, "pad_token_id", &m->pad, 0, high));
    int start = m->pad;
    CLA_TRY(cla_config_int(c, "decoder_start_token_id", &start, 0, high));
    if (start != m->pad) {
        return wrong(c, "decoder_start_token_id", "is not the pad_token_id");
    }
    const struct {
        const char *key;
        int value;
    } same[] = { { "eos_token_id", m->end },
                 { "pad_token_id", m->pad },
                 { "decoder_start_token_id", m->pad } };
    for (size_t i = 0; i < sizeof same / sizeof *same && g->values; i++) {
        int value = same[i].value;
        CLA_TRY(cla_config_int(g, same[i].key, &value, 0, high));
        CLA_TRY(value == same[i].value
                    ? CLA_OK
                    : wrong(g, same[i].key, "differs from config.json's"));
    }
    return CLA_OK;
}

static cla_status read_bad_words(marian *m, cla_config *g)
{
    const json_t *words = json_object_get(g->values, "bad_words_ids");
    for (size_t i = 0; i < json_array_size(words); i++) {
        const json_t *word = json_array_get(words, i);
        const json_t *id = json_array_get(word, 0);
        if (json_array_size(word) != 1 || !json_is_integer(id) ||
            json_integer_value(id) != m->pad) {
            return wrong(g, "bad_words_ids", "has another word than the pad_token_id");
        }
        m->search.never_pad = true;
    }
    return words && !json_is_array(words) ? wrong(g, "bad_words_ids", "is no list")
                                          : CLA_OK;
}

static cla_status read_early(marian *m, cla_config *g)
{
    const json_t *value = json_object_get(g->values, "early_stopping");
    const char *word = json_string_value(value);
    if (value && !json_is_boolean(value) && (!word || strcmp(word, "never") != 0)) {
        return wrong(g, "early_stopping", "must be true, false or \"never\"");
    }
    m->search.early = word                  ? SEARCH_NEVER
                      : json_is_true(value) ? SEARCH_FIRST
                                            : SEARCH_ESTIMATE;
    return CLA_OK;
}

/* Refuses settings that change the output, unless they have a neutral value. */
static cla_status read_neutral(cla_config *g)
{
    static const struct {
        const char *key;
        double neutral;
    } numbers[] = {
        { "no_repeat_ngram_size", 0 }, { "encoder_no_repeat_ngram_size", 0 },
        { "repetition_penalty", 1 },   { "encoder_repetition_penalty", 1 },
        { "min_length", 0 },           { "min_new_tokens", 0 },
        { "num_beam_groups", 1 },      { "diversity_penalty", 0 },
        { "penalty_alpha", 0 },        { "guidance_scale", 1 }
    };
    static const char *const absent[] = { "forced_bos_token_id",
                                          "suppress_tokens",
                                          "begin_suppress_tokens",
                                          "forced_decoder_ids",
                                          "force_words_ids",
                                          "constraints",
                                          "sequence_bias",
                                          "dola_layers",
                                          "exponential_decay_length_penalty",
                                          "watermarking_config",
                                          "num_assistant_tokens",
                                          "max_time",
                                          NULL };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *value = json_object_get(g->values, numbers[i].key);
        if (value && json_number_value(value) != numbers[i].neutral) {
            return wrong(g, numbers[i].key, "is set: translate has no such option");
        }
    }
    for (int i = 0; absent[i]; i++) {
        if (json_object_get(g->values, absent[i])) {
            return wrong(g, absent[i], "is set: translate has no such option");
        }
    }
    return json_is_true(json_object_get(g->values, "do_sample"))
               ? wrong(g, "do_sample", "is true: translate draws nothing")
               : CLA_OK;
}

/* Reads the limit of pieces and the forced end. max_length also counts the start. */
static cla_status read_length(marian *m, cla_config *g)
{
    int length = 20, added = 0, forced = -1; // 20: default of GenerationConfig
    CLA_TRY(cla_config_int(g, "max_length", &length, 2, TRANSLATION_MAX_LENGTH));
    CLA_TRY(cla_config_int(g, "max_new_tokens", &added, 0, TRANSLATION_MAX_LENGTH));
    m->search.most = added ? added : length - 1;
    if (g == &m->config && !json_object_get(g->values, "forced_eos_token_id")) {
        forced = m->end; // default of MarianConfig
    }
    CLA_TRY(cla_config_int(g, "forced_eos_token_id", &forced, -1, INT32_MAX));
    m->search.forced = forced >= 0;
    return forced < 0 || forced == m->end
               ? CLA_OK
               : wrong(g, "forced_eos_token_id", "is not the eos_token_id");
}

static cla_status read_search(marian *m)
{
    cla_config *g = m->generation.values ? &m->generation : &m->config;
    m->search = (search_options){ .kind = SEARCH_TRANSFORMERS, .beam = 1, .alpha = 1 };
    CLA_TRY(cla_config_int(g, "num_beams", &m->search.beam, 1, TRANSLATION_MAX_BEAM));
    CLA_TRY(cla_config_double(g, "length_penalty", &m->search.alpha, 0, 10));
    CLA_TRY(cla_config_bool(g, "renormalize_logits", &m->renormalize));
    CLA_TRY(read_early(m, g));
    CLA_TRY(read_length(m, g));
    CLA_TRY(read_bad_words(m, g));
    return read_neutral(g);
}

static cla_status read_tokenizer(marian *m)
{
    if (m->tokenizer.values) {
        CLA_TRY(cla_config_bool(&m->tokenizer, "separate_vocabs", &m->separate));
    }
    return m->separate && m->shared
               ? wrong(&m->tokenizer, "separate_vocabs",
                       "is true, though config.json shares the table")
               : CLA_OK;
}

cla_status marian_read_settings(marian *m, const char *dir)
{
    m->dir = dir;
    m->norm_epsilon = 1e-5;
    CLA_TRY(read_config(&m->config, dir, "config.json"));
    CLA_TRY(read_kind(m));
    CLA_TRY(cla_folder_holds(dir, "generation_config.json")
                ? read_config(&m->generation, dir, "generation_config.json")
                : CLA_OK);
    CLA_TRY(cla_folder_holds(dir, "tokenizer_config.json")
                ? read_config(&m->tokenizer, dir, "tokenizer_config.json")
                : CLA_OK);
    CLA_TRY(read_activation(m));
    CLA_TRY(read_absent(m));
    CLA_TRY(read_sizes(m));
    CLA_TRY(read_tables(m));
    CLA_TRY(read_ids(m));
    CLA_TRY(read_search(m));
    return read_tokenizer(m);
}
