/* bpe.c - words to pieces: reading codes, applying and undoing them. */
#include "text/bpe.h"

#include <string.h>

#include "base/file.h"
#include "base/utf8.h"

#define WORD_END "</w>"
#define NOT_LAST "@@"

enum { STALE = -2 }; // a rank to be looked up

/* ---- reading codes ----------------------------------------------------------- */

void cla_bpe_free(cla_bpe *bpe)
{
    cla_vocab_free(&bpe->symbols);
    cla_pairmap_free(&bpe->rank);
    free(bpe->merged);
    *bpe = (cla_bpe){ 0 };
}

/* Adds one merge; a pair that was merged before keeps its place. */
static cla_status add_merge(cla_bpe *bpe, const char *left, const char *right)
{
    int a = 0, b = 0, whole = 0;
    int32_t rank = 0;
    cla_text both = { 0 };
    CLA_TRY(cla_vocab_add(&bpe->symbols, left, 1, &a));
    CLA_TRY(cla_vocab_add(&bpe->symbols, right, 1, &b));
    CLA_TRY(cla_grow(&bpe->merged, &bpe->cap, bpe->count + 1, sizeof *bpe->merged));
    CLA_TRY(cla_pairmap_put(&bpe->rank, a, b, (int32_t)bpe->count, &rank));
    cla_status status = cla_text_add(&both, "%s%s", left, right);
    status = status ? status : cla_vocab_add(&bpe->symbols, both.data, 1, &whole);
    cla_text_free(&both);
    bpe->merged[bpe->count] = whole;
    bpe->count += (size_t)rank == bpe->count;
    return status;
}

static cla_status read_merge(cla_bpe *bpe, const char *path, int number, char *line)
{
    line[strcspn(line, "\r")] = 0;
    char *blank = strchr(line, ' ');
    if (!blank || blank == line || !blank[1] || strchr(blank + 1, ' ')) {
        return cla_fail(CLA_E_INPUT, "%s:%d: '%.40s' is no merge: must be two symbols",
                        path, number, line);
    }
    *blank = 0;
    return add_merge(bpe, line, blank + 1);
}

static cla_status read_merges(cla_bpe *bpe, const char *path, char *data, size_t size)
{
    static const char version[] = "#version: 0.2";
    const size_t bad = cla_utf8_check(data, size);
    if (bad < size) {
        return cla_fail(CLA_E_INPUT, "%s: not UTF-8 (byte %zu)", path, bad);
    }
    if (strncmp(data, version, sizeof version - 1) != 0) {
        return cla_fail(CLA_E_INPUT, "%s:1: codes must begin with '%s'", path, version);
    }
    int number = 1;
    for (char *at = data; at < data + size; number++) {
        char *end = memchr(at, '\n', (size_t)(data + size - at));
        end = end ? end : data + size;
        *end = 0;
        if (number > 1) {
            CLA_TRY(read_merge(bpe, path, number, at));
        }
        at = end + 1;
    }
    return CLA_OK;
}

cla_status cla_bpe_parse(cla_bpe *bpe, const char *path, char *data, size_t size)
{
    *bpe = (cla_bpe){ 0 };
    const cla_status status = read_merges(bpe, path, data, size);
    if (status) {
        cla_bpe_free(bpe);
    }
    return status;
}

cla_status cla_bpe_load(cla_bpe *bpe, const char *path)
{
    char *data = NULL;
    size_t size = 0;
    *bpe = (cla_bpe){ 0 };
    CLA_TRY(cla_file_read(path, &data, &size));
    const cla_status status = cla_bpe_parse(bpe, path, data, size);
    free(data);
    return status;
}

/* ---- applying ---------------------------------------------------------------- */

/* A word while its pieces grow: they are parts of its text. */
typedef struct cut {
    int32_t *id;   // symbol, or -1 where no code has it
    int32_t *rank; // of the merge with the next piece, or -1
    size_t *end;   // bytes of the word
    size_t count;
} cut;

static int symbol_of(const cla_bpe *bpe, const char *character, int bytes, bool last)
{
    char symbol[16] = "";
    memcpy(symbol, character, (size_t)bytes);
    memcpy(symbol + bytes, WORD_END, last ? sizeof WORD_END : 1);
    symbol[bytes + (last ? (int)sizeof WORD_END - 1 : 0)] = 0;
    return cla_vocab_find(&bpe->symbols, symbol);
}

static void rank_pair(const cla_bpe *bpe, cut *p, size_t i)
{
    const bool pair = i + 1 < p->count && p->id[i] >= 0 && p->id[i + 1] >= 0;
    p->rank[i] = pair ? cla_pairmap_find(&bpe->rank, p->id[i], p->id[i + 1]) : -1;
}

