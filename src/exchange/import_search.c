/* import_search.c - reads the search of a Hugging Face MarianMT folder. */
#include <string.h>

#include "exchange/import_marian.h"
#include "tasks/translation/translation.h"

static cla_status wrong(const cla_config *c, const char *key, const char *what)
{
    return cla_config_refuse(c, key, "%s", what);
}

/* Replaces a list of one id by the id. */
static cla_status take_id(cla_config *c, const char *key)
{
    json_t *list = json_object_get(c->values, key);
    if (!json_is_array(list)) {
        return CLA_OK;
    }
    if (json_array_size(list) != 1) {
        return cla_config_refuse(c, key, "has %zu ids, translate has one end",
                                 json_array_size(list));
    }
    return json_object_set(c->values, key, json_array_get(list, 0))
               ? cla_fail(CLA_E_NOMEM, "%s: out of memory", c->path)
               : CLA_OK;
}

static cla_status take_ids(marian *m)
{
    static const char *const keys[] = { "eos_token_id", "forced_eos_token_id" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        CLA_TRY(take_id(&m->config, keys[i]));
        CLA_TRY(take_id(&m->generation, keys[i]));
    }
    return CLA_OK;
}

/* Reads the ids of end, padding and start from config.json, with which
 * generation_config.json must agree. */
static cla_status read_ids(marian *m)
{
    cla_config *c = &m->config, *g = &m->generation;
    const int high = m->target_pieces - 1;
    CLA_TRY(take_ids(m));
    const bool old = m->family == FAMILY_MARIAN;
    const bool t5 = m->family == FAMILY_T5;
    m->pad = t5 ? 0 : !old ? 1 : high < 58100 ? high : 58100; // the config's default
    m->end = t5 ? 1 : old ? 0 : 2;
    CLA_TRY(cla_config_int(c, "eos_token_id", &m->end, 0, high));
    CLA_TRY(cla_config_int(c, "pad_token_id", &m->pad, 0, high));
    const int first = old || t5 ? m->pad : m->end;
    m->start = first;
    CLA_TRY(cla_config_int(c, "decoder_start_token_id", &m->start, 0, high));
    if (m->start != first && !t5) {
        return wrong(c, "decoder_start_token_id",
                     old ? "is not the pad_token_id" : "is not the eos_token_id");
    }
    const struct {
        const char *key;
        int value;
    } same[] = { { "eos_token_id", m->end },
                 { "pad_token_id", m->pad },
                 { "decoder_start_token_id", m->start } };
    if (g->values && !json_object_get(g->values, "eos_token_id")) {
        return wrong(g, "eos_token_id", "is missing: translations would have no end");
    }
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
    static const char *const absent[] = { "suppress_tokens",
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
                                          "stop_strings",
                                          NULL };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *value = json_object_get(g->values, numbers[i].key);
        if (value && json_number_value(value) != numbers[i].neutral) {
            return wrong(g, numbers[i].key, "is set: translate has no such option");
        }
    }
    for (int i = 0; absent[i]; i++) {
        const json_t *value = json_object_get(g->values, absent[i]);
        if (value && !(json_is_array(value) && !json_array_size(value))) {
            return wrong(g, absent[i], "is set: translate has no such option");
        }
    }
    return json_is_true(json_object_get(g->values, "do_sample"))
               ? wrong(g, "do_sample", "is true: translate draws nothing")
               : CLA_OK;
}

/* Reads the limit of pieces and the forced end. max_length also counts the start. The
 * default, 20, counts it up to release 4 of transformers; release 5 does not, but stays
 * below the number of positions. */
static cla_status read_length(marian *m, cla_config *g)
{
    int length = 20, added = 0, forced = -1, positions = 1024;
    if (m->search.kind == SEARCH_TRANSFORMERS_5) {
        CLA_TRY(cla_config_int(&m->config, "max_position_embeddings", &positions, 2,
                               INT32_MAX));
        length = positions < 21 ? positions : 21;
    }
    CLA_TRY(cla_config_int(g, "max_length", &length, 2, TRANSLATION_MAX_LENGTH));
    CLA_TRY(cla_config_int(g, "max_new_tokens", &added, 0, TRANSLATION_MAX_LENGTH));
    m->search.most = added ? added : length - 1;
    const bool ends = m->family == FAMILY_MARIAN || m->family == FAMILY_MBART;
    if (ends && g == &m->config && !json_object_get(g->values, "forced_eos_token_id")) {
        forced = m->end; // default of MarianConfig and MBartConfig
    }
    CLA_TRY(cla_config_int(g, "forced_eos_token_id", &forced, -1, INT32_MAX));
    m->search.forced = forced >= 0;
    return forced < 0 || forced == m->end
               ? CLA_OK
               : wrong(g, "forced_eos_token_id", "is not the eos_token_id");
}

/* The piece that translations begin with is the language's, which --target chooses. */
static cla_status read_first(const marian *m, cla_config *g)
{
    const json_t *value = json_object_get(g->values, "forced_bos_token_id");
    return value && (m->family == FAMILY_MARIAN || m->family == FAMILY_T5)
               ? wrong(g, "forced_bos_token_id", "is set: translate has no such option")
               : CLA_OK;
}

cla_status cla_marian_read_search(marian *m)
{
    const int kind = m->search.kind; // of the caller
    CLA_TRY(read_ids(m));
    cla_config *g = m->generation.values ? &m->generation : &m->config;
    m->search = (search_options){ .kind = kind, .beam = 1, .alpha = 1 };
    CLA_TRY(cla_config_int(g, "num_beams", &m->search.beam, 1, TRANSLATION_MAX_BEAM));
    CLA_TRY(cla_config_double(g, "length_penalty", &m->search.alpha, 0, 10));
    CLA_TRY(cla_config_bool(g, "renormalize_logits", &m->renormalize));
    CLA_TRY(read_early(m, g));
    CLA_TRY(read_length(m, g));
    CLA_TRY(read_bad_words(m, g));
    CLA_TRY(read_first(m, g));
    return read_neutral(g);
}
