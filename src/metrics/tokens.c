/* tokens.c - splits lines into the tokens that a metric counts. */
#include "metrics/tokens.h"

#include <string.h>

#include "base/utf8.h"
#include "metrics/rules.h"
#include "text/vocab.h"

struct cla_tokenizer {
    cla_token_kind kind;
    bool lowercase;
    cla_rules *rules; // NULL: none
    cla_vocab words;
    cla_text line, tokens; // scratch
};

/* sacreBLEU's tokenizer_13a and tokenizer_re, for a line with a blank at each end. */
static const cla_rule rules_13a[] = {
    { "<skipped>", "" },
    { "&quot;", "\"" },
    { "&amp;", "&" },
    { "&lt;", "<" },
    { "&gt;", ">" },
    { "([\\{-\\~\\[-\\` -\\&\\(-\\+\\:-\\@\\/])", " $1 " },
    { "([^0-9])([\\.,])", "$1 $2 " }, // a period or comma not after a digit
    { "([\\.,])([^0-9])", " $1 $2" }, // ... not before one
    { "([0-9])(-)", "$1 $2 " },       // a dash after one
    { NULL, NULL },
};

/* sacreBLEU's tokenizer_intl (mteval-v14). */
static const cla_rule rules_intl[] = {
    { "(\\P{N})(\\p{P})", "$1 $2 " },
    { "(\\p{P})(\\P{N})", " $1 $2" },
    { "(\\p{S})", " $1 " },
    { NULL, NULL },
};

const char *cla_token_kind_name(cla_token_kind kind)
{
    static const char *const names[] = { "none", "13a", "intl", "char" };
    return names[kind];
}

cla_status cla_tokenizer_new(cla_tokenizer **out, cla_token_kind kind, bool lowercase)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->kind = kind;
    (*out)->lowercase = lowercase;
    cla_status status = CLA_OK;
    if (kind == CLA_TOKENS_13A || kind == CLA_TOKENS_INTL) {
        status = cla_rules_new(&(*out)->rules,
                               kind == CLA_TOKENS_13A ? rules_13a : rules_intl);
    }
    if (status) {
        cla_tokenizer_free(out);
    }
    return status;
}

void cla_tokenizer_free(cla_tokenizer **t)
{
    if (*t) {
        cla_rules_free(&(*t)->rules);
        cla_vocab_free(&(*t)->words);
        cla_text_free(&(*t)->line);
        cla_text_free(&(*t)->tokens);
    }
    free(*t);
    *t = NULL;
}

void cla_tokens_free(cla_tokens *tokens)
{
    free(tokens->id);
    *tokens = (cla_tokens){ 0 };
}

static cla_status put_lower(const char *line, size_t size, cla_text *out)
{
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        char lower[5];
        at += (size_t)cla_utf8_next(line + at, &code);
        const int bytes = cla_utf8_put(cla_utf8_lower(code), lower);
        CLA_TRY(cla_text_append(out, lower, (size_t)bytes));
    }
    return CLA_OK;
}

/* Appends the tokens of text to out: runs without blanks, or single characters. */
static cla_status part(const cla_text *text, bool single, cla_text *out)
{
    bool inside = false;
    for (size_t at = 0; at < text->size;) {
        int32_t code = 0;
        const size_t bytes = (size_t)cla_utf8_next(text->data + at, &code);
        const bool token = !cla_utf8_is_space(code);
        if (token) {
            const bool first = !inside || single;
            CLA_TRY(cla_text_append(out, " ", first && out->size));
            CLA_TRY(cla_text_append(out, text->data + at, bytes));
        }
        inside = token;
        at += bytes;
    }
    return CLA_OK;
}

cla_status cla_tokenize(cla_tokenizer *t, const char *line, size_t size, cla_text *out)
{
    const char *edge = t->kind == CLA_TOKENS_13A ? " " : "";
    t->line.size = 0;
    out->size = 0;
    CLA_TRY(cla_text_append(out, "", 0));
    CLA_TRY(cla_text_append(&t->line, edge, strlen(edge)));
    CLA_TRY(t->lowercase ? put_lower(line, size, &t->line)
                         : cla_text_append(&t->line, line, size));
    CLA_TRY(cla_text_append(&t->line, edge, strlen(edge)));
    CLA_TRY(t->rules ? cla_rules_apply(t->rules, &t->line) : CLA_OK);
    return part(&t->line, t->kind == CLA_TOKENS_CHAR, out);
}

cla_status cla_tokenize_ids(cla_tokenizer *t, const char *line, size_t size,
                            cla_tokens *tokens)
{
    tokens->count = 0;
    CLA_TRY(cla_tokenize(t, line, size, &t->tokens));
    for (char *at = t->tokens.data, *next = NULL; at && *at; at = next) {
        int id = 0;
        char *blank = strchr(at, ' ');
        next = blank ? blank + 1 : NULL;
        if (blank) {
            *blank = 0;
        }
        CLA_TRY(cla_vocab_add(&t->words, at, 1, &id));
        CLA_TRY(
            cla_grow(&tokens->id, &tokens->cap, tokens->count + 1, sizeof *tokens->id));
        tokens->id[tokens->count++] = id;
    }
    return CLA_OK;
}
