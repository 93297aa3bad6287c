/* import_ctranslate2.c - reads settings and vocabularies of a CTranslate2 folder and of
 * an Argos package. */
#include "exchange/import_ctranslate2.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "text/subwords.h"

enum { NAME = 64, PATH = 96 };

/* ---- files ------------------------------------------------------------------- */

/* Makes the name of a file of the model in a package of Argos or a folder. */
static const char *inside(const ct2_folder *f, const char *name, char path[PATH])
{
    snprintf(path, PATH, "%s%s", f->argos ? "model/" : "", name);
    return path;
}

static bool holds(const ct2_folder *f, const char *name)
{
    char path[PATH];
    return cla_package_holds(f->package, inside(f, name, path));
}

static cla_status read_file(const ct2_folder *f, const char *name, cla_text *path,
                            char **bytes, size_t *size)
{
    char whole[PATH];
    return cla_package_read(f->package, inside(f, name, whole), path, bytes, size);
}

/* Reads the settings of a file of the package. */
static cla_status read_config(const import_package *p, const char *name,
                              cla_config *config)
{
    cla_text path = { 0 };
    char *text = NULL;
    size_t size = 0;
    cla_status status = cla_package_read(p, name, &path, &text, &size);
    status = status ? status : cla_config_parse(config, path.data, text, size);
    cla_text_free(&path);
    if (!status) {
        cla_marian_drop_nulls(config->values);
    }
    return status;
}

static cla_status open_weights(ct2_folder *f)
{
    char *bytes = NULL;
    size_t size = 0;
    CLA_TRY(read_file(f, "model.bin", &f->path, &bytes, &size));
    CLA_TRY(cla_strdup(&f->m->weights, f->path.data));
    return cla_ct2_open(&f->file, f->path.data, bytes, size);
}

/* ---- settings ---------------------------------------------------------------- */

/* Checks that a token of the settings has the name that it has in clattn. */
static cla_status check_token(ct2_folder *f, const char *key, const char *want)
{
    const char *token = want;
    CLA_TRY(cla_config_text(&f->m->config, key, &token));
    return strcmp(token, want) == 0
               ? CLA_OK
               : cla_config_refuse(&f->m->config, key, "is '%.80s', must be '%s'",
                                   token, want);
}

static cla_status read_settings(ct2_folder *f)
{
    cla_config *c = &f->m->config;
    char name[PATH];
    bool begun = false;
    CLA_TRY(read_config(f->package, inside(f, "config.json", name), c));
    CLA_TRY(cla_config_bool(c, "add_source_bos", &begun));
    CLA_TRY(check_token(f, "eos_token", cla_special_names[CLA_EOS]));
    CLA_TRY(check_token(f, "unk_token", cla_special_names[CLA_UNK]));
    return begun ? cla_config_refuse(c, "add_source_bos",
                                     "is true: such models are not read")
                 : CLA_OK;
}

/* Reads the epsilon of norms. The default of those without a bias is another one. */
static cla_status read_epsilon(const ct2_folder *f)
{
    marian *m = f->m;
    m->norm_epsilon = m->family == FAMILY_T5 ? 1e-6 : 1e-5;
    return cla_config_double(&m->config, "layer_norm_epsilon", &m->norm_epsilon, 1e-12,
                             1);
}

/* The search of the programs: beam and length penalty of Argos, or the defaults of
 * CTranslate2; both end a beam at its k'th hypothesis, and after 256 pieces. */
static void set_search(const ct2_folder *f)
{
    const int kind = f->m->search.kind;
    f->m->search = (search_options){ .kind = kind,
                                     .beam = f->argos ? 4 : 2,
                                     .alpha = f->argos ? 0.2 : 1,
                                     .early = SEARCH_FIRST,
                                     .most = 256 };
}

/* ---- vocabularies ------------------------------------------------------------ */

/* Enters a token under the next number. The converter of T5 calls rows without a token
 * <extra_id_0>, <extra_id_1>, ..., also where there are such tokens. */
static cla_status add_token(json_t *tokens, const char *path, const char *token)
{
    const json_int_t next = (json_int_t)json_object_size(tokens);
    char unused[NAME];
    if (json_object_get(tokens, token) && strncmp(token, "<extra_id_", 10) == 0) {
        snprintf(unused, sizeof unused, "<unused%lld>", (long long)next);
        token = unused;
    }
    if (json_object_get(tokens, token)) {
        return cla_fail(CLA_E_INPUT, "%s: has token '%.80s' twice", path, token);
    }
    return json_object_set_new(tokens, token, json_integer(next))
               ? cla_fail(CLA_E_NOMEM, "%s: out of memory", path)
               : CLA_OK;
}

static cla_status take_list(json_t *tokens, const char *path, const char *text,
                            size_t size)
{
    json_t *list = NULL;
    cla_status status = cla_json_text(&list, path, 1, text, size, 0);
    if (!status && !json_is_array(list)) {
        status = cla_fail(CLA_E_INPUT, "%s: is no list of tokens", path);
    }
    for (size_t i = 0; i < json_array_size(list) && !status; i++) {
        const char *token = json_string_value(json_array_get(list, i));
        status = token ? add_token(tokens, path, token)
                       : cla_fail(CLA_E_INPUT, "%s: token %zu is no text", path, i);
    }
    json_decref(list);
    return status;
}

