/* text.c - fuzz targets: lines, vocabularies, lexicons, poems, CoNLL-U, documents. */
#include <string.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "text/bitext.h"
#include "text/codec.h"
#include "text/conllu.h"
#include "text/lexicon.h"
#include "text/markup.h"
#include "text/poems.h"
#include "text/split.h"
#include "text/themes.h"

/* ---- vocabularies ---------------------------------------------------------------- */

/* Checks that a saved vocabulary loads as the same tokens. */
static void reload(const cla_vocab *v)
{
    cla_vocab again = { 0 };
    cla_text text = { 0 };
    FUZZ_CHECK(!cla_vocab_text(v, &text), "%s", cla_error());
    const char *path = fuzz_file("again.txt", text.data ? text.data : "", text.size);
    FUZZ_CHECK(!cla_vocab_load(&again, path, v->specials), "a vocabulary as saved: %s",
               cla_error());
    FUZZ_CHECK(again.count == v->count && again.specials == v->specials,
               "%zu tokens became %zu", v->count, again.count);
    for (size_t i = 0; i < v->count; i++) {
        FUZZ_CHECK(strcmp(v->tokens[i], again.tokens[i]) == 0, "token %zu differs", i);
    }
    cla_text_free(&text);
    cla_vocab_free(&again);
}

void fuzz_vocab(const uint8_t *data, size_t size)
{
    cla_vocab v = { 0 };
    const char *path = fuzz_file("vocab.txt", data, size);
    if (fuzz_ok(cla_vocab_load(&v, path, size ? *data % 4 : 0))) {
        for (size_t i = v.specials; i < v.count; i++) {
            FUZZ_CHECK(cla_vocab_find(&v, v.tokens[i]) == (int)i, "token %zu is lost",
                       i);
        }
        reload(&v);
    }
    cla_vocab_free(&v);
}

/* ---- tokenizers ------------------------------------------------------------------ */

/* A tokenizer.json, byte 0x1E, a text that it cuts. */
void fuzz_codec(const uint8_t *data, size_t size)
{
    fuzz_part part[2];
    fuzz_cut(data, size, part, 2);
    cla_codec t;
    cla_ids ids = { 0 };
    cla_text back = { 0 };
    char *text = fuzz_text(&part[1]);
    bool good = fuzz_ok(cla_codec_parse(&t, "test", part[0].data, part[0].size));
    good = good && text && fuzz_ok(cla_codec_encode(&t, text, part[1].size, &ids));
    for (size_t i = 0; i < ids.count && good; i++) {
        const int32_t id = ids.id[i];
        FUZZ_CHECK(id >= 0 && (size_t)id < t.vocab.count, "piece %zu is %d", i, id);
        FUZZ_CHECK(id == t.unknown || !t.special[id], "piece %zu is special", i);
        FUZZ_CHECK(!cla_codec_decode(&t, id, &back), "%s", cla_error());
    }
    free(text);
    cla_ids_free(&ids);
    cla_text_free(&back);
    cla_codec_free(&t);
}

/* ---- lines ----------------------------------------------------------------------- */

static cla_status count_line(void *to, size_t number, char *text, size_t size)
{
    FUZZ_CHECK(strlen(text) == size, "line %zu: its size is not its length", number);
    ++*(size_t *)to;
    return CLA_OK;
}

static void split_line(const cla_line *line)
{
    cla_text tokens = { 0 }, back = { 0 };
    FUZZ_CHECK(!cla_split(line->text, line->size, &tokens), "%s", cla_error());
    FUZZ_CHECK(!cla_unsplit(tokens.data ? tokens.data : "", tokens.size, &back), "%s",
               cla_error());
    FUZZ_CHECK(back.size == line->size &&
                   (!back.size || memcmp(back.data, line->text, back.size) == 0),
               "a line does not come back from its tokens");
    cla_text_free(&tokens);
    cla_text_free(&back);
}

