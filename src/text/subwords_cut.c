/* subwords_cut.c - cuts lines into pieces. */
#include <string.h>

#include "base/platform.h"
#include "text/split.h"
#include "text/subwords.h"

cla_status cla_pieces_give(cla_text *pieces, char end, cla_take_piece *take, void *to)
{
    char *last = pieces->data ? pieces->data + pieces->size : NULL;
    for (char *at = pieces->data, *stop; at < last; at = stop + 1) {
        stop = memchr(at, end, (size_t)(last - at));
        stop = stop ? stop : last;
        *stop = 0;
        CLA_TRY(*at ? take(to, at, -1) : CLA_OK); // may be empty at a line's ends
    }
    return CLA_OK;
}

/* Returns the bytes of ">>x<<" at the start of a line, to the first "<<"; 0: none. */
static size_t prefix_size(const char *line, size_t size)
{
    const bool begins = size >= 4 && memcmp(line, ">>", 2) == 0;
    const char *end = begins ? cla_os_find(line, size, "<<", 2) : NULL;
    return end ? (size_t)(end + 2 - line) : 0;
}

size_t cla_subwords_tag(const char *line, size_t size)
{
    enum { BEGIN = 2, LONGEST = 40 };
    size_t at = BEGIN;
    while (at < size && at < LONGEST && !strchr("<> \t", line[at])) {
        at++;
    }
    return size > BEGIN && memcmp(line, "<2", BEGIN) == 0 && at > BEGIN && at < size &&
                   line[at] == '>'
               ? at + 1
               : 0;
}

size_t cla_subwords_prefix(const cla_subwords *s, const char *line, size_t size)
{
    return s->prefix   ? prefix_size(line, size)
           : s->tagged ? cla_subwords_tag(line, size)
                       : 0;
}

bool cla_subwords_is_prefix(const char *piece)
{
    const size_t size = strlen(piece), prefix = prefix_size(piece, size);
    return prefix > 4 && prefix == size;
}

/* Takes the prefix of *line, if any, as a piece, and moves *line past it. */
static cla_status cut_prefix(const char **line, size_t *size, cla_take_piece *take,
                             void *to)
{
    const size_t prefix = prefix_size(*line, *size);
    cla_text piece = { 0 };
    if (!prefix) {
        return CLA_OK;
    }
    cla_status status = cla_text_append(&piece, *line, prefix);
    status = status ? status : take(to, piece.data, -1);
    cla_text_free(&piece);
    *line += prefix;
    *size -= prefix;
    return status;
}

typedef struct receiver {
    cla_take_piece *take;
    void *to;
} receiver;

/* Gives a piece of byte pairs; one that spells a special token as its letters, so that
 * no piece has such a name, here or in the files of other programs. */
static cla_status take_pair(void *to, const char *piece, int id)
{
    const receiver *r = to;
    if (!cla_is_special_name(piece)) {
        return r->take(r->to, piece, id);
    }
    for (; *piece; piece++) {
        const char letter[] = { *piece, piece[1] ? '@' : 0, '@', 0 };
        CLA_TRY(r->take(r->to, letter, -1));
    }
    return CLA_OK;
}

/* Cuts text without added tokens. */
static cla_status cut_text(const cla_subwords *s, const char *line, size_t size,
                           cla_take_piece *take, void *to)
{
    cla_text tokens = { 0 }, pieces = { 0 };
    cla_status status = s->prefix ? cut_prefix(&line, &size, take, to) : CLA_OK;
    CLA_TRY(status);
    if (s->kind == CLA_PIECES_SPLIT) {
        status = cla_split(line, size, &tokens);
        line = tokens.data;
        size = tokens.size;
    }
    if (s->kind == CLA_PIECES_MODEL) {
        status = cla_sentencepiece_apply(s->model, line, size, &pieces);
        status = status ? status : cla_pieces_give(&pieces, 0, take, to);
    } else {
        receiver r = { take, to };
        status = status ? status : cla_bpe_apply(&s->bpe, line, size, &pieces);
        status = status ? status : cla_pieces_give(&pieces, ' ', take_pair, &r);
    }
    cla_text_free(&tokens);
    cla_text_free(&pieces);
    return status;
}

/* Cuts the text before an added token, then takes that. */
static cla_status cut_before(const cla_subwords *s, const char *text, size_t size,
                             int id, cla_take_piece *take, void *to)
{
    CLA_TRY(size ? cut_text(s, text, size, take, to) : CLA_OK);
    return take(to, s->vocab.tokens[id], id);
}

/* As MarianTokenizer does, finds added tokens anywhere; what is between them is cut as
 * a line of its own. */
cla_status cla_subwords_cut(const cla_subwords *s, const char *line, size_t size,
                            cla_take_piece *take, void *to)
{
    size_t from = 0;
    const bool any = s->vocab.added || s->vocab.added_specials;
    for (size_t at = 0; at < size && any;) {
        int id = 0;
        const size_t bytes = cla_vocab_added(&s->vocab, line + at, size - at, &id);
        CLA_TRY(bytes ? cut_before(s, line + from, at - from, id, take, to) : CLA_OK);
        at += bytes ? bytes : 1;
        from = bytes ? at : from;
    }
    return from == 0 || from < size ? cut_text(s, line + from, size - from, take, to)
                                    : CLA_OK;
}