cla_status cla_ct2_tokens(json_t **tokens, const char *path, char *text, size_t size)
{
    *tokens = json_object();
    if (!cla_ends_in(path, ".txt")) {
        return take_list(*tokens, path, text, size);
    }
    cla_scan scan = cla_scan_text(path, 0, text, size);
    char *line = NULL;
    size_t bytes = 0;
    cla_status status = CLA_OK;
    while (!status) {
        status = cla_scan_line(&scan, &line, &bytes);
        if (status || !line) break;
        status = add_token(*tokens, path, line);
    }
    return status;
}

/* Returns whether a token is a name that programs give to a row without one. */
static bool is_unused(const char *token)
{
    static const char made[] = "madeupword", ours[] = "<unused";
    const bool is_made = strncmp(token, made, strlen(made)) == 0;
    const bool is_ours = strncmp(token, ours, strlen(ours)) == 0;
    const char *number = token + strlen(is_made ? made : ours);
    if (!is_made && !is_ours) {
        return false;
    }
    const size_t digits = strspn(number, "0123456789");
    return digits && strcmp(number + digits, is_made ? "" : ">") == 0;
}

static void drop_unused(json_t *tokens)
{
    const char *token = NULL;
    json_t *id = NULL;
    void *next = NULL;
    json_object_foreach_safe(tokens, next, token, id)
    {
        if (is_unused(token)) {
            json_object_del(tokens, token);
        }
    }
}

/* Calls the token that translations start with <pad>, whose place it has in clattn. */
static cla_status rename_start(ct2_folder *f, json_t *tokens, const char *start)
{
    const char *pad = cla_special_names[CLA_PAD];
    json_t *id = json_object_get(tokens, start);
    if (!id) {
        return cla_config_refuse(&f->m->config, "decoder_start_token",
                                 "is '%.80s', which a vocabulary lacks", start);
    }
    if (strcmp(start, pad) == 0) {
        return CLA_OK;
    }
    return json_object_set(tokens, pad, id) || json_object_del(tokens, start)
               ? cla_fail(CLA_E_NOMEM, "%s: out of memory", f->m->config.path)
               : CLA_OK;
}

/* Finds how translations start: with a token of their own, with the one that ends
 * sentences, or with zeros. OpenNMT-py, which has <s> for the first, gives sources no
 * end. The callers of other models append it to the source themselves. */
static cla_status read_start(ct2_folder *f, const char **start)
{
    marian *m = f->m;
    bool ended = false;
    *start = "<s>";
    CLA_TRY(cla_config_text(&m->config, "decoder_start_token", start));
    CLA_TRY(cla_config_bool(&m->config, "add_source_eos", &ended));
    m->start_end = !f->zero && strcmp(*start, cla_special_names[CLA_EOS]) == 0;
    m->start_pad = !f->zero && !m->start_end;
    m->source_end =
        ended || !m->start_pad || strcmp(*start, cla_special_names[CLA_PAD]) == 0;
    return CLA_OK;
}

/* Finds the family by the languages among the tokens: mBART's has norms of embeddings.
 */
static void find_family(const ct2_folder *f, json_t *tokens)
{
    marian *m = f->m;
    const char *token = NULL;
    json_t *id = NULL;
    size_t size = 0;
    const bool mbart =
        cla_ct2_find(&f->file, "encoder/layernorm_embedding/gamma") != NULL;
    const int first = mbart ? FAMILY_MBART : FAMILY_M2M100;
    const int last = mbart ? FAMILY_MBART : FAMILY_NLLB;
    for (int family = first; m->start_end && family <= last; family++) {
        json_object_foreach(tokens, token, id)
        {
            if (cla_translation_language_in(family, token, &size)) {
                m->family = family;
            }
        }
    }
}

/* Sorts the tokens of a vocabulary. One without <pad> gets a row of zeros for it. */
static cla_status arrange(ct2_folder *f, json_t *tokens, const char *path,
                          marian_pieces *pieces, int *count)
{
    const char *start = NULL;
    marian *m = f->m;
    const json_t *end = json_object_get(tokens, cla_special_names[CLA_EOS]);
    *count = (int)json_object_size(tokens);
    if (m->family == FAMILY_T5) {
        drop_unused(tokens);
        return cla_ct2_t5_pieces(f, tokens, path, pieces, *count);
    }
    CLA_TRY(read_start(f, &start));
    CLA_TRY(m->start_pad ? rename_start(f, tokens, start) : CLA_OK);
    find_family(f, tokens);
    drop_unused(tokens);
    const json_t *pad = json_object_get(tokens, cla_special_names[CLA_PAD]);
    f->padded = !pad;
    m->pad = pad ? (int)json_integer_value(pad) : *count;
    m->end = end ? (int)json_integer_value(end) : 0;
    *count += f->padded;
    if (f->padded &&
        json_object_set_new(tokens, cla_special_names[CLA_PAD], json_integer(m->pad))) {
        return cla_fail(CLA_E_NOMEM, "%s: out of memory", path);
    }
    return cla_marian_arrange(m, pieces, path, tokens, *count);
}