static void read_pairs(const cla_lines lines[2])
{
    cla_subwords pieces = { 0 };
    cla_bitext text = { 0 };
    const cla_bitext_options options = { .max_pieces = 64, .source_eos = true };
    cla_status status = cla_subwords_learn(&pieces, lines, 2, true, 32);
    status = status ? status : cla_subwords_count(&pieces, lines, 2, 0);
    status = status ? status
                    : cla_bitext_make(&text, &lines[0], &lines[1], &pieces, &pieces,
                                      &options);
    if (fuzz_ok(status)) {
        for (int64_t i = 0; i < text.source_at[text.count]; i++) {
            FUZZ_CHECK(text.source[i] >= 0 &&
                           (size_t)text.source[i] < pieces.vocab.count,
                       "piece %lld is %d", (long long)i, text.source[i]);
        }
    }
    cla_bitext_free(&text);
    cla_subwords_free(&pieces);
}

void fuzz_lines(const uint8_t *data, size_t size)
{
    fuzz_part part[2];
    cla_lines lines[2] = { { 0 } };
    size_t seen = 0;
    fuzz_cut(data, size, part, 2);
    const char *path = fuzz_file("source", part[0].data, part[0].size);
    const bool each = fuzz_ok(cla_lines_each(path, count_line, &seen));
    const bool all = fuzz_ok(cla_lines_read(&lines[0], path));
    FUZZ_CHECK(each == all, "one reader of lines takes a file that the other refuses");
    FUZZ_CHECK(!all || lines[0].count == seen, "%zu lines, %zu one by one",
               lines[0].count, seen);
    for (size_t i = 0; i < lines[0].count; i++) {
        split_line(&lines[0].line[i]);
    }
    path = fuzz_file("target", part[1].data, part[1].size);
    if (all && fuzz_ok(cla_lines_read(&lines[1], path)) &&
        fuzz_ok(cla_lines_pair(&lines[0], &lines[1]))) {
        read_pairs(lines);
    }
    cla_lines_free(&lines[0]);
    cla_lines_free(&lines[1]);
}

/* ---- CoNLL-U --------------------------------------------------------------------- */

/* Gives the next line of *text that is not blank, without its end. */
static bool next_line(const char **text, const char *end, cla_line *line)
{
    while (*text < end) {
        const char *stop = memchr(*text, '\n', (size_t)(end - *text));
        *line = (cla_line){ *text, (size_t)((stop ? stop : end) - *text) };
        *text = stop ? stop + 1 : end;
        if (!cla_line_is_blank(line->text, line->size)) {
            line->size -= line->text[line->size - 1] == '\r';
            return true;
        }
    }
    return false;
}

/* Returns whether both have the same lines but for blank ones and line ends. */
static bool same_lines(const char *a, size_t a_size, const char *b, size_t b_size)
{
    const char *const a_end = a + a_size, *const b_end = b + b_size;
    cla_line x = { 0 }, y = { 0 };
    while (next_line(&a, a_end, &x)) {
        if (!next_line(&b, b_end, &y) || x.size != y.size ||
            memcmp(x.text, y.text, x.size) != 0) {
            return false;
        }
    }
    return !next_line(&b, b_end, &y);
}

/* Whether the rows that were written are read as the same words. */
static bool same_words(const cla_conllu *file, const cla_sentence *at,
                       const cla_text *rows)
{
    cla_conllu again = { 0 };
    char *copy = NULL;
    FUZZ_CHECK(!cla_strdup(&copy, rows->data) &&
                   !cla_conllu_parse(&again, "rows", 0, copy, rows->size),
               "%s", cla_error());
    bool same = again.word_count == at->count;
    for (size_t i = 0; same && i < at->count; i++) {
        same = strcmp(again.words[i].form, file->words[at->first + i].form) == 0;
    }
    cla_conllu_free(&again);
    return same;
}

