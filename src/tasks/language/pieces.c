/* pieces.c - what a text is cut into: bytes, characters, byte pairs, SentencePiece. */
#include <string.h>

#include "base/file.h"
#include "base/platform.h"
#include "base/utf8.h"
#include "tasks/language/language.h"

static const char line_end[] = "\n"; // the piece between lines of subwords

static bool has_subwords(const language *t)
{
    return t->pieces == LANGUAGE_BPE || t->pieces == LANGUAGE_MODEL;
}

int cla_language_count(const language *t)
{
    enum { BYTES = 256 };
    if (t->pieces == LANGUAGE_TOKENIZER) {
        return t->rows ? t->rows : (int)t->tokenizer.vocab.count;
    }
    return t->pieces == LANGUAGE_BYTES ? CLA_SPECIALS + BYTES
                                       : (int)t->subwords.vocab.count;
}

/* ---- text to pieces -------------------------------------------------------------- */

/* Appends the pieces of each line; line ends and ends of documents are pieces. */
static cla_status encode_lines(const language *t, const char *text, size_t size,
                               cla_ids *ids)
{
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && text[end] && text[end] != '\n') {
            end++;
        }
        CLA_TRY(cla_subwords_encode(&t->subwords, text + at, end - at, ids));
        if (end < size) {
            CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + 1, sizeof *ids->id));
            ids->id[ids->count++] = text[end] ? t->line_end : CLA_EOS;
        }
        at = end + 1;
    }
    return CLA_OK;
}

cla_status cla_language_encode(const language *t, const char *text, size_t size,
                               cla_ids *ids)
{
    char letter[5];
    if (t->pieces == LANGUAGE_TOKENIZER) {
        return cla_language_tokenize(t, text, size, ids);
    }
    if (has_subwords(t)) {
        return encode_lines(t, text, size, ids);
    }
    CLA_TRY(cla_grow(&ids->id, &ids->cap, ids->count + size, sizeof *ids->id));
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        int bytes = 1, id = CLA_SPECIALS + (unsigned char)text[at];
        if (!text[at]) {
            id = CLA_EOS;
        } else if (t->pieces == LANGUAGE_CHARACTERS) {
            bytes = cla_utf8_next(text + at, &code);
            cla_utf8_put(code, letter);
            id = cla_vocab_number(&t->subwords.vocab, letter);
        }
        ids->id[ids->count++] = id;
        at += (size_t)bytes;
    }
    return CLA_OK;
}

/* ---- pieces to text -------------------------------------------------------------- */

bool cla_language_ends(const language *t, int32_t id)
{
    return !has_subwords(t) || id == t->line_end || id == CLA_EOS;
}

static cla_status decode_one(const language *t, int32_t id, cla_text *out)
{
    if (t->pieces == LANGUAGE_TOKENIZER) {
        return cla_codec_decode(&t->tokenizer, id, out);
    }
    if (id < CLA_SPECIALS) {
        return CLA_OK;
    }
    if (t->pieces == LANGUAGE_CHARACTERS) {
        return cla_text_add(out, "%s", t->subwords.vocab.tokens[id]);
    }
    const char byte = (char)(id - CLA_SPECIALS);
    return cla_text_append(out, &byte, 1);
}

cla_status cla_language_decode(const language *t, const int32_t *id, size_t n,
                               cla_text *out)
{
    CLA_TRY(cla_text_append(out, "", 0));
    for (size_t i = 0, end; i < n; i = end + 1) {
        for (end = i; end < n && !cla_language_ends(t, id[end]);) {
            end++;
        }
        CLA_TRY(end > i ? cla_subwords_decode(&t->subwords, id + i, end - i, out)
                        : CLA_OK);
        if (end < n) {
            CLA_TRY(!has_subwords(t)         ? decode_one(t, id[end], out)
                    : id[end] == t->line_end ? cla_text_append(out, line_end, 1)
                                             : CLA_OK);
        }
    }
    return CLA_OK;
}

/* ---- learning -------------------------------------------------------------------- */

