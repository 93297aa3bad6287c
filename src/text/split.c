/* split.c - separates punctuation and ideographs from words; restores every byte. */
#include "text/split.h"

#include <string.h>

#include "base/utf8.h"

#define JOINER "\xEF\xBF\xAD" // U+FFED
#define ESCAPE "\xEF\xBC\x85" // U+FF05

enum {
    MARK_BYTES = 3,
    ESCAPE_BYTES = MARK_BYTES + 4,
    JOINER_CODE = 0xFFED,
    ESCAPE_CODE = 0xFF05
};

/* The kind of a character at the end of a token. */
typedef enum kind { NOTHING, WORD, PUNCTUATION, IDEOGRAPH, ESCAPED } kind;

static kind kind_of(int32_t code)
{
    if (code == JOINER_CODE || code == ESCAPE_CODE) {
        return ESCAPED;
    }
    switch (cla_utf8_kind_of(code)) {
    case CLA_UTF8_PUNCTUATION:
        return PUNCTUATION;
    case CLA_UTF8_IDEOGRAPH:
        return IDEOGRAPH;
    case CLA_UTF8_BLANK:
        return ESCAPED;
    default:
        return WORD;
    }
}

/* Returns whether tokens with these ends are joined in the text without a joiner. */
static bool touch(kind left, kind right)
{
    return left == NOTHING || right == NOTHING || left == ESCAPED || right == ESCAPED ||
           (left == IDEOGRAPH && right == IDEOGRAPH);
}

/* ---- cutting ----------------------------------------------------------------- */

/* The last character that was written. */
typedef struct tail {
    kind kind;
    int32_t code;
    bool blank; // a plain blank came after it
} tail;

/* Returns whether a character continues the last token. "@@" marks pieces of words, so
 * no token may end in it. */
static bool continues(const tail *last, kind here, int32_t code)
{
    if (last->blank || here != last->kind) {
        return false;
    }
    return here == WORD || (here == PUNCTUATION && code == last->code && code != '@');
}

/* Returns the blank, and the joiner if needed, to write between two tokens. */
static const char *boundary(const tail *last, kind here)
{
    if (last->kind == NOTHING) {
        return "";
    }
    if (last->blank || touch(last->kind, here)) {
        return " ";
    }
    return here == PUNCTUATION || last->kind == WORD ? " " JOINER : JOINER " ";
}

/* Returns whether the blank before rest needs no escape. */
static bool plain_blank(const tail *last, const char *rest, const char *end)
{
    int32_t code = 0;
    if (rest == end || last->blank) {
        return false;
    }
    cla_utf8_next(rest, &code);
    return !touch(last->kind, kind_of(code));
}

static cla_status put_character(tail *last, const char *at, int bytes, int32_t code,
                                cla_text *out)
{
    const kind here = kind_of(code);
    if (!continues(last, here, code)) {
        const char *between = boundary(last, here);
        CLA_TRY(cla_text_append(out, between, strlen(between)));
    }
    *last = (tail){ here, code, false };
    return here == ESCAPED ? cla_text_add(out, ESCAPE "%04x", (unsigned)code)
                           : cla_text_append(out, at, (size_t)bytes);
}

cla_status cla_split(const char *line, size_t size, cla_text *out)
{
    tail last = { 0 };
    const char *end = line + size;
    CLA_TRY(cla_text_append(out, "", 0));
    for (const char *at = line; at < end;) {
        int32_t code = 0;
        const int bytes = cla_utf8_next(at, &code);
        if (code == ' ' && plain_blank(&last, at + bytes, end)) {
            last.blank = true;
        } else {
            CLA_TRY(put_character(&last, at, bytes, code, out));
        }
        at += bytes;
    }
    return CLA_OK;
}

/* ---- restoring --------------------------------------------------------------- */

static bool is_mark(const char *at, const char *mark)
{
    return memcmp(at, mark, MARK_BYTES) == 0;
}

/* Returns the code of an escape; -1: not one. An escaped line end would split the line
 * and is not one. */
static int32_t escaped_code(const char *token, size_t size)
{
    char digits[5] = "";
    if (size != ESCAPE_BYTES || !is_mark(token, ESCAPE)) {
        return -1;
    }
    memcpy(digits, token + MARK_BYTES, 4);
    const bool number = strspn(digits, "0123456789abcdef") == 4;
    const int32_t code = number ? (int32_t)strtol(digits, NULL, 16) : 0;
    return code && code != '\n' && kind_of(code) == ESCAPED ? code : -1;
}

static kind first_kind(const char *token)
{
    int32_t code = 0;
    cla_utf8_next(token, &code);
    return kind_of(code);
}

static kind last_kind(const char *token, size_t size)
{
    const char *at = token + size - 1;
    while (at > token && (*at & 0xC0) == 0x80) {
        at--;
    }
    return first_kind(at);
}

/* A token: its text, and the kinds of its two ends. */
typedef struct piece {
    const char *text;
    size_t size;
    kind first, last;
    char decoded[5];
} piece;

static void read_piece(piece *p, const char *token, size_t size)
{
    const int32_t code = escaped_code(token, size);
    p->text = token;
    p->size = size;
    if (code >= 0) {
        p->size = (size_t)cla_utf8_put(code, p->decoded);
        p->text = p->decoded;
        p->first = p->last = ESCAPED;
    } else if (size) {
        p->first = first_kind(token);
        p->last = last_kind(token, size);
    } else {
        p->first = p->last = NOTHING;
    }
}

static cla_status put_token(tail *last, const char *token, size_t size, cla_text *out)
{
    const bool joined = size >= MARK_BYTES && is_mark(token, JOINER);
    token += joined ? MARK_BYTES : 0;
    size -= joined ? MARK_BYTES : 0;
    const bool joins = size >= MARK_BYTES && is_mark(token + size - MARK_BYTES, JOINER);
    piece p = { 0 };
    read_piece(&p, token, size - (joins ? MARK_BYTES : 0));
    // here, blank means that the text has a blank unless the two tokens touch
    if (last->blank && !joined && !touch(last->kind, p.first)) {
        CLA_TRY(cla_text_append(out, " ", 1));
    }
    last->blank = !joins && (p.size || (last->blank && !joined));
    last->kind = p.size ? p.last : last->kind;
    return cla_text_append(out, p.text, p.size);
}

cla_status cla_unsplit(const char *tokens, size_t size, cla_text *out)
{
    tail last = { 0 };
    const char *end = tokens + size;
    CLA_TRY(cla_text_append(out, "", 0));
    for (const char *at = tokens; at < end;) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        const size_t bytes = (size_t)((blank ? blank : end) - at);
        if (bytes) {
            CLA_TRY(put_token(&last, at, bytes, out));
        }
        at += bytes + 1;
    }
    return CLA_OK;
}