/* Checks that a sentence is written as in the file when it has its own tags. */
static void write_back(const cla_conllu *file, size_t s)
{
    const cla_sentence *at = &file->sentences[s];
    const char **tags = NULL;
    cla_text out = { 0 };
    FUZZ_CHECK(at->first + at->count <= file->word_count && at->begin <= at->end &&
                   at->end <= file->raw_size,
               "sentence %zu lies outside its file", s);
    FUZZ_CHECK(!cla_alloc(&tags, at->count + 1, sizeof *tags), "%s", cla_error());
    for (size_t i = 0; i < at->count; i++) {
        tags[i] = file->words[at->first + i].tag;
    }
    FUZZ_CHECK(!cla_conllu_write(file, s, tags, &out), "%s", cla_error());
    FUZZ_CHECK(!file->raw ? same_words(file, at, &out)
                          : same_lines(out.data, out.size, file->raw + at->begin,
                                       at->end - at->begin),
               "sentence %zu is written otherwise than it was read", s);
    cla_text_free(&out);
    free(tags);
}

static void parse_conllu(const uint8_t *data, size_t size, bool lines)
{
    cla_conllu file = { 0 };
    char *copy = NULL;
    FUZZ_CHECK(!cla_alloc(&copy, size + 1, 1), "%s", cla_error());
    memcpy(copy, data, size);
    if (fuzz_ok(lines ? cla_conllu_from_lines(&file, "lines", 0, copy, size)
                      : cla_conllu_parse(&file, "file", 0, copy, size))) {
        for (size_t s = 0; s < file.sentence_count; s++) {
            write_back(&file, s);
        }
        cla_conllu_free(&file);
    }
}

void fuzz_conllu(const uint8_t *data, size_t size)
{
    parse_conllu(data, size, false);
    parse_conllu(data, size, true);
}

/* ---- words and poems ------------------------------------------------------------- */

void fuzz_lexicon(const uint8_t *data, size_t size)
{
    fuzz_part part[2];
    cla_lexicon lexicon = { .longest = 0 };
    cla_words words = { 0 };
    fuzz_cut(data, size, part, 2);
    char *text = fuzz_text(&part[1]);
    if (fuzz_ok(cla_lexicon_read(&lexicon,
                                 fuzz_file("words", part[0].data, part[0].size))) &&
        text && fuzz_ok(cla_lexicon_cut(&lexicon, text, part[1].size, &words))) {
        for (size_t i = 0; i < words.count; i++) {
            const cla_span *w = &words.word[i];
            FUZZ_CHECK(w->at >= 0 && w->size > 0 &&
                           (size_t)w->at + (size_t)w->size <= part[1].size,
                       "word %zu lies outside the text", i);
        }
    }
    free(text);
    cla_words_free(&words);
    cla_lexicon_free(&lexicon);
}

static void use_themes(const cla_themes *t, const cla_ranking *ranking)
{
    cla_themes again = { 0 };
    const char *path = fuzz_path("saved");
    int word[8] = { 0 };
    size_t n = 1;
    FUZZ_CHECK(!cla_themes_save(t, path, ranking), "%s", cla_error());
    FUZZ_CHECK(!cla_themes_read(&again, path, ranking), "themes as saved: %s",
               cla_error());
    FUZZ_CHECK(again.count == t->count && again.word_count == t->word_count &&
                   memcmp(again.word, t->word, t->word_count * sizeof *t->word) == 0,
               "%zu themes became %zu", t->count, again.count);
    FUZZ_CHECK(!cla_themes_near(t, ranking->words.count, word, 1, &n, 8), "%s",
               cla_error());
    for (size_t i = 1; i < n; i++) {
        FUZZ_CHECK(word[i] > 0 && (size_t)word[i] < ranking->words.count,
                   "word %zu has no rank", i);
    }
    cla_themes_free(&again);
}

