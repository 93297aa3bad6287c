/* import_release.c - reads the settings and vocabularies of a folder of Marian. */
#include "exchange/import_release.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/yaml.h"
#include "nn/coder.h"
#include "tasks/translation/translation.h"
#include "text/sentencepiece.h"
#include "train/folder.h"

#define DECODER "decoder.yml"

enum { PIECES = 1 << 24 };

/* ---- settings ---------------------------------------------------------------- */

static cla_status wrong(const release *r, bool decoder, const char *key,
                        const char *what)
{
    return cla_fail(CLA_E_INPUT, "%s: %s %s", decoder ? r->m->config.path : r->zip.path,
                    key, what);
}

/* Returns a text of the weights' settings, or `otherwise` if there is none. */
static const char *text(const release *r, const char *key, const char *otherwise)
{
    const char *value = json_string_value(json_object_get(r->settings, key));
    return value ? value : otherwise;
}

static bool is_on(const release *r, const char *key)
{
    return strcmp(text(r, key, "false"), "true") == 0;
}

static cla_status read_int(const release *r, const char *key, int *value, int high)
{
    int64_t number = 0;
    const char *given = text(r, key, NULL);
    if (!given || !cla_parse_int(given, &number) || number < 1 || number > high) {
        return wrong(r, false, key, "is missing or out of range");
    }
    *value = (int)number;
    return CLA_OK;
}

/* Refuses values that translate does not support. An absent setting has the supported
 * value. */
static cla_status check_settings(const release *r)
{
    static const char *const same[][2] = {
        { "type", "transformer" },
        { "transformer-decoder-autoreg", "self-attention" },
        { "transformer-preprocess", "" },
        { "transformer-postprocess", "dan" },
        { "transformer-postprocess-top", "" },
        { "transformer-no-projection", "false" },
        { "transformer-no-bias", "false" },
        { "transformer-no-affine", "false" },
        { "transformer-train-position-embeddings", "false" },
        { "transformer-disable-position-embeddings", "false" },
        { "transformer-ffn-depth", "2" },
        { "transformer-decoder-dim-ffn", "0" },
        { "transformer-decoder-ffn-depth", "0" },
        { "output-omit-bias", "false" },
        { "right-left", "false" },
        { "ulr", "false" },
        { "lemma-dim-emb", "0" },
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (strcmp(text(r, same[i][0], same[i][1]), same[i][1]) != 0) {
            return wrong(r, false, same[i][0], "is set: such models are not read");
        }
    }
    if (strchr(text(r, "transformer-postprocess-emb", "d"), 'n')) {
        return wrong(r, false, "transformer-postprocess-emb",
                     "has a norm: such models are not read");
    }
    return json_array_size(json_object_get(r->settings, "transformer-tied-layers"))
               ? wrong(r, false, "transformer-tied-layers",
                       "is set: such models are not read")
               : CLA_OK;
}

static cla_status read_activation(const release *r)
{
    const char *name = text(r, "transformer-ffn-activation", "swish");
    r->m->activation = strcmp(name, "relu") == 0 ? CLA_RELU : CLA_SILU;
    return r->m->activation == CLA_RELU || strcmp(name, "swish") == 0
               ? CLA_OK
               : wrong(r, false, "transformer-ffn-activation",
                       "is neither relu nor swish: such models are not read");
}

static cla_status read_network(const release *r)
{
    enum { WIDEST = 1 << 14, INNER = 1 << 16, HEADS = 256 };
    marian *m = r->m;
    CLA_TRY(check_settings(r));
    CLA_TRY(read_activation(r));
    CLA_TRY(read_int(r, "dim-emb", &m->model, WIDEST));
    CLA_TRY(read_int(r, "transformer-heads", &m->heads, HEADS));
    CLA_TRY(read_int(r, "transformer-dim-ffn", &m->inner, INNER));
    CLA_TRY(read_int(r, "enc-depth", &m->layers, TRANSFORMER_LAYERS));
    CLA_TRY(read_int(r, "dec-depth", &m->decoder_layers, TRANSFORMER_LAYERS));
    const bool all = is_on(r, "tied-embeddings-all");
    m->shared = all || is_on(r, "tied-embeddings-src");
    m->tied = all || is_on(r, "tied-embeddings");
    m->scaled = true;
    m->positions = TRANSFORMER_TENSOR2TENSOR;
    m->norm_epsilon = 1e-6;
    return m->model % m->heads == 0
               ? CLA_OK
               : wrong(r, false, "transformer-heads", "do not divide dim-emb");
}

