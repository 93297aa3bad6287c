/* subwords.c - converts lines to ids of their pieces and back. */
#include "text/subwords.h"

#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "text/split.h"

#define WORD_END "</w>"

void cla_subwords_free(cla_subwords *s)
{
    cla_text_free(&s->codes);
    cla_bpe_free(&s->bpe);
    cla_sentencepiece_free(&s->model);
    cla_vocab_free(&s->vocab);
    *s = (cla_subwords){ 0 };
}

void cla_ids_free(cla_ids *ids)
{
    free(ids->id);
    *ids = (cla_ids){ 0 };
}

/* ---- merges ------------------------------------------------------------------ */

/* Parses s->codes into merges or a model of SentencePiece. */
static cla_status use_codes(cla_subwords *s, const char *path)
{
    if (s->kind == CLA_PIECES_MODEL) {
        return cla_sentencepiece_new(&s->model, path, s->codes.data, s->codes.size);
    }
    cla_text copy = { 0 }; // parsing modifies it
    CLA_TRY(cla_text_append(&copy, s->codes.data, s->codes.size));
    const cla_status status = cla_bpe_parse(&s->bpe, path, copy.data, copy.size);
    cla_text_free(&copy);
    return status;
}

static cla_status read_codes(cla_subwords *s, const char *path)
{
    CLA_TRY(cla_file_read(path, &s->codes.data, &s->codes.size));
    s->codes.cap = s->codes.size + 1;
    return use_codes(s, path);
}

static cla_status count_words(const cla_lines *text, bool split, cla_vocab *words)
{
    cla_text tokens = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < text->count && !status; i++) {
        const cla_line *line = &text->line[i];
        tokens.size = 0;
        status = split ? cla_split(line->text, line->size, &tokens)
                       : cla_text_append(&tokens, line->text, line->size);
        status = status ? status : cla_bpe_count(words, tokens.data, tokens.size);
    }
    cla_text_free(&tokens);
    return status;
}

cla_status cla_subwords_learn(cla_subwords *s, const cla_lines *texts, size_t n,
                              bool split, int64_t merges)
{
    cla_vocab words = { 0 };
    cla_status status = CLA_OK;
    *s = (cla_subwords){ .kind = split ? CLA_PIECES_SPLIT : CLA_PIECES_BPE };
    for (size_t i = 0; i < n && !status; i++) {
        status = count_words(&texts[i], split, &words);
    }
    if (!status && !words.count) {
        status = cla_fail(CLA_E_INPUT, "%s: holds no word", n ? texts[0].path : "text");
    }
    status = status ? status : cla_bpe_learn(&words, merges, 2, &s->codes);
    status = status ? status : use_codes(s, "codes");
    cla_vocab_free(&words);
    if (status) {
        cla_subwords_free(s);
    }
    return status;
}

cla_status cla_subwords_share(cla_subwords *s, const cla_subwords *other)
{
    *s = (cla_subwords){ .kind = other->kind };
    cla_status status =
        cla_text_append(&s->codes, other->codes.data, other->codes.size);
    status = status ? status : use_codes(s, "codes");
    if (status) {
        cla_subwords_free(s);
    }
    return status;
}

cla_status cla_subwords_take(cla_subwords *s, const char *model_path)
{
    *s = (cla_subwords){ .kind = CLA_PIECES_MODEL };
    cla_status status = read_codes(s, model_path);
    if (status) {
        cla_subwords_free(s);
    }
    return status;
}

/* ---- pieces ------------------------------------------------------------------ */

/* Receives one piece of a line. */
typedef cla_status take_piece(void *to, const char *piece);

/* Gives each piece of a text, in which one end stands between or behind them. */
static cla_status give_pieces(cla_text *pieces, char end, take_piece *take, void *to)
{
    char *last = pieces->data ? pieces->data + pieces->size : NULL;
    for (char *at = pieces->data, *stop; at < last; at = stop + 1) {
        stop = memchr(at, end, (size_t)(last - at));
        stop = stop ? stop : last;
        *stop = 0;
        CLA_TRY(*at ? take(to, at) : CLA_OK); // may be empty at a line's ends
    }
    return CLA_OK;
}

/* Returns the bytes of ">>x<<" at the start of a line, up to the first "<<"; 0: none. */
static size_t prefix_size(const char *line)
{
    const char *end = strncmp(line, ">>", 2) == 0 ? strstr(line, "<<") : NULL;
    return end ? (size_t)(end + 2 - line) : 0;
}

