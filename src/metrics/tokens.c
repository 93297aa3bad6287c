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

/* sacreBLEU's tokenizer_13a, for a line with a blank at each end; from FIRST_OF_RE on,
 * tokenizer_re. */
enum { FIRST_OF_RE = 5 };
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
    static const char *const names[] = { "none", "13a",   "intl", "char",
                                         "zh",   "ascii", "none" };
    return names[kind];
}

cla_status cla_tokenizer_new(cla_tokenizer **out, cla_token_kind kind, bool lowercase)
{
    CLA_TRY(cla_alloc(out, 1, sizeof **out));
    (*out)->kind = kind;
    (*out)->lowercase = lowercase;
    const cla_rule *rules = kind == CLA_TOKENS_13A    ? rules_13a
                            : kind == CLA_TOKENS_ZH   ? rules_13a + FIRST_OF_RE
                            : kind == CLA_TOKENS_INTL ? rules_intl
                                                      : NULL;
    const cla_status status = rules ? cla_rules_new(&(*out)->rules, rules) : CLA_OK;
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

/* Returns whether zh makes a token of a character: sacreBLEU's ranges as its code reads
 * them. There "\u20000" is U+2000 and a "0", so its two last ranges are U+2001 to
 * U+2A6D and U+2F81 to U+2FA1, and ideographs beyond U+FFFF belong to none. */
static bool is_chinese(int32_t code)
{
    static const int32_t ranges[][2] = {
        { 0x3400, 0x4DB5 }, { 0x4E00, 0x9FBB }, { 0xF900, 0xFA2D }, { 0xFA30, 0xFA6A },
        { 0xFA70, 0xFAD9 }, { 0xFF00, 0xFFEF }, { 0x2E80, 0x2EFF }, { 0x3000, 0x303F },
        { 0x31C0, 0x31EF }, { 0x2F00, 0x2FDF }, { 0x2FF0, 0x2FFF }, { 0x3100, 0x312F },
        { 0x31A0, 0x31BF }, { 0xFE10, 0xFE1F }, { 0xFE30, 0xFE4F }, { 0x2600, 0x27BF },
        { 0x3200, 0x33FF }, { 0x2001, 0x2A6D }, { 0x2F81, 0x2FA1 },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (code >= ranges[i][0] && code <= ranges[i][1]) {
            return true;
        }
    }
    return false;
}

/* Removes blanks at the start of t->line and puts blanks around Chinese characters. */
static cla_status part_chinese(cla_tokenizer *t)
{
    cla_text out = { 0 };
    cla_status status = cla_text_append(&out, "", 0);
    for (size_t at = 0; at < t->line.size && !status;) {
        int32_t code = 0;
        const char *letter = t->line.data + at;
        const size_t bytes = (size_t)cla_utf8_next(letter, &code);
        const bool alone = is_chinese(code);
        at += bytes;
        if (!out.size && cla_utf8_is_space(code)) {
            continue;
        }
        status = cla_text_append(&out, " ", alone);
        status = status ? status : cla_text_append(&out, letter, bytes);
        status = status ? status : cla_text_append(&out, " ", alone);
    }
    cla_text_free(&t->line);
    t->line = out;
    return status;
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
    if (t->kind == CLA_TOKENS_SPACES) {
        return put_line(t, line, size, out);
    }
    CLA_TRY(cla_text_append(&t->line, edge, strlen(edge)));
    CLA_TRY(put_line(t, line, without_end(t, line, size), &t->line));
    CLA_TRY(cla_text_append(&t->line, edge, strlen(edge)));
    CLA_TRY(t->kind == CLA_TOKENS_ZH ? part_chinese(t) : CLA_OK);
    CLA_TRY(t->rules ? cla_rules_apply(t->rules, &t->line) : CLA_OK);
    return part(t, out);
}

cla_status cla_tokenize_ids(cla_tokenizer *t, const char *line, size_t size,
                            cla_tokens *tokens)
{
    const bool empty = t->kind == CLA_TOKENS_SPACES; // words may be empty
    tokens->count = 0;
    CLA_TRY(cla_tokenize(t, line, size, &t->tokens));
    for (char *at = t->tokens.data, *next = NULL; at && (*at || empty); at = next) {
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
