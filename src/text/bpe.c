/* bpe.c - byte pair encoding: reads codes, cuts words into pieces and joins them. */
#include "text/bpe.h"

#include <assert.h>
#include <string.h>

#include "base/input.h"
#include "base/utf8.h"

#define WORD_END "</w>"
#define NOT_LAST "@@"

enum { STALE = -2, GONE = -3 }; // ranks: to be looked up; of a piece joined to another

/* ---- reading codes ----------------------------------------------------------- */

void cla_bpe_free(cla_bpe *bpe)
{
    cla_vocab_free(&bpe->symbols);
    cla_pairmap_free(&bpe->rank);
    free(bpe->merged);
    *bpe = (cla_bpe){ 0 };
}

cla_status cla_bpe_add(cla_bpe *bpe, int32_t a, int32_t b, int32_t whole)
{
    int32_t rank = 0;
    CLA_TRY(cla_grow(&bpe->merged, &bpe->cap, bpe->count + 1, sizeof *bpe->merged));
    CLA_TRY(cla_pairmap_put(&bpe->rank, a, b, (int32_t)bpe->count, &rank));
    bpe->merged[bpe->count] = whole;
    bpe->count += (size_t)rank == bpe->count;
    return CLA_OK;
}

static cla_status add_merge(cla_bpe *bpe, const char *left, const char *right)
{
    int a = 0, b = 0, whole = 0;
    cla_text both = { 0 };
    CLA_TRY(cla_vocab_add(&bpe->symbols, left, 1, &a));
    CLA_TRY(cla_vocab_add(&bpe->symbols, right, 1, &b));
    cla_status status = cla_text_add(&both, "%s%s", left, right);
    status = status ? status : cla_vocab_add(&bpe->symbols, both.data, 1, &whole);
    cla_text_free(&both);
    return status ? status : cla_bpe_add(bpe, a, b, whole);
}

static cla_status read_merge(cla_bpe *bpe, const cla_scan *scan, char *line)
{
    char *blank = strchr(line, ' ');
    if (!blank || blank == line || !blank[1] || strchr(blank + 1, ' ')) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: '%.40s' is no merge: must be two symbols",
                        scan->path, scan->number, line);
    }
    *blank = 0;
    return add_merge(bpe, line, blank + 1);
}

static cla_status read_merges(cla_bpe *bpe, cla_scan *scan)
{
    static const char version[] = "#version: 0.2";
    char *line = NULL;
    size_t size = 0;
    CLA_TRY(cla_scan_line(scan, &line, &size));
    if (!line || strncmp(line, version, sizeof version - 1) != 0) {
        return cla_fail(CLA_E_INPUT, "%s:1: codes must begin with '%s'", scan->path,
                        version);
    }
    for (;;) {
        CLA_TRY(cla_scan_filled(scan, &line, &size));
        if (!line) {
            return CLA_OK;
        }
        CLA_TRY(read_merge(bpe, scan, line));
    }
}

static cla_status parse(cla_bpe *bpe, cla_scan *scan)
{
    const cla_status status = read_merges(bpe, scan);
    if (status) {
        cla_bpe_free(bpe);
    }
    return status;
}

cla_status cla_bpe_parse(cla_bpe *bpe, const char *path, char *data, size_t size)
{
    cla_scan scan = cla_scan_text(path, 0, data, size);
    *bpe = (cla_bpe){ 0 };
    return parse(bpe, &scan);
}

cla_status cla_bpe_load(cla_bpe *bpe, const char *path)
{
    cla_scan scan = { 0 };
    *bpe = (cla_bpe){ 0 };
    CLA_TRY(cla_scan_file(&scan, path, CLA_SOURCE_PIPE));
    const cla_status status = parse(bpe, &scan);
    free(scan.data);
    return status;
}

/* ---- applying ---------------------------------------------------------------- */

/* A word while its pieces are merged. Pieces are parts of its text in a linked list;
 * the index of a piece is that of its first character. The heap holds
 * rank << 32 | piece; an entry whose piece has another rank by now is skipped. */
