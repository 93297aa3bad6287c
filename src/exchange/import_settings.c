/* import_settings.c - reads the settings of a Hugging Face MarianMT folder. */
#include <stdio.h>
#include <string.h>

#include "exchange/import_marian.h"
#include "nn/coder.h"
#include "train/folder.h"

void cla_marian_fini(marian *m)
{
    cla_config_fini(&m->config);
    cla_config_fini(&m->generation);
    cla_config_fini(&m->tokenizer);
    cla_config_fini(&m->added);
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

void cla_marian_set_family(marian *m, int family)
{
    const bool old = family == FAMILY_MARIAN;
    m->family = family;
    const bool t5 = family == FAMILY_T5;
    m->start_pad = old;
    m->output_bias = old || family == FAMILY_MBART;
    m->pre_norm = !old;
    m->start_end = !old && !t5;
    m->source_end = true;
}

const char *cla_marian_pieces_file(const marian *m)
{
    return m->family == FAMILY_MARIAN ? NULL
           : m->family == FAMILY_T5   ? "spiece.model"
                                      : "sentencepiece.bpe.model";
}

/* ---- files ------------------------------------------------------------------- */

void cla_marian_drop_nulls(json_t *object)
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

cla_status cla_marian_check_file(const char *dir, const char *name)
{
    return cla_folder_holds(dir, name)
               ? cla_folder_inside(dir, name)
               : cla_fail(CLA_E_INPUT, "%s: has no %s", dir, name);
}

static cla_status read_config(cla_config *config, const char *dir, const char *name)
{
    cla_text path = { 0 };
    cla_status status = cla_marian_check_file(dir, name);
    status = status ? status : cla_text_add(&path, "%s/%s", dir, name);
    status = status ? status : cla_config_read(config, path.data);
    cla_text_free(&path);
    if (!status) {
        cla_marian_drop_nulls(config->values);
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
    cla_marian_set_family(m, FAMILY_MARIAN);
    if (strcmp(type, "m2m_100") == 0) {
        const bool listed = cla_folder_holds(m->dir, "vocab.json");
        cla_marian_set_family(m, listed ? FAMILY_M2M100 : FAMILY_NLLB);
        return CLA_OK;
    }
    if (strcmp(type, "mbart") == 0) {
        cla_marian_set_family(m, FAMILY_MBART);
        return CLA_OK;
    }
    if (strcmp(type, "t5") == 0 || strcmp(type, "mt5") == 0) {
        cla_marian_set_family(m, FAMILY_T5);
        return CLA_OK;
    }
    return strcmp(type, "marian") == 0
               ? CLA_OK
               : cla_config_refuse(
                     &m->config, "model_type",
                     "is '%.80s': 'marian', 'm2m_100', 'mbart', 't5' and 'mt5' are "
                     "read",
                     type);
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
    static const char *const names[] = { "relu",  "gelu",     "silu",
                                         "swish", "gelu_new", NULL };
    static const cla_activation read[] = { CLA_RELU, CLA_GELU, CLA_SILU, CLA_SILU,
                                           CLA_GELU_TANH };
    const bool gelu = m->family == FAMILY_MARIAN || m->family == FAMILY_MBART;
    int chosen = gelu ? 1 : 0;
    CLA_TRY(cla_config_choice(&m->config, "activation_function", names, &chosen));
    m->activation = read[chosen];
    return CLA_OK;
}

/* Refuses layouts that the class MarianMTModel ignores or does not have. (It ignores
 * add_bias_logits, too, but its models always have that bias.) */
static cla_status read_absent(marian *m)
{
    if (m->family != FAMILY_MARIAN) {
        return CLA_OK;
    }
    static const char *const keys[] = { "normalize_before", "normalize_embedding",
                                        "add_final_layer_norm", NULL };
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
    m->scaled = m->family == FAMILY_M2M100 || m->family == FAMILY_NLLB;
    m->source_pieces = m->family == FAMILY_MARIAN ? 58101 : 128112;
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

static cla_status read_network(marian *m)
{
    CLA_TRY(read_activation(m));
    CLA_TRY(read_absent(m));
    CLA_TRY(read_sizes(m));
    return read_tables(m);
}

/* ---- all of it ---------------------------------------------------------------- */

/* mBART-25 has its languages behind the pieces of a source; only mBART-50 is read. */
static cla_status check_mbart(marian *m)
{
    const char *name = "";
    CLA_TRY(cla_config_text(&m->config, "tokenizer_class", &name));
    CLA_TRY(!*name && m->tokenizer.values
                ? cla_config_text(&m->tokenizer, "tokenizer_class", &name)
                : CLA_OK);
    m->max_positions = 1024;
    CLA_TRY(cla_config_int(&m->config, "max_position_embeddings", &m->max_positions, 4,
                           1 << 16));
    m->search.most =
        m->search.most < m->max_positions ? m->search.most : m->max_positions;
    return strncmp(name, "MBart50Tokenizer", 16) == 0
               ? CLA_OK
               : cla_config_refuse(&m->config, "tokenizer_class",
                                   "is '%.80s': of mBART's, 'MBart50Tokenizer' is read",
                                   name);
}

static cla_status read_tokenizer(marian *m)
{
    CLA_TRY(m->family == FAMILY_MBART ? check_mbart(m) : CLA_OK);
    if (m->tokenizer.values) {
        CLA_TRY(cla_config_bool(&m->tokenizer, "separate_vocabs", &m->separate));
    }
    return m->separate && m->shared
               ? wrong(&m->tokenizer, "separate_vocabs",
                       "is true, though config.json shares the table")
               : CLA_OK;
}

cla_status cla_marian_read_settings(marian *m, const char *dir)
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
    CLA_TRY(cla_folder_holds(dir, "added_tokens.json")
                ? read_config(&m->added, dir, "added_tokens.json")
                : CLA_OK);
    CLA_TRY(m->family == FAMILY_T5 ? cla_t5_read_network(m) : read_network(m));
    CLA_TRY(cla_marian_read_search(m));
    return read_tokenizer(m);
}
