/* import_vocab.c - reads vocab.json of a Hugging Face MarianMT folder. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "exchange/import_marian.h"
#include "text/subwords.h"
#include "train/folder.h"

/* A vocabulary while it is read. */
typedef struct reader {
    const char *path;
    const marian *m;
    const char **token; // [count] by ids of the folder; NULL: a row without a token
    char *added;        // [count] not 0: found anywhere in a text; SPECIAL: not written
    size_t count;       // rows of the table
} reader;

enum { ADDED = 1, SPECIAL };

/* Returns whether a token has a meaning of its own: a language of M2M-100 or NLLB, or
 * one that training alone needs. Such tokens are never written. */
static bool is_special(const marian *m, const char *token)
{
    size_t size = 0;
    if (m->family == FAMILY_T5) {
        return strncmp(token, "<extra_id_", 10) == 0 || strcmp(token, "<s>") == 0;
    }
    return m->family != FAMILY_MARIAN &&
           (strcmp(token, "<s>") == 0 || strcmp(token, "<mask>") == 0 ||
            cla_translation_language_in(m->family, token, &size));
}

/* Enters a token under its id. */
static cla_status note(const reader *r, const char *token, const json_t *id)
{
    const json_int_t at = json_integer_value(id);
    if (!json_is_integer(id) || at < 0 || (size_t)at >= r->count) {
        return cla_fail(CLA_E_INPUT,
                        "%s: token '%.80s': its id must be a number from 0 to %zu",
                        r->path, token, r->count - 1);
    }
    if (r->token[at]) {
        return cla_fail(CLA_E_INPUT, "%s: tokens '%.80s' and '%.80s' have one id, %lld",
                        r->path, r->token[at], token, (long long)at);
    }
    r->token[at] = token;
    r->added[at] = is_special(r->m, token) ? SPECIAL : 0;
    return CLA_OK;
}

/* ---- added tokens ------------------------------------------------------------ */

/* Returns whether a setting of the tokenizer lists the token. */
static bool lists(const marian *m, const char *key, const char *token)
{
    const json_t *list = json_object_get(m->tokenizer.values, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *text = json_string_value(item);
        text = text ? text : json_string_value(json_object_get(item, "content"));
        if (text && strcmp(text, token) == 0) {
            return true;
        }
    }
    return false;
}

/* Enters an added token. One whose id is no row of the table cannot be translated, and
 * is text. */
static cla_status add_token(const reader *r, const char *token, json_int_t id,
                            bool special)
{
    if (cla_is_special_name(token) || !*token) {
        return CLA_OK;
    }
    if (id < 0 || (size_t)id >= r->count) {
        cla_log(CLA_LOG_WARN,
                "%s: added token '%s' has id %lld, the table %zu rows: "
                "it is left out",
                r->m->dir, token, (long long)id, r->count);
        return CLA_OK;
    }
    if (r->token[id] && strcmp(r->token[id], token) != 0) {
        return cla_fail(CLA_E_INPUT,
                        "%s: tokens '%.80s' and '%.80s', an added one, have one id, "
                        "%lld",
                        r->path, r->token[id], token, (long long)id);
    }
    special = special || lists(r->m, "additional_special_tokens", token) ||
              lists(r->m, "extra_special_tokens", token);
    r->token[id] = token;
    r->added[id] = special ? SPECIAL : ADDED;
    return CLA_OK;
}

/* Enters a token of added_tokens_decoder, whose ids are keys. */
static cla_status add_described(const reader *r, const char *key, const json_t *token)
{
    static const char *const flags[] = { "lstrip", "rstrip", "single_word" };
    const char *content = json_string_value(json_object_get(token, "content"));
    int64_t id = -1;
    if (!content || !cla_parse_int(key, &id)) {
        return cla_fail(CLA_E_INPUT,
                        "%s: added_tokens_decoder: '%.80s' is no id of a "
                        "token with 'content'",
                        r->m->tokenizer.path, key);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (json_is_true(json_object_get(token, flags[i])) &&
            !cla_is_special_name(content) && strcmp(content, "<mask>") != 0) {
            return cla_fail(CLA_E_INPUT, "%s: added token '%.80s': %s is not read",
                            r->m->tokenizer.path, content, flags[i]);
        }
    }
    return add_token(r, content, id, json_is_true(json_object_get(token, "special")));
}

