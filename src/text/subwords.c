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

static cla_status count_piece(void *to, const char *piece, int id)
{
    (void)id;
    return cla_vocab_add(to, piece, 1, NULL);
}

/* Receives the ids of a line. */
typedef struct sink {
    const cla_vocab *vocab;
    cla_ids *ids;
} sink;

static cla_status note_piece(void *to, const char *piece, int id)
{
    const sink *s = to;
    cla_ids *ids = s->ids;
    CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + 1, sizeof *ids->id));
    ids->id[ids->count++] = id < 0 ? cla_vocab_number(s->vocab, piece) : id;
    return CLA_OK;
}

cla_status cla_subwords_encode(const cla_subwords *s, const char *line, size_t size,
                               cla_ids *ids)
{
    sink to = { &s->vocab, ids };
    const size_t start = ids->count;
    CLA_TRY(s->before ? note_piece(&to, "", s->before) : CLA_OK);
    CLA_TRY(cla_subwords_cut(s, line, size, note_piece, &to));
    if (s->before && ids->count == start + 1) {
        ids->count = start; // a line without pieces has none
    }
    return CLA_OK;
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

static cla_status add_zero(void *to, const char *piece, int id)
{
    (void)id;
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
        status = status ? status : cla_pieces_give(&all, 0, add_zero, counts);
    }
    cla_text_free(&all);
    return status;
}

static cla_status count_text(const cla_subwords *s, const cla_lines *text,
                             cla_vocab *counts)
{
    for (size_t i = 0; i < text->count; i++) {
        const cla_line *line = &text->line[i];
        CLA_TRY(cla_subwords_cut(s, line->text, line->size, count_piece, counts));
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

static cla_status check_specials(const cla_subwords *s, const char *vocab_path)
{
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
    cla_status status = read_codes(s, codes_path);
    status = status ? status : cla_vocab_load(&s->vocab, vocab_path, CLA_SPECIALS);
    status = status ? status : check_specials(s, vocab_path);
    if (status) {
        cla_subwords_free(s);
    }
    return status;
}

cla_status cla_subwords_parse(cla_subwords *s, cla_pieces kind, const char *path,
                              const cla_part part[2])
{
    *s = (cla_subwords){ .kind = kind };
    cla_status status = cla_text_append(&s->codes, part[0].data, part[0].size);
    status = status ? status : use_codes(s, path);
    status = status ? status
                    : cla_vocab_parse(&s->vocab, path, part[1].data, part[1].size,
                                      CLA_SPECIALS);
    status = status ? status : check_specials(s, path);
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
        const size_t id = known ? (size_t)ids[i] : CLA_UNK;
        const char *piece = s->vocab.tokens[id];
        if (id == CLA_UNK ? s->tidy : id < s->vocab.specials || !*piece) {
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