/* Reads the settings of the search. Marian has no <pad>, so this is never produced and
 * has no share of probability. */
static cla_status read_search(const release *r)
{
    enum { LONGEST = 511 }; // as in Hugging Face's conversions
    search_options *o = &r->m->search;
    int64_t beam = 6;
    double normalise = 0, penalty = 0;
    const char *const given[] = {
        json_string_value(json_object_get(r->decoder, "beam-size")),
        json_string_value(json_object_get(r->decoder, "normalize")),
        json_string_value(json_object_get(r->decoder, "word-penalty"))
    };
    if (given[0] &&
        (!cla_parse_int(given[0], &beam) || beam < 1 || beam > TRANSLATION_MAX_BEAM)) {
        return wrong(r, true, "beam-size", "is out of range");
    }
    if (given[1] &&
        (!cla_parse_double(given[1], &normalise) || normalise < 0 || normalise > 10)) {
        return wrong(r, true, "normalize", "is out of range");
    }
    if (given[2] && (!cla_parse_double(given[2], &penalty) || penalty != 0)) {
        return wrong(r, true, "word-penalty", "is set: translate has no such option");
    }
    *o = (search_options){ .kind = o->kind,
                           .beam = (int)beam,
                           .alpha = normalise,
                           .most = LONGEST,
                           .forced = true,
                           .never_pad = true };
    r->m->renormalize = true;
    return CLA_OK;
}

/* ---- files ------------------------------------------------------------------- */

/* Makes the path of a file of the folder that decoder.yml names. */
static cla_status path_of(const release *r, const char *name, cla_text *path)
{
    if (!*name || strchr(name, '/') || strstr(name, "..")) {
        return cla_fail(CLA_E_INPUT, "%s: '%.200s' is no name of a file of this folder",
                        r->m->config.path, name);
    }
    CLA_TRY(cla_marian_check_file(r->m->dir, name));
    return cla_text_add(path, "%s/%s", r->m->dir, name);
}

static cla_status read_yaml(const char *path, json_t **root)
{
    char *bytes = NULL;
    size_t size = 0;
    cla_status status = cla_file_read(path, &bytes, &size);
    status = status ? status : cla_yaml_parse(root, path, bytes, size);
    free(bytes);
    return status;
}

/* Returns the i-th name of a list in decoder.yml, or NULL. */
static const char *listed(const release *r, const char *key, size_t i)
{
    return json_string_value(json_array_get(json_object_get(r->decoder, key), i));
}

static cla_status open_weights(release *r)
{
    cla_text path = { 0 };
    const char *name = listed(r, "models", 0);
    if (!name || listed(r, "models", 1)) {
        return wrong(r, true, "models", "must name one file of weights");
    }
    cla_status status = path_of(r, name, &path);
    status = status ? status : cla_release_open_weights(r, path.data);
    cla_text_free(&path);
    return status;
}

/* Copies the ids of tokens, which are texts in YAML, as numbers. */
static cla_status copy_ids(const char *path, json_t *tokens, json_t *ids)
{
    const int64_t count = (int64_t)json_object_size(tokens);
    const char *token = NULL;
    json_t *value = NULL;
    json_object_foreach(tokens, token, value)
    {
        int64_t id = -1;
        const char *digits = json_string_value(value);
        if (!digits || !cla_parse_int(digits, &id) || id < 0 || id >= count) {
            return cla_fail(CLA_E_INPUT,
                            "%s: token '%.80s': its id must be a number from 0 to %lld",
                            path, token, (long long)count - 1);
        }
        if (json_object_set_new(ids, token, json_integer(id))) {
            return cla_fail(CLA_E_NOMEM, "%s: out of memory", path);
        }
    }
    return CLA_OK;
}

/* Adds <pad>, which Marian does not have, as the last token. */
static cla_status add_pad(const release *r, const char *path, json_t *ids)
{
    const char *pad = cla_special_names[CLA_PAD], *end = cla_special_names[CLA_EOS];
    const size_t count = json_object_size(ids);
    const json_int_t at = json_integer_value(json_object_get(ids, end));
    if (!json_object_get(ids, end) || json_object_get(ids, pad) || count >= PIECES ||
        at >= (json_int_t)count) {
        return cla_fail(CLA_E_INPUT, "%s: has %zu tokens, must have '%s' and not '%s'",
                        path, count, end, pad);
    }
    r->m->end = (int)at;
    r->m->pad = (int)count;
    return json_object_set_new(ids, pad, json_integer((json_int_t)count))
               ? cla_fail(CLA_E_NOMEM, "%s: out of memory", path)
               : CLA_OK;
}