/* Enters the tokens that were added to the tokenizer. */
static cla_status note_added(const reader *r)
{
    const marian *m = r->m;
    json_t *described = json_object_get(m->tokenizer.values, "added_tokens_decoder");
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(m->added.values, key, value)
    {
        if (!json_is_integer(value)) {
            return cla_fail(CLA_E_INPUT, "%s: token '%.80s': its id is no number",
                            m->added.path, key);
        }
        CLA_TRY(add_token(r, key, json_integer_value(value), false));
    }
    json_object_foreach(described, key, value)
    {
        CLA_TRY(add_described(r, key, value));
    }
    return CLA_OK;
}

/* ---- the order of pieces ------------------------------------------------------- */

static cla_status check_special(const reader *r, int id, const char *want)
{
    const char *token = r->token[id];
    return token && strcmp(token, want) == 0
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: id %d is '%.80s', must be '%s'", r->path,
                          id, token ? token : "", want);
}

/* Returns the id in the folder of the token of this name, or -1. */
static int find(const reader *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->token[i] && strcmp(r->token[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Adds a row of the table; those that no text reaches come first. */
static cla_status add(marian_pieces *p, const reader *r, int id, bool reserved)
{
    cla_vocab *v = &p->vocab;
    const char *token = r->token[id];
    const size_t before = v->count;
    p->from[before] = id;
    CLA_TRY(reserved ? cla_vocab_reserve(v, token ? token : "")
                     : cla_vocab_add(v, token, 0, NULL));
    p->prefixes = p->prefixes || (token && cla_subwords_is_prefix(token));
    return v->count > before
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: token '%.80s' has two ids, one of them %d",
                          r->path, token, id);
}

/* Adds the rows of one kind: those without a token (NULL), with an added one, or with
 * any other, but for the three special ones. */
static cla_status add_rows(marian_pieces *p, const reader *r, bool tokens, int added)
{
    for (int i = 0; i < (int)r->count; i++) {
        const bool fits = tokens == (r->token[i] != NULL) && r->added[i] == added;
        const bool special =
            i == p->from[CLA_PAD] || i == p->from[CLA_EOS] || i == p->from[CLA_UNK];
        CLA_TRY(fits && !special ? add(p, r, i, !tokens || added == SPECIAL) : CLA_OK);
    }
    return CLA_OK;
}

/* Sorts pieces as in all vocabularies of clattn: the special tokens first. */
static cla_status arrange(marian_pieces *p, const reader *r)
{
    const int unknown = find(r, cla_special_names[CLA_UNK]);
    CLA_TRY(r->m->family == FAMILY_T5
                ? CLA_OK // MADLAD pads with <s>
                : check_special(r, r->m->pad, cla_special_names[CLA_PAD]));
    CLA_TRY(check_special(r, r->m->end, cla_special_names[CLA_EOS]));
    if (unknown < 0) {
        return cla_fail(CLA_E_INPUT, "%s: token '%s' is missing", r->path,
                        cla_special_names[CLA_UNK]);
    }
    CLA_TRY(cla_alloc(&p->from, r->count, sizeof *p->from));
    const int specials[CLA_SPECIALS] = {
        [CLA_PAD] = r->m->pad, [CLA_EOS] = r->m->end, [CLA_UNK] = unknown
    };
    for (int i = 0; i < CLA_SPECIALS; i++) {
        r->token[specials[i]] = cla_special_names[i];
        CLA_TRY(add(p, r, specials[i], true));
    }
    CLA_TRY(add_rows(p, r, false, 0));
    const size_t silent = p->vocab.specials;
    CLA_TRY(add_rows(p, r, true, SPECIAL));
    p->vocab.added_specials = p->vocab.specials - silent;
    CLA_TRY(add_rows(p, r, true, 0));
    const size_t others = p->vocab.count;
    CLA_TRY(add_rows(p, r, true, ADDED));
    p->vocab.added = p->vocab.count - others;
    if (silent > CLA_SPECIALS) {
        cla_log(CLA_LOG_INFO, "%s: %zu of %zu rows of the table have no token", r->path,
                silent - CLA_SPECIALS, r->count);
    }
    return CLA_OK;
}

static cla_status read_tokens(reader *r, marian_pieces *p, json_t *root, int pieces)
{
    const char *token = NULL;
    json_t *id = NULL;
    const size_t tokens = json_object_size(root);
    r->count = (size_t)pieces;
    if (!json_is_object(root) || tokens > r->count) {
        return cla_fail(CLA_E_INPUT, "%s: has %zu tokens, config.json says %d", r->path,
                        tokens, pieces);
    }
    CLA_TRY(cla_alloc(&r->token, r->count + 1, sizeof *r->token));
    CLA_TRY(cla_alloc(&r->added, r->count + 1, sizeof *r->added));
    cla_status status = CLA_OK;
    json_object_foreach(root, token, id)
    {
        // cppcheck-suppress knownConditionTrueFalse; it does not see the loop
        status = status ? status : note(r, token, id);
    }
    CLA_TRY(status);
    CLA_TRY(note_added(r));
    return arrange(p, r);
}

cla_status cla_marian_arrange(const marian *m, marian_pieces *p, const char *path,
                              json_t *tokens, int pieces)
{
    reader r = { .path = path, .m = m };
    const cla_status status = read_tokens(&r, p, tokens, pieces);
    free(r.token);
    free(r.added);
    return status;
}

/* Reads the pieces of a folder without vocab.json. */
static cla_status read_numbered(const marian *m, marian_pieces *p)
{
    json_t *tokens = NULL;
    cla_text path = { 0 };
    cla_status status = cla_nllb_tokens(m, &tokens);
    status = status ? status
                    : cla_text_add(&path, "%s/%s", m->dir, cla_marian_pieces_file(m));
    status =
        status ? status : cla_marian_arrange(m, p, path.data, tokens, m->source_pieces);
    cla_text_free(&path);
    json_decref(tokens);
    return status;
}

static cla_status read_vocab(const marian *m, marian_pieces *p, const char *name,
                             int pieces)
{
    cla_text path = { 0 };
    json_t *root = NULL;
    CLA_TRY(cla_marian_check_file(m->dir, name));
    cla_status status = cla_text_add(&path, "%s/%s", m->dir, name);
    status = status ? status
                    : cla_json_file(&root, path.data, CLA_SOURCE_FILE,
                                    JSON_REJECT_DUPLICATES);
    status = status || m->family != FAMILY_M2M100 ? status
                                                  : cla_m2m100_add_languages(m, root);
    status = status ? status : cla_marian_arrange(m, p, path.data, root, pieces);
    json_decref(root);
    cla_text_free(&path);
    return status;
}

cla_status cla_marian_read_pieces(marian *m)
{
    if (m->family == FAMILY_NLLB || m->family == FAMILY_MBART) {
        return read_numbered(m, &m->source);
    }
    if (m->family == FAMILY_T5) {
        CLA_TRY(read_numbered(m, &m->source));
        return cla_t5_find_start(m, "decoder_start_token_id");
    }
    CLA_TRY(read_vocab(m, &m->source, "vocab.json", m->source_pieces));
    if (m->separate) {
        return read_vocab(m, &m->target, "target_vocab.json", m->target_pieces);
    }
    return m->target_pieces == m->source_pieces
               ? CLA_OK
               : cla_fail(
                     CLA_E_INPUT,
                     "%s: decoder_vocab_size is %d and vocab_size %d, but there is "
                     "one vocabulary",
                     m->config.path, m->target_pieces, m->source_pieces);
}

const marian_pieces *cla_marian_target(const marian *m)
{
    return m->separate ? &m->target : &m->source;
}
