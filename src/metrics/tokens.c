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
    static const char *const names[] = { "none", "13a", "intl", "char", "ascii" };
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

static cla_status put_lower_ascii(const char *line, size_t size, cla_text *out)
{
    const size_t from = out->size;
    CLA_TRY(cla_text_append(out, line, size));
    for (size_t i = from; i < out->size; i++) {
        const char byte = out->data[i];
        out->data[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
    }
    return CLA_OK;
}

static cla_status put_line(const cla_tokenizer *t, const char *line, size_t size,
                           cla_text *out)
{
    if (!t->lowercase) {
        return cla_text_append(out, line, size);
    }
    return t->kind == CLA_TOKENS_ASCII ? put_lower_ascii(line, size, out)
                                       : cla_utf8_lower_text(line, size, out);
}

static bool is_blank(const cla_tokenizer *t, int32_t code)
{
    return t->kind == CLA_TOKENS_ASCII ? code == ' ' || (code >= '\t' && code <= '\r')
                                       : cla_utf8_is_space(code);
}

/* Returns the size of the line without the blanks at its end. sacreBLEU strips these
 * before it applies rules: only then does intl keep "1990." at the end of a line whole.
 */
static size_t without_end(const cla_tokenizer *t, const char *line, size_t size)
{
    size_t kept = 0;
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        at += (size_t)cla_utf8_step(line + at, size - at, &code);
        kept = is_blank(t, code) ? kept : at;
    }
    return kept;
}

/* Appends the tokens of t->line to out: runs without blanks, or single characters. */
static cla_status part(const cla_tokenizer *t, cla_text *out)
{
    const bool single = t->kind == CLA_TOKENS_CHAR;
    const cla_text *text = &t->line;
    bool inside = false;
    for (size_t at = 0; at < text->size;) {
        int32_t code = 0;
        const size_t bytes = (size_t)cla_utf8_next(text->data + at, &code);
        const bool token = !is_blank(t, code);
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
    CLA_TRY(put_line(t, line, without_end(t, line, size), &t->line));
    CLA_TRY(cla_text_append(&t->line, edge, strlen(edge)));
    CLA_TRY(t->rules ? cla_rules_apply(t->rules, &t->line) : CLA_OK);
    return part(t, out);
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