/* Adds the pieces of a SentencePiece model with their ids. */
static cla_status list_ids(const char *path, json_t *ids)
{
    cla_sentencepiece *model = NULL;
    cla_text list = { 0 };
    char *bytes = NULL;
    size_t size = 0;
    cla_status status = cla_file_read(path, &bytes, &size);
    status = status ? status : cla_sentencepiece_new(&model, path, bytes, size);
    status = status ? status : cla_sentencepiece_list(model, &list);
    int64_t id = 0;
    const char *end = list.data ? list.data + list.size : NULL;
    for (const char *at = list.data; !status && at < end; at += strlen(at) + 1) {
        if (json_object_get(ids, at) ||
            json_object_set_new(ids, at, json_integer(id++))) {
            status = cla_fail(
                CLA_E_INPUT, "%s: piece '%.80s' is a duplicate or not UTF-8", path, at);
        }
    }
    cla_sentencepiece_free(&model);
    cla_text_free(&list);
    free(bytes);
    return status;
}

static cla_status read_ids(const char *path, json_t *ids)
{
    json_t *tokens = NULL;
    cla_status status = read_yaml(path, &tokens);
    status = status ? status : copy_ids(path, tokens, ids);
    json_decref(tokens);
    return status;
}

/* Reads a vocabulary.
 * model  out  its name if it is a SentencePiece model; else unchanged */
static cla_status read_vocab(const release *r, const char *name, marian_pieces *pieces,
                             int *count, char **model)
{
    const bool spm = cla_ends_in(name, ".spm");
    cla_text path = { 0 };
    json_t *ids = json_object();
    cla_status status = path_of(r, name, &path);
    status = status ? status : (spm ? list_ids : read_ids)(path.data, ids);
    status = status ? status : add_pad(r, path.data, ids);
    *count = (int)json_object_size(ids);
    status = status ? status : cla_marian_arrange(r->m, pieces, path.data, ids, *count);
    status = status || !spm ? status : cla_strdup(model, name);
    json_decref(ids);
    cla_text_free(&path);
    return status;
}

static cla_status read_vocabs(const release *r)
{
    marian *m = r->m;
    const char *source = listed(r, "vocabs", 0), *target = listed(r, "vocabs", 1);
    if (!source || !target) {
        return wrong(r, true, "vocabs", "must name two files");
    }
    m->separate = strcmp(source, target) != 0;
    if (m->separate && m->shared) {
        return wrong(r, true, "vocabs", "differ, though the weights have one table");
    }
    CLA_TRY(read_vocab(r, source, &m->source, &m->source_pieces, &m->source_spm));
    m->target_pieces = m->source_pieces;
    if (!m->separate) {
        return m->source_spm ? cla_strdup(&m->target_spm, source) : CLA_OK;
    }
    return read_vocab(r, target, &m->target, &m->target_pieces, &m->target_spm);
}

/* ---- the folder -------------------------------------------------------------- */

static cla_status read_all(release *r)
{
    CLA_TRY(read_yaml(r->m->config.path, &r->decoder));
    CLA_TRY(open_weights(r));
    CLA_TRY(read_network(r));
    CLA_TRY(read_search(r));
    CLA_TRY(read_vocabs(r));
    return cla_release_read_weights(r);
}

cla_status cla_marian_read_release(marian *m, const char *dir)
{
    release r = { .m = m };
    cla_text path = { 0 };
    m->dir = dir;
    m->release = true;
    cla_marian_set_family(m, FAMILY_MARIAN);
    CLA_TRY(cla_marian_check_file(dir, DECODER));
    CLA_TRY(cla_text_add(&path, "%s/" DECODER, dir));
    m->config.path = path.data;
    cla_status status = read_all(&r);
    status = status ? status : cla_strdup(&m->weights, r.zip.path);
    cla_zip_close(&r.zip);
    free(r.used);
    json_decref(r.settings);
    json_decref(r.decoder);
    return status;
}
