/* codec.c - texts to the pieces of a tokenizer.json, and back. */
#include "text/codec.h"

#include <string.h>

#include "base/utf8.h"

static const char blank_mark[] = "\xe2\x96\x81"; // U+2581

enum { MARK = 3 };

void cla_codec_free(cla_codec *t)
{
    for (int i = 0; i < t->cutters; i++) {
        cla_cutter_free(&t->cutter[i]);
    }
    cla_vocab_free(&t->vocab);
    cla_bpe_free(&t->bpe);
    free(t->special);
    *t = (cla_codec){ 0 };
}

int32_t cla_codec_find(const cla_codec *t, const char *piece)
{
    return cla_vocab_find(&t->vocab, piece);
}

/* ---- bytes as letters --------------------------------------------------------- */

/* Returns the letter of a byte in pieces of bytes: itself where it is visible, else the
 * next from U+0100 on (Radford et al. 2019). */
static int32_t letter_of(int byte)
{
    static const int hidden[][2] = { { 0, 0x20 }, { 0x7f, 0xa0 }, { 0xad, 0xad } };
    int32_t before = 0x100;
    for (int i = 0; i < 3; i++) {
        if (byte >= hidden[i][0] && byte <= hidden[i][1]) {
            return before + byte - hidden[i][0];
        }
        before += hidden[i][1] - hidden[i][0] + 1;
    }
    return byte;
}

/* Returns the byte of a letter, or -1. */
static int byte_of(int32_t letter)
{
    enum { FIRST = 0x100, LAST = 0x143 };
    for (int i = 0; i < 256 && letter <= LAST; i++) {
        if (letter_of(i) == letter) {
            return i;
        }
    }
    return -1;
}

int cla_codec_letter(int byte, char out[5])
{
    return cla_utf8_put(letter_of(byte), out);
}

/* ---- text to pieces ----------------------------------------------------------- */

static cla_status put(cla_ids *ids, int32_t id)
{
    CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + 1, sizeof *ids->id));
    ids->id[ids->count++] = id;
    return CLA_OK;
}

static cla_status put_bytes(const cla_codec *t, const char *text, size_t size,
                            cla_ids *ids)
{
    for (size_t i = 0; i < size; i++) {
        const int32_t id = t->byte[(unsigned char)text[i]];
        CLA_TRY(id >= 0 ? put(ids, id) : CLA_OK);
    }
    return CLA_OK;
}

/* Adds the symbols of a character without a piece: its bytes if all of them have one,
 * else the unknown piece. */
static cla_status put_unknown(const cla_codec *t, const char *letter, size_t size,
                              bool *fused, cla_ids *ids)
{
    bool all = t->fallback;
    for (size_t i = 0; i < size; i++) {
        all = all && t->byte[(unsigned char)letter[i]] >= 0;
    }
    if (all) {
        *fused = false;
        return put_bytes(t, letter, size, ids);
    }
    const bool same = *fused && t->fuse;
    *fused = true;
    return t->unknown < 0 || same ? CLA_OK : put(ids, t->unknown);
}

static cla_status put_letters(const cla_codec *t, const char *text, size_t size,
                              cla_ids *ids)
{
    bool fused = false;
    for (size_t at = 0; at < size;) {
        char letter[5];
        int32_t code = 0;
        const size_t bytes = (size_t)cla_utf8_step(text + at, size - at, &code);
        cla_utf8_put(code, letter);
        const int32_t id = cla_vocab_find(&t->vocab, letter);
        if (id >= 0) {
            fused = false;
            CLA_TRY(put(ids, id));
        } else {
            CLA_TRY(put_unknown(t, letter, strlen(letter), &fused, ids));
        }
        at += bytes;
    }
    return CLA_OK;
}

/* Gives the number of a piece of text that is a piece of the vocabulary, or -1. */
static cla_status find_whole(const cla_codec *t, const char *text, size_t size,
                             int32_t *id)
{
    cla_text name = { 0 };
    char letter[5];
    cla_status status = CLA_OK;
    for (size_t i = 0; i < size && t->bytes && !status; i++) {
        const int n = cla_codec_letter((unsigned char)text[i], letter);
        status = cla_text_append(&name, letter, (size_t)n);
    }
    status = status || t->bytes ? status : cla_text_append(&name, text, size);
    *id = status || !name.data ? -1 : cla_vocab_find(&t->vocab, name.data);
    cla_text_free(&name);
    return status;
}

/* Cuts a piece of text into symbols and merges them. */
static cla_status merge(const cla_codec *t, const char *text, size_t size, cla_ids *ids)
{
    const size_t first = ids->count;
    int32_t id = -1;
    CLA_TRY(t->whole ? find_whole(t, text, size, &id) : CLA_OK);
    if (id >= 0 && !t->special[id]) {
        return put(ids, id);
    }
    CLA_TRY((t->bytes ? put_bytes : put_letters)(t, text, size, ids));
    size_t count = ids->count - first;
    if (count) {
        CLA_TRY(cla_bpe_merge(&t->bpe, ids->id + first, &count));
    }
    ids->count = first + count;
    return CLA_OK;
}