static void cut_characters(const cla_bpe *bpe, cut *p, const char *word, size_t size)
{
    p->count = 0;
    for (size_t at = 0; at < size;) {
        int32_t code = 0;
        const int bytes = cla_utf8_next(word + at, &code);
        const bool last = at + (size_t)bytes >= size;
        p->id[p->count] = symbol_of(bpe, word + at, bytes, last);
        at += (size_t)bytes;
        p->end[p->count++] = at;
    }
    for (size_t i = 0; i < p->count; i++) {
        rank_pair(bpe, p, i);
    }
}

/* The rank that comes first in the codes, or -1. */
static int32_t first_rank(const cut *p)
{
    int32_t best = -1;
    for (size_t i = 0; i + 1 < p->count; i++) {
        const int32_t rank = p->rank[i];
        best = rank >= 0 && (best < 0 || rank < best) ? rank : best;
    }
    return best;
}

/* Merges every pair of a rank, from the left; looks up what that made new. */
static void merge(const cla_bpe *bpe, cut *p, int32_t rank)
{
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++, n++) {
        const bool here = p->rank[i] == rank;
        p->id[n] = here ? bpe->merged[rank] : p->id[i];
        p->rank[n] = here ? STALE : p->rank[i];
        if (here && n) {
            p->rank[n - 1] = STALE;
        }
        i += here;
        p->end[n] = p->end[i];
    }
    p->count = n;
    for (size_t i = 0; i < n; i++) {
        if (p->rank[i] == STALE) {
            rank_pair(bpe, p, i);
        }
    }
}

static cla_status apply_word(const cla_bpe *bpe, cut *p, const char *word, size_t size,
                             cla_text *out)
{
    cut_characters(bpe, p, word, size);
    for (int32_t rank = 0; (rank = first_rank(p)) >= 0;) {
        merge(bpe, p, rank);
    }
    for (size_t i = 0, begin = 0; i < p->count; begin = p->end[i++]) {
        CLA_TRY(cla_text_append(out, word + begin, p->end[i] - begin));
        CLA_TRY(i + 1 < p->count ? cla_text_append(out, NOT_LAST " ", 3) : CLA_OK);
    }
    return CLA_OK;
}

static cla_status apply_line(const cla_bpe *bpe, cut *p, const char *line, size_t size,
                             cla_text *out)
{
    bool first = true;
    for (size_t at = 0; at < size;) {
        const char *blank = memchr(line + at, ' ', size - at);
        const size_t bytes = (blank ? (size_t)(blank - line) : size) - at;
        if (bytes) {
            CLA_TRY(cla_text_append(out, " ", !first));
            CLA_TRY(apply_word(bpe, p, line + at, bytes, out));
            first = false;
        }
        at += bytes + 1;
    }
    return CLA_OK;
}

static cla_status alloc_cut(cut *p, size_t size)
{
    CLA_TRY(cla_alloc(&p->id, size + 1, sizeof *p->id));
    CLA_TRY(cla_alloc(&p->rank, size + 1, sizeof *p->rank));
    return cla_alloc(&p->end, size + 1, sizeof *p->end);
}

/* Blanks at the line's two ends stay, as subword-nmt has it. */
cla_status cla_bpe_apply(const cla_bpe *bpe, const char *line, size_t size,
                         cla_text *out)
{
    size_t begin = 0, end = size;
    while (begin < size && line[begin] == ' ') {
        begin++;
    }
    while (end > begin && line[end - 1] == ' ') {
        end--;
    }
    cut p = { 0 };
    cla_status status = cla_text_append(out, line, begin);
    status = status ? status : alloc_cut(&p, end - begin);
    status = status ? status : apply_line(bpe, &p, line + begin, end - begin, out);
    status = status ? status : cla_text_append(out, line + end, size - end);
    free(p.id);
    free(p.rank);
    free(p.end);
    return status;
}

cla_status cla_bpe_undo(const char *pieces, size_t size, cla_text *out)
{
    CLA_TRY(cla_text_append(out, "", 0));
    for (size_t at = 0; at < size;) {
        const size_t left = size - at;
        const bool joins = left >= 2 && memcmp(pieces + at, NOT_LAST, 2) == 0 &&
                           (left == 2 || pieces[at + 2] == ' ');
        CLA_TRY(cla_text_append(out, pieces + at, joins ? 0 : 1));
        at += joins ? 3 : 1;
    }
    return CLA_OK;
}