/* Takes the prefix of *line, if any, as a piece, and moves *line past it. */
static cla_status cut_prefix(const char **line, size_t *size, take_piece *take,
                             void *to)
{
    const size_t prefix = prefix_size(*line);
    cla_text piece = { 0 };
    if (!prefix) {
        return CLA_OK;
    }
    cla_status status = cla_text_append(&piece, *line, prefix);
    status = status ? status : take(to, piece.data);
    cla_text_free(&piece);
    *line += prefix;
    *size -= prefix;
    return status;
}

static cla_status cut(const cla_subwords *s, const char *line, size_t size,
                      take_piece *take, void *to)
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
    } else if (!status) {
        status = cla_bpe_apply(&s->bpe, line, size, &pieces);
    }
    const char end = s->kind == CLA_PIECES_MODEL ? 0 : ' ';
    status = status ? status : give_pieces(&pieces, end, take, to);
    cla_text_free(&tokens);
    cla_text_free(&pieces);
    return status;
}

static cla_status count_piece(void *to, const char *piece)
{
    return cla_vocab_add(to, piece, 1, NULL);
}

/* Receives the ids of a line. */
typedef struct sink {
    const cla_vocab *vocab;
    cla_ids *ids;
} sink;

static cla_status note_piece(void *to, const char *piece)
{
    const sink *s = to;
    cla_ids *ids = s->ids;
    CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + 1, sizeof *ids->id));
    ids->id[ids->count++] = cla_vocab_number(s->vocab, piece);
    return CLA_OK;
}

cla_status cla_subwords_encode(const cla_subwords *s, const char *line, size_t size,
                               cla_ids *ids)
{
    sink to = { &s->vocab, ids };
    return cut(s, line, size, note_piece, &to);
}

/* ---- the vocabulary ---------------------------------------------------------- */

/* Adds the two pieces of a symbol of one letter: with "@@" before another piece, and
 * without. */
static cla_status add_letter(cla_vocab *counts, const char *symbol)
{
    int32_t code = 0;
    char piece[8] = "";
    const int bytes = cla_utf8_next(symbol, &code);
    const char *rest = symbol + bytes;
    if (*rest && strcmp(rest, WORD_END) != 0) {
        return CLA_OK;
    }
    memcpy(piece, symbol, (size_t)bytes);
    CLA_TRY(cla_vocab_add(counts, piece, 0, NULL));
    memcpy(piece + bytes, "@@", 3);
    return cla_vocab_add(counts, piece, 0, NULL);
}

static cla_status add_zero(void *to, const char *piece)
{
    return cla_vocab_add(to, piece, 0, NULL);
}

/* Adds the pieces of which words that never occurred are made. */
static cla_status add_rest(const cla_subwords *s, cla_vocab *counts)
{
    cla_text all = { 0 };
    cla_status status = CLA_OK;
    for (size_t i = 0; i < s->bpe.symbols.count && !status; i++) {
        status = add_letter(counts, s->bpe.symbols.tokens[i]);
    }
    if (s->kind == CLA_PIECES_MODEL) {
        status = cla_sentencepiece_all(s->model, &all);
        status = status ? status : give_pieces(&all, 0, add_zero, counts);
    }
    cla_text_free(&all);
    return status;
}

static cla_status count_text(const cla_subwords *s, const cla_lines *text,
                             cla_vocab *counts)
{
    for (size_t i = 0; i < text->count; i++) {
        const cla_line *line = &text->line[i];
        CLA_TRY(cut(s, line->text, line->size, count_piece, counts));
    }
    return CLA_OK;
}

cla_status cla_subwords_count(cla_subwords *s, const cla_lines *texts, size_t n,
                              size_t limit)
{
    cla_vocab counts = { 0 };
    cla_status status = CLA_OK;
    if (s->vocab.count) {
        return cla_fail(CLA_E_USAGE, "subwords: there is a vocabulary of %zu tokens",
                        s->vocab.count);
    }
    for (size_t i = 0; i < n && !status; i++) {
        status = count_text(s, &texts[i], &counts);
    }
    status = status ? status : add_rest(s, &counts);
    status = status ? status : cla_vocab_take(&s->vocab, &counts, 0, limit);
    cla_vocab_free(&counts);
    return status;
}