typedef struct cut {
    int32_t *id;    // symbol; -1: in no code
    int32_t *rank;  // of the merge with the next piece; -1 (none), STALE or GONE
    uint32_t *next; // next piece; after the last one, count
    uint32_t *prev; // previous piece; of the first one, itself
    size_t *end;    // byte of the word where the piece ends
    uint32_t *made; // pieces made by the latest merge
    uint64_t *heap;
    uint32_t count; // characters
    size_t heap_count;
} cut;

static int symbol_of(const cla_bpe *bpe, const char *character, int bytes, bool last)
{
    char symbol[16] = "";
    memcpy(symbol, character, (size_t)bytes);
    memcpy(symbol + bytes, WORD_END, last ? sizeof WORD_END : 1);
    symbol[bytes + (last ? (int)sizeof WORD_END - 1 : 0)] = 0;
    return cla_vocab_find(&bpe->symbols, symbol);
}

static void push(cut *p, uint64_t entry)
{
    size_t at = p->heap_count++;
    for (; at && p->heap[(at - 1) / 2] > entry; at = (at - 1) / 2) {
        p->heap[at] = p->heap[(at - 1) / 2];
    }
    p->heap[at] = entry;
}

static uint64_t pop(cut *p)
{
    const uint64_t top = p->heap[0], last = p->heap[--p->heap_count];
    size_t at = 0;
    for (size_t child = 1; child < p->heap_count; child = 2 * at + 1) {
        child += child + 1 < p->heap_count && p->heap[child + 1] < p->heap[child];
        if (p->heap[child] >= last) {
            break;
        }
        p->heap[at] = p->heap[child];
        at = child;
    }
    p->heap[at] = last;
    return top;
}

/* Looks up the merge of a piece with the next one. */
static void rank_pair(const cla_bpe *bpe, cut *p, uint32_t i)
{
    const uint32_t next = p->next[i];
    const bool pair = next < p->count && p->id[i] >= 0 && p->id[next] >= 0;
    p->rank[i] = pair ? cla_pairmap_find(&bpe->rank, p->id[i], p->id[next]) : -1;
    if (p->rank[i] >= 0) {
        push(p, (uint64_t)p->rank[i] << 32 | i);
    }
}

static void cut_characters(const cla_bpe *bpe, cut *p, const char *word, size_t size)
{
    assert(p->id || !size);
    p->count = 0;
    p->heap_count = 0;
    for (size_t at = 0; at < size;) {
        const uint32_t i = p->count++;
        int32_t code = 0;
        const int bytes = cla_utf8_next(word + at, &code);
        const bool last = at + (size_t)bytes >= size;
        p->id[i] = symbol_of(bpe, word + at, bytes, last);
        p->prev[i] = i ? i - 1 : 0;
        p->next[i] = i + 1;
        at += (size_t)bytes;
        p->end[i] = at;
    }
    for (uint32_t i = 0; i < p->count; i++) {
        rank_pair(bpe, p, i);
    }
}

/* Replaces a piece and the next one by whole. */
static void join(cut *p, uint32_t i, int32_t whole)
{
    const uint32_t next = p->next[i], after = p->next[next];
    p->id[i] = whole;
    p->end[i] = p->end[next];
    p->next[i] = after;
    if (after < p->count) {
        p->prev[after] = i;
    }
    p->rank[next] = GONE;
    p->rank[i] = STALE;
    p->rank[p->prev[i]] = STALE;
}

/* Merges every pair of the lowest rank in the heap, from the left, then looks up the
 * new pairs. */
static void merge_first(const cla_bpe *bpe, cut *p)
{
    const int32_t rank = (int32_t)(p->heap[0] >> 32);
    size_t made = 0;
    while (p->heap_count && (int32_t)(p->heap[0] >> 32) == rank) {
        const uint32_t i = (uint32_t)pop(p);
        if (p->rank[i] == rank) {
            join(p, i, bpe->merged[rank]);
            p->made[made++] = i;
        }
    }
    for (size_t k = 0; k < made; k++) {
        const uint32_t around[] = { p->prev[p->made[k]], p->made[k] };
        for (int j = 0; j < 2; j++) {
            if (p->rank[around[j]] == STALE) {
                rank_pair(bpe, p, around[j]);
            }
        }
    }
}