/* Makes the vocabulary of a text's characters, the most frequent first. */
static cla_status count_characters(language *t, const cla_text *text)
{
    cla_vocab counts = { 0 };
    char letter[5];
    cla_status status = CLA_OK;
    for (size_t at = 0; at < text->size && !status;) {
        int32_t code = 0;
        int id = 0;
        at += (size_t)cla_utf8_next(text->data + at, &code);
        cla_utf8_put(code, letter);
        status = code ? cla_vocab_add(&counts, letter, 1, &id) : CLA_OK;
    }
    status = status ? status : cla_vocab_take(&t->subwords.vocab, &counts, 1, 0);
    cla_vocab_free(&counts);
    return status;
}

/* Cuts a text, whose line ends become NULs, into lines. */
static cla_status cut_lines(cla_lines *lines, cla_text *text)
{
    for (size_t at = 0; at < text->size;) {
        char *line = text->data + at, *end = memchr(line, '\n', text->size - at);
        const size_t size = end ? (size_t)(end - line) : text->size - at;
        const char *stop = memchr(line, 0, size); // a document may end before
        const size_t filled = stop ? (size_t)(stop - line) : size;
        if (end) {
            *end = 0;
        }
        CLA_TRY(
            cla_grow(&lines->line, &lines->cap, lines->count + 1, sizeof *lines->line));
        lines->line[lines->count++] = (cla_line){ line, filled };
        at += filled + 1;
    }
    return CLA_OK;
}

static cla_status learn_lines(language *t, const cla_lines *lines)
{
    CLA_TRY(t->pieces == LANGUAGE_MODEL
                ? cla_subwords_take(&t->subwords, t->sentencepiece)
                : cla_subwords_learn(&t->subwords, lines, 1, t->split, t->merges));
    CLA_TRY(cla_subwords_count(&t->subwords, lines, 1, 0));
    return cla_vocab_add(&t->subwords.vocab, line_end, 0, NULL);
}

static cla_status learn_subwords(language *t, const cla_text *text, const char *path)
{
    cla_text copy = { 0 };
    cla_lines lines = { .path = (char *)path };
    cla_status status = cla_text_append(&copy, text->data, text->size);
    status = status ? status : cut_lines(&lines, &copy);
    status = status ? status : learn_lines(t, &lines);
    free(lines.line);
    cla_text_free(&copy);
    return status;
}

cla_status cla_language_learn(language *t, const cla_text *text, const char *path)
{
    cla_status status = CLA_OK;
    if (t->pieces == LANGUAGE_TOKENIZER) {
        return cla_language_read_tokenizer(t, t->tokenizer_path);
    }
    if (t->pieces == LANGUAGE_CHARACTERS) {
        status = count_characters(t, text);
    } else if (has_subwords(t)) {
        status = learn_subwords(t, text, path);
    }
    return status ? status : cla_language_find_end(t, path);
}

/* ---- files ----------------------------------------------------------------------- */

static const char codes_name[] = "codes.txt", pieces_name[] = "pieces.txt",
                  characters_name[] = "characters.txt",
                  tokenizer_name[] = "tokenizer.json";
const char *const cla_language_files[] = { characters_name, codes_name, pieces_name,
                                           tokenizer_name, NULL };

/* The paths of the files of pieces: codes, or a tokenizer, and a vocabulary; NULL:
 * there is none. */
typedef struct paths {
    cla_text text[2];
    const char *codes, *vocab;
} paths;

static void paths_free(paths *p)
{
    cla_text_free(&p->text[0]);
    cla_text_free(&p->text[1]);
}

static cla_status paths_of(const language *t, const char *dir, paths *p)
{
    const bool other = t->pieces == LANGUAGE_TOKENIZER;
    *p = (paths){ 0 };
    CLA_TRY(
        cla_text_add(&p->text[0], "%s/%s", dir, other ? tokenizer_name : codes_name));
    CLA_TRY(cla_text_add(&p->text[1], "%s/%s", dir,
                         has_subwords(t) ? pieces_name : characters_name));
    p->codes = other || has_subwords(t) ? p->text[0].data : NULL;
    p->vocab = other || t->pieces == LANGUAGE_BYTES ? NULL : p->text[1].data;
    return CLA_OK;
}