static cla_status read_vocab(ct2_folder *f, const char *stem, marian_pieces *pieces,
                             int *count)
{
    char name[NAME];
    cla_text path = { 0 };
    char *text = NULL;
    size_t size = 0;
    json_t *tokens = NULL;
    snprintf(name, sizeof name, "%s_vocabulary.json", stem);
    if (!holds(f, name)) {
        snprintf(name, sizeof name, "%s_vocabulary.txt", stem);
    }
    cla_status status = read_file(f, name, &path, &text, &size);
    status = status ? status : cla_ct2_tokens(&tokens, path.data, text, size);
    status = status ? status : arrange(f, tokens, path.data, pieces, count);
    json_decref(tokens);
    free(text);
    cla_text_free(&path);
    return status;
}

static cla_status read_vocabs(ct2_folder *f)
{
    marian *m = f->m;
    m->separate =
        holds(f, "target_vocabulary.json") || holds(f, "target_vocabulary.txt");
    if (!m->separate) {
        CLA_TRY(read_vocab(f, "shared", &m->source, &m->source_pieces));
        m->target_pieces = m->source_pieces;
    } else {
        CLA_TRY(read_vocab(f, "source", &m->source, &m->source_pieces));
        const bool padded = f->padded;
        CLA_TRY(read_vocab(f, "target", &m->target, &m->target_pieces));
        if (m->shared || padded != f->padded) {
            return cla_fail(CLA_E_INPUT, "%s: two vocabularies %s", m->weights,
                            m->shared ? "have one table" : "differ in their <pad>");
        }
    }
    m->start_pad = m->start_pad || (f->zero && f->padded);
    m->search.never_pad = m->renormalize = f->padded;
    return CLA_OK;
}

/* ---- SentencePiece models and languages -------------------------------------- */

static cla_status find_pieces(const ct2_folder *f)
{
    static const char *const names[][2] = {
        { "source.spm", "target.spm" },
        { "sentencepiece.model", "sentencepiece.model" },
        { "sentencepiece.bpe.model", "sentencepiece.bpe.model" },
        { "spiece.model", "spiece.model" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (cla_package_holds(f->package, names[i][0])) {
            CLA_TRY(cla_strdup(&f->m->source_spm, names[i][0]));
            return cla_strdup(&f->m->target_spm, names[i][1]);
        }
    }
    return cla_fail(CLA_E_INPUT,
                    "%s: has no SentencePiece model: %s, %s and %s, %s or %s; the "
                    "folder that the model was converted from has it",
                    f->package->path, names[1][0], names[0][0], names[0][1],
                    names[2][0], names[3][0]);
}

/* Reads the languages of an Argos package, by the names of MarianTokenizer's keys. */
static cla_status read_metadata(const ct2_folder *f)
{
    static const char *const keys[][2] = { { "from_code", "source_lang" },
                                           { "to_code", "target_lang" } };
    cla_config *c = &f->m->tokenizer;
    cla_status status = read_config(f->package, "metadata.json", c);
    for (int i = 0; i < 2 && !status; i++) {
        const char *code = "";
        status = cla_config_text(c, keys[i][0], &code);
        if (!status && json_object_set_new(c->values, keys[i][1], json_string(code))) {
            status = cla_fail(CLA_E_NOMEM, "%s: out of memory", c->path);
        }
    }
    const char *prefix = "";
    status = status ? status : cla_config_text(c, "target_prefix", &prefix);
    return status || !*prefix
               ? status
               : cla_config_refuse(c, "target_prefix",
                                   "is '%.80s': such packages are not read", prefix);
}

/* ---- all of it --------------------------------------------------------------- */

static cla_status read_all(ct2_folder *f)
{
    CLA_TRY(f->argos ? read_metadata(f) : CLA_OK);
    CLA_TRY(read_settings(f));
    CLA_TRY(open_weights(f));
    CLA_TRY(cla_ct2_read_sizes(f));
    CLA_TRY(read_epsilon(f));
    set_search(f);
    CLA_TRY(read_vocabs(f));
    CLA_TRY(find_pieces(f));
    return cla_ct2_read_weights(f);
}

bool cla_marian_is_ctranslate2(const import_package *p)
{
    return cla_package_holds(p, "model/model.bin") || cla_package_holds(p, "model.bin");
}

cla_status cla_marian_read_ctranslate2(marian *m, const import_package *p)
{
    ct2_folder f = { .m = m,
                     .package = p,
                     .argos = cla_package_holds(p, "model/model.bin") };
    m->dir = p->path;
    m->release = true;
    const cla_status status = read_all(&f);
    cla_ct2_close(&f.file);
    cla_text_free(&f.path);
    return status;
}