static cla_status apply_word(const cla_bpe *bpe, cut *p, const char *word, size_t size,
                             cla_text *out)
{
    cut_characters(bpe, p, word, size);
    while (p->heap_count) {
        merge_first(bpe, p);
    }
    size_t begin = 0;
    for (uint32_t i = 0; i < p->count; i = p->next[i]) {
        CLA_TRY(cla_text_append(out, word + begin, p->end[i] - begin));
        CLA_TRY(p->next[i] < p->count ? cla_text_append(out, NOT_LAST " ", 3) : CLA_OK);
        begin = p->end[i];
    }
    return CLA_OK;
}

static size_t word_size(const char *line, size_t size)
{
    const char *blank = memchr(line, ' ', size);
    return blank ? (size_t)(blank - line) : size;
}

static cla_status apply_line(const cla_bpe *bpe, cut *p, const char *line, size_t size,
                             cla_text *out)
{
    bool first = true;
    for (size_t at = 0; at < size;) {
        const size_t bytes = word_size(line + at, size - at);
        if (bytes) {
            CLA_TRY(cla_text_append(out, " ", !first));
            CLA_TRY(apply_word(bpe, p, line + at, bytes, out));
            first = false;
        }
        at += bytes + 1;
    }
    return CLA_OK;
}

/* Allocates for a word. The heap gets an entry for each pair of characters, and two for
 * each merge. */
static cla_status alloc_cut(cut *p, size_t longest)
{
    if (longest > INT32_MAX) {
        return cla_fail(CLA_E_INPUT, "a word of %zu bytes is too long", longest);
    }
    CLA_TRY(cla_alloc(&p->id, longest, sizeof *p->id));
    CLA_TRY(cla_alloc(&p->rank, longest, sizeof *p->rank));
    CLA_TRY(cla_alloc(&p->next, longest, sizeof *p->next));
    CLA_TRY(cla_alloc(&p->prev, longest, sizeof *p->prev));
    CLA_TRY(cla_alloc(&p->end, longest, sizeof *p->end));
    CLA_TRY(cla_alloc(&p->made, longest, sizeof *p->made));
    return cla_alloc(&p->heap, 3 * longest, sizeof *p->heap);
}

static void free_cut(cut *p)
{
    free(p->id);
    free(p->rank);
    free(p->next);
    free(p->prev);
    free(p->end);
    free(p->made);
    free(p->heap);
}

static size_t longest_word(const char *line, size_t size)
{
    size_t longest = 0;
    for (size_t at = 0, bytes = 0; at < size; at += bytes + 1) {
        bytes = word_size(line + at, size - at);
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

/* Keeps blanks at both ends of the line, as subword-nmt does. */
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
    status = status ? status : alloc_cut(&p, longest_word(line + begin, end - begin));
    status = status ? status : apply_line(bpe, &p, line + begin, end - begin, out);
    status = status ? status : cla_text_append(out, line + end, size - end);
    free_cut(&p);
    return status;
}

/* Merges the pair of the lowest rank, the leftmost of them. */
static void merge_one(const cla_bpe *bpe, cut *p)
{
    const uint64_t top = pop(p);
    const uint32_t i = (uint32_t)top, before = p->prev[i];
    const int32_t rank = (int32_t)(top >> 32);
    if (p->rank[i] != rank) {
        return;
    }
    join(p, i, bpe->merged[rank]);
    rank_pair(bpe, p, i);
    if (before != i) {
        rank_pair(bpe, p, before);
    }
}

cla_status cla_bpe_merge(const cla_bpe *bpe, int32_t *id, size_t *n)
{
    cut p = { .count = (uint32_t)*n };
    cla_status status = alloc_cut(&p, *n);
    assert(p.id || status || !*n);
    for (uint32_t i = 0; i < p.count && !status; i++) {
        p.id[i] = id[i];
        p.prev[i] = i ? i - 1 : 0;
        p.next[i] = i + 1;
    }
    for (uint32_t i = 0; i < p.count && !status; i++) {
        rank_pair(bpe, &p, i);
    }
    while (!status && p.heap_count) {
        merge_one(bpe, &p);
    }
    size_t kept = 0;
    for (uint32_t i = 0; i < p.count && !status; i = p.next[i]) {
        id[kept++] = p.id[i];
    }
    *n = status ? *n : kept;
    free_cut(&p);
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