static cla_status save(const language *t, const paths *p)
{
    const cla_text *codes = &t->subwords.codes;
    CLA_TRY(p->codes ? cla_file_write(p->codes, codes->data, codes->size) : CLA_OK);
    return p->vocab ? cla_vocab_save(&t->subwords.vocab, p->vocab) : CLA_OK;
}

/* Gives the path of the model of SentencePiece that a folder of another program has
 * in place of a tokenizer.json, or leaves it empty. */
static cla_status find_model(const char *dir, cla_text *path)
{
    CLA_TRY(cla_text_add(path, "%s/%s", dir, tokenizer_name));
    const bool has = cla_os_may(path->data, CLA_MAY_BE);
    path->size = 0;
    CLA_TRY(cla_text_add(path, "%s/tokenizer.model", dir));
    if (has || !cla_os_may(path->data, CLA_MAY_BE)) {
        path->size = 0;
    }
    return CLA_OK;
}

bool cla_language_has_model(const char *dir)
{
    cla_text path = { 0 };
    const bool has = !find_model(dir, &path) && path.size;
    cla_text_free(&path);
    return has;
}

static cla_status load_tokenizer(language *t, const char *dir, const paths *p)
{
    cla_text model = { 0 };
    cla_status status = find_model(dir, &model);
    const char *path = model.size ? model.data : p->codes;
    status = status ? status : cla_language_read_tokenizer(t, path);
    cla_text_free(&model);
    return status;
}

static cla_status load(language *t, const char *dir, const paths *p)
{
    if (t->pieces == LANGUAGE_TOKENIZER) {
        return load_tokenizer(t, dir, p);
    }
    if (!p->vocab) {
        return CLA_OK;
    }
    CLA_TRY(p->codes ? cla_subwords_load(&t->subwords, cla_language_kind_of(t),
                                         p->codes, p->vocab)
                     : cla_vocab_load(&t->subwords.vocab, p->vocab, CLA_SPECIALS));
    return cla_language_find_end(t, p->vocab);
}

static cla_status same_file(const char *path, const cla_text *text)
{
    bool same = false;
    CLA_TRY(cla_file_compare(path, text->data, text->size, &same));
    return same
               ? CLA_OK
               : cla_fail(CLA_E_INPUT,
                          "%s: the data has other %s; is it that of the run?", path,
                          cla_ends_in(path, characters_name) ? "characters" : "pieces");
}

static cla_status compare(const language *t, const paths *p)
{
    cla_text text = { 0 };
    CLA_TRY(p->codes ? same_file(p->codes, &t->subwords.codes) : CLA_OK);
    cla_status status = p->vocab ? cla_vocab_text(&t->subwords.vocab, &text) : CLA_OK;
    status = status || !p->vocab ? status : same_file(p->vocab, &text);
    cla_text_free(&text);
    return status;
}

cla_status cla_language_keep(const language *t, const char *dir, bool resumed)
{
    paths p;
    cla_status status = paths_of(t, dir, &p);
    status = status ? status : (resumed ? compare : save)(t, &p);
    paths_free(&p);
    return status;
}

cla_status cla_language_load(language *t, const char *dir)
{
    paths p;
    cla_status status = paths_of(t, dir, &p);
    status = status ? status : load(t, dir, &p);
    paths_free(&p);
    return status;
}

cla_pieces cla_language_kind_of(const language *t)
{
    return t->pieces == LANGUAGE_MODEL ? CLA_PIECES_MODEL
           : t->split                  ? CLA_PIECES_SPLIT
                                       : CLA_PIECES_BPE;
}

cla_status cla_language_find_end(language *t, const char *path)
{
    t->line_end = cla_vocab_find(&t->subwords.vocab, line_end);
    return t->line_end < 0 && has_subwords(t)
               ? cla_fail(CLA_E_INPUT, "%s: no piece is the end of a line", path)
               : CLA_OK;
}