/* Cuts a text by the first pattern, its pieces by the second and so on: the piece of
 * level i lies in begin[i] .. end[i]. */
static cla_status cut(const cla_codec *t, const char *text, size_t size, cla_ids *ids)
{
    size_t begin[CLA_CODEC_CUTTERS + 1] = { 0 }, end[CLA_CODEC_CUTTERS + 1] = { size };
    int level = 0;
    for (size_t at = 0; at < size;) {
        for (; level < t->cutters; level++) {
            const size_t from = begin[level];
            size_t next = 0;
            CLA_TRY(cla_cutter_next(t->cutter[level], text + from, end[level] - from,
                                    at - from, &next));
            begin[level + 1] = at;
            end[level + 1] = from + next;
        }
        CLA_TRY(merge(t, text + at, end[level] - at, ids));
        at = end[level];
        while (level && at == end[level]) {
            level--;
        }
    }
    return CLA_OK;
}

/* Cuts a text in front of each U+2581. */
static cla_status cut_words(const cla_codec *t, const char *text, size_t size,
                            cla_ids *ids)
{
    size_t begin = 0;
    for (size_t at = MARK; at + MARK <= size && t->words; at++) {
        if (memcmp(text + at, blank_mark, MARK) == 0) {
            CLA_TRY(cut(t, text + begin, at - begin, ids));
            begin = at;
        }
    }
    return cut(t, text + begin, size - begin, ids);
}

/* Writes U+2581 for blanks. */
static cla_status mark(const cla_codec *t, const char *text, size_t size, cla_text *out)
{
    const bool has = size && (*text == ' ' || (t->blanks && size >= MARK &&
                                               memcmp(text, blank_mark, MARK) == 0));
    const char *front = t->blanks ? blank_mark : " ";
    CLA_TRY(t->front && size && !(t->once && has)
                ? cla_text_append(out, front, strlen(front))
                : CLA_OK);
    for (size_t at = 0, end = 0; at < size; at = end + 1) {
        const char *blank = t->blanks ? memchr(text + at, ' ', size - at) : NULL;
        end = blank ? (size_t)(blank - text) : size;
        CLA_TRY(cla_text_append(out, text + at, end - at));
        CLA_TRY(blank ? cla_text_append(out, blank_mark, MARK) : CLA_OK);
    }
    return CLA_OK;
}

cla_status cla_codec_encode(const cla_codec *t, const char *text, size_t size,
                            cla_ids *ids)
{
    cla_text marked = { 0 };
    if (!t->blanks && !t->front) {
        return cut(t, text, size, ids);
    }
    cla_status status = mark(t, text, size, &marked);
    status =
        status || !marked.size ? status : cut_words(t, marked.data, marked.size, ids);
    cla_text_free(&marked);
    return status;
}

/* ---- pieces to text ----------------------------------------------------------- */

int cla_codec_hex(const char *piece)
{
    static const char digits[] = "0123456789ABCDEF";
    if (strlen(piece) != 6 || memcmp(piece, "<0x", 3) != 0 || piece[5] != '>') {
        return -1;
    }
    const char *high = strchr(digits, piece[3]), *low = strchr(digits, piece[4]);
    return high && low ? (int)(16 * (high - digits) + (low - digits)) : -1;
}

static cla_status decode_bytes(const char *piece, cla_text *out)
{
    while (*piece) {
        int32_t letter = 0;
        piece += cla_utf8_next(piece, &letter);
        const int byte = byte_of(letter);
        const char one = (char)byte;
        CLA_TRY(byte < 0 ? CLA_OK : cla_text_append(out, &one, 1));
    }
    return CLA_OK;
}

static cla_status decode_marks(const cla_codec *t, const char *piece, cla_text *out)
{
    const int byte = t->fallback ? cla_codec_hex(piece) : -1;
    const char one = (char)byte;
    if (byte >= 0) {
        return cla_text_append(out, &one, 1);
    }
    while (*piece) {
        const bool is_mark = t->blanks && strncmp(piece, blank_mark, MARK) == 0;
        CLA_TRY(cla_text_append(out, is_mark ? " " : piece, 1));
        piece += is_mark ? MARK : 1;
    }
    return CLA_OK;
}

cla_status cla_codec_decode(const cla_codec *t, int32_t id, cla_text *out)
{
    CLA_TRY(cla_text_append(out, "", 0));
    if (id < 0 || (size_t)id >= t->vocab.count || t->special[id]) {
        return CLA_OK;
    }
    const char *piece = t->vocab.tokens[id];
    return t->bytes ? decode_bytes(piece, out) : decode_marks(t, piece, out);
}