/* The input has a ranking, then themes. */
void fuzz_themes(const uint8_t *data, size_t size)
{
    fuzz_part part[2];
    cla_ranking ranking = { .score = NULL };
    cla_themes themes = { .count = 0 };
    fuzz_cut(data, size, part, 2);
    const char *path = fuzz_file("ranking", part[0].data, part[0].size);
    if (fuzz_ok(cla_ranking_load(&ranking, path))) {
        path = fuzz_file("themes", part[1].data, part[1].size);
        if (fuzz_ok(cla_themes_read(&themes, path, &ranking))) {
            use_themes(&themes, &ranking);
        }
    }
    cla_themes_free(&themes);
    cla_ranking_free(&ranking);
}

static void use_poems(const cla_poems *p)
{
    cla_vocab characters = { 0 };
    cla_lexicon words = { .longest = 0 };
    int32_t ids[CLA_POEM_LONGEST];
    FUZZ_CHECK(!cla_poems_vocab(p, 0, &characters), "%s", cla_error());
    for (size_t i = 0; i < p->count; i++) {
        const cla_poem *poem = &p->poem[i];
        for (int k = 0; k < CLA_POEM_LINES; k++) {
            const char *line = cla_poems_string(p, poem->line[k]);
            const size_t n = cla_poems_ids(line, &characters, ids, CLA_POEM_LONGEST);
            FUZZ_CHECK(n == (size_t)poem->length, "a line has %zu characters, not %d",
                       n, poem->length);
            FUZZ_CHECK(strlen(cla_poems_string(p, poem->keyword[k])) < p->bytes.size,
                       "a keyword has no end");
        }
    }
    fuzz_ok(cla_poems_words(p, 1, 0.5, &words));
    cla_lexicon_free(&words);
    cla_vocab_free(&characters);
}

/* The first byte has the options: strict, and poems of keywords. */
void fuzz_poems(const uint8_t *data, size_t size)
{
    cla_poems poems = { .count = 0 };
    const int how = size ? data[0] : 0;
    const char *path = fuzz_file("poems", data + (size > 0), size - (size > 0));
    if (fuzz_ok(how & 2 ? cla_poems_read_keywords(&poems, path, how & 1)
                        : cla_poems_read(&poems, path, how & 1))) {
        use_poems(&poems);
    }
    cla_poems_free(&poems);
}

/* ---- documents ------------------------------------------------------------------- */

/* Checks that the parts lie in order inside of the source. */
static void check_places(const cla_document *d)
{
    size_t end = 0;
    for (size_t i = 0; i < d->count; i++) {
        const cla_markup_text *part = &d->part[i];
        FUZZ_CHECK(part->at >= end && part->size && part->size <= d->size - part->at,
                   "part %zu at %zu of %zu", i, part->at, d->size);
        FUZZ_CHECK(!strpbrk(part->text, "\n\t\r"), "part %zu has line ends", i);
        end = part->at + part->size;
    }
}

/* The first byte chooses HTML or Markdown. */
void fuzz_markup(const uint8_t *data, size_t size)
{
    const char *source = (const char *)data + (size > 0);
    const size_t bytes = size - (size > 0);
    const cla_markup markup = size && *data % 2 ? CLA_MARKUP_MARKDOWN : CLA_MARKUP_HTML;
    cla_document d;
    cla_text out = { 0 };
    if (!cla_markup_there() || memchr(source, 0, bytes) ||
        cla_utf8_check(source, bytes) < bytes ||
        !fuzz_ok(cla_document_read(&d, markup, source, bytes))) {
        return;
    }
    check_places(&d);
    const char **texts = calloc(d.count + 1, sizeof *texts);
    for (size_t i = 0; i < d.count && texts; i++) {
        texts[i] = d.part[i].text;
    }
    FUZZ_CHECK(texts && !cla_document_write(&d, texts, &out), "%s", cla_error());
    FUZZ_CHECK(cla_utf8_check(out.data, out.size) == out.size, "not UTF-8");
    free(texts);
    cla_text_free(&out);
    cla_document_free(&d);
}