/* ---- files ------------------------------------------------------------------- */

cla_status cla_subwords_save(const cla_subwords *s, const char *codes_path,
                             const char *vocab_path)
{
    CLA_TRY(cla_file_write(codes_path, s->codes.data, s->codes.size));
    return cla_vocab_save(&s->vocab, vocab_path);
}

static cla_status load(cla_subwords *s, const char *codes_path, const char *vocab_path)
{
    CLA_TRY(read_codes(s, codes_path));
    CLA_TRY(cla_vocab_load(&s->vocab, vocab_path, CLA_SPECIALS));
    for (int i = 0; i < CLA_SPECIALS; i++) {
        if (s->vocab.count <= (size_t)i ||
            strcmp(s->vocab.tokens[i], cla_special_names[i]) != 0) {
            return cla_fail(CLA_E_INPUT, "%s:%d: must be '%s'", vocab_path, i + 1,
                            cla_special_names[i]);
        }
    }
    return CLA_OK;
}

cla_status cla_subwords_load(cla_subwords *s, cla_pieces kind, const char *codes_path,
                             const char *vocab_path)
{
    *s = (cla_subwords){ .kind = kind };
    const cla_status status = load(s, codes_path, vocab_path);
    if (status) {
        cla_subwords_free(s);
    }
    return status;
}

/* ---- decoding ---------------------------------------------------------------- */

/* Appends the pieces of ids up to the end: those of a model with a NUL behind each,
 * others with blanks between them. */
static cla_status join(const cla_subwords *s, const int32_t *ids, size_t n,
                       cla_text *pieces)
{
    const bool model = s->kind == CLA_PIECES_MODEL;
    CLA_TRY(cla_text_append(pieces, "", 0));
    for (size_t i = 0; i < n && ids[i] != CLA_EOS; i++) {
        const bool known = ids[i] >= 0 && (size_t)ids[i] < s->vocab.count;
        const char *piece = s->vocab.tokens[known ? ids[i] : CLA_UNK];
        if (ids[i] == CLA_PAD || !*piece ||
            (s->tidy && piece == s->vocab.tokens[CLA_UNK])) {
            continue;
        }
        CLA_TRY(cla_text_append(pieces, " ", !model && pieces->size > 0));
        CLA_TRY(cla_text_append(pieces, piece, strlen(piece) + model));
    }
    return CLA_OK;
}

/* Replaces U+2581, the blank in pieces that the model does not know, by a blank, and
 * removes blanks at both ends of the text from first on. */
static void tidy(cla_text *out, size_t first)
{
    static const char mark[] = "\xe2\x96\x81";
    size_t to = first;
    for (size_t at = first; at < out->size; to++) {
        const bool is_mark = strncmp(out->data + at, mark, 3) == 0;
        out->data[to] = is_mark ? ' ' : out->data[at];
        at += is_mark ? 3 : 1;
    }
    if (out->data) {
        out->size = to;
        out->data[to] = 0;
    }
    while (out->size > first && out->data[out->size - 1] == ' ') {
        out->data[--out->size] = 0;
    }
    size_t blanks = 0;
    while (first + blanks < out->size && out->data[first + blanks] == ' ') {
        blanks++;
    }
    if (blanks) {
        memmove(out->data + first, out->data + first + blanks,
                out->size - first - blanks + 1);
        out->size -= blanks;
    }
}

cla_status cla_subwords_decode(const cla_subwords *s, const int32_t *ids, size_t n,
                               cla_text *out)
{
    cla_text pieces = { 0 }, tokens = { 0 };
    const size_t first = out->size;
    cla_status status = join(s, ids, n, &pieces);
    cla_text *undone = s->kind == CLA_PIECES_SPLIT ? &tokens : out;
    if (!status && s->kind == CLA_PIECES_MODEL) {
        status = cla_sentencepiece_undo(s->model, pieces.data, pieces.size, out);
    } else if (!status) {
        status = cla_bpe_undo(pieces.data, pieces.size, undone);
    }
    if (!status && s->kind == CLA_PIECES_SPLIT) {
        status = cla_unsplit(tokens.data, tokens.size, out);
    }
    if (!status && s->tidy) {
        tidy(out, first);
    }
    cla_text_free(&pieces);
    cla_text_free(&tokens);
    return status;
}
