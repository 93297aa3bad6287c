/* import_vocab.c - reads vocab.json of a Hugging Face MarianMT folder. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "exchange/import_marian.h"
#include "train/folder.h"

/* A vocabulary while it is read. */
typedef struct reader {
    const char *path;
    const marian *m;
    const char **token; // [count] by ids of the folder
    size_t count;
} reader;

/* Enters a token under its id. Tokens become lines of a file, and blanks separate the
 * pieces of a line, so tokens may contain neither. */
static cla_status note(const reader *r, const char *token, const json_t *id)
{
    if (strpbrk(token, " \n\r")) {
        return cla_fail(CLA_E_INPUT, "%s: a token holds a blank or a line end",
                        r->path);
    }
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
    return CLA_OK;
}

static cla_status check_special(const reader *r, int id, const char *want)
{
    return strcmp(r->token[id], want) == 0
               ? CLA_OK
               : cla_fail(CLA_E_INPUT, "%s: id %d is '%.80s', must be '%s'", r->path,
                          id, r->token[id], want);
}

/* Returns the id in the folder of the token of this name, or -1. */
static int find(const reader *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->token[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static cla_status add(marian_pieces *p, const reader *r, int id)
{
    p->from[p->vocab.count] = id;
    return cla_vocab_add(&p->vocab, r->token[id], 0, NULL);
}

/* Sorts pieces as in all vocabularies of clattn: the special tokens first. */
static cla_status arrange(marian_pieces *p, const reader *r)
{
    const int unknown = find(r, cla_special_names[CLA_UNK]);
    CLA_TRY(check_special(r, r->m->pad, cla_special_names[CLA_PAD]));
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
        CLA_TRY(add(p, r, specials[i]));
    }
    for (int i = 0; i < (int)r->count; i++) {
        const bool special = i == r->m->pad || i == r->m->end || i == unknown;
        CLA_TRY(special ? CLA_OK : add(p, r, i));
    }
    return CLA_OK;
}

static cla_status read_tokens(reader *r, marian_pieces *p, json_t *root, int pieces)
{
    const char *token = NULL;
    json_t *id = NULL;
    r->count = json_object_size(root);
    if (!json_is_object(root) || r->count != (size_t)pieces) {
        return cla_fail(CLA_E_INPUT, "%s: has %zu tokens, config.json says %d", r->path,
                        r->count, pieces);
    }
    CLA_TRY(cla_alloc(&r->token, r->count + 1, sizeof *r->token));
    cla_status status = CLA_OK;
    json_object_foreach(root, token, id)
    {
        // cppcheck-suppress knownConditionTrueFalse; it does not see the loop
        status = status ? status : note(r, token, id);
    }
    CLA_TRY(status); // as many ids as tokens, none twice: none is missing
    return arrange(p, r);
}

cla_status marian_arrange(const marian *m, marian_pieces *p, const char *path,
                          json_t *tokens, int pieces)
{
    reader r = { .path = path, .m = m };
    const cla_status status = read_tokens(&r, p, tokens, pieces);
    free(r.token);
    return status;
}

static cla_status read_vocab(const marian *m, marian_pieces *p, const char *name,
                             int pieces)
{
    cla_text path = { 0 };
    json_t *root = NULL;
    CLA_TRY(marian_check_file(m->dir, name));
    cla_status status = cla_text_add(&path, "%s/%s", m->dir, name);
    status = status ? status
                    : cla_json_file(&root, path.data, CLA_SOURCE_FILE,
                                    JSON_REJECT_DUPLICATES);
    status = status ? status : marian_arrange(m, p, path.data, root, pieces);
    json_decref(root);
    cla_text_free(&path);
    return status;
}

cla_status marian_read_pieces(marian *m)
{
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

const marian_pieces *marian_target(const marian *m)
{
    return m->separate ? &m->target : &m->source;
}
