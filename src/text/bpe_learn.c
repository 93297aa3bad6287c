/* bpe_learn.c - learns merges; updates pair counts after each, with a heap of pairs. */
#include <string.h>

#include "base/utf8.h"
#include "text/bpe.h"

#define WORD_END "</w>"

/* Two adjacent symbols. */
typedef struct pair {
    int32_t left, right;
    int64_t count;
    int64_t queued;  // its count in the heap; 0: not there
    uint32_t *words; // words that contain it, or did
    size_t word_count, word_cap;
} pair;

typedef struct entry {
    int64_t count; // of the pair when it was queued
    int32_t pair;
} entry;

typedef struct learner {
    const cla_vocab *words;
    cla_vocab symbols;
    int32_t *symbol; // of all words, one after the other
    size_t *begin;   // [words+1]
    size_t *length;  // [words] symbols of each word now
    pair *pairs;
    size_t pair_count, pair_cap;
    cla_pairmap pair_of; // index of a pair by its symbols
    entry *heap;
    size_t heap_count, heap_cap;
    int32_t *touched; // pairs that the current merge may have made more frequent
    size_t touched_count, touched_cap;
} learner;

static void learner_free(learner *l)
{
    for (size_t i = 0; i < l->pair_count; i++) {
        free(l->pairs[i].words);
    }
    cla_vocab_free(&l->symbols);
    cla_pairmap_free(&l->pair_of);
    free(l->symbol);
    free(l->begin);
    free(l->length);
    free(l->pairs);
    free(l->heap);
    free(l->touched);
}

/* ---- the heap ---------------------------------------------------------------- */

/* Orders pairs: more frequent first; of equals, the pair whose symbols sort last. */
static bool precedes(const learner *l, const entry *a, const entry *b)
{
    if (a->count != b->count) {
        return a->count > b->count;
    }
    const pair *p = &l->pairs[a->pair], *q = &l->pairs[b->pair];
    char *const *text = l->symbols.tokens;
    const int left = strcmp(text[p->left], text[q->left]);
    return (left ? left : strcmp(text[p->right], text[q->right])) > 0;
}

static void swap_entries(entry *a, entry *b)
{
    const entry kept = *a;
    *a = *b;
    *b = kept;
}

static cla_status push(learner *l, int32_t id)
{
    CLA_TRY(cla_grow(&l->heap, &l->heap_cap, l->heap_count + 1, sizeof *l->heap));
    size_t at = l->heap_count++;
    l->heap[at] = (entry){ l->pairs[id].count, id };
    l->pairs[id].queued = l->pairs[id].count;
    for (; at && precedes(l, &l->heap[at], &l->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        swap_entries(&l->heap[at], &l->heap[(at - 1) / 2]);
    }
    return CLA_OK;
}

static entry pop(learner *l)
{
    const entry top = l->heap[0];
    l->heap[0] = l->heap[--l->heap_count];
    for (size_t at = 0;;) {
        size_t best = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            const bool better =
                child < l->heap_count && precedes(l, &l->heap[child], &l->heap[best]);
            best = better ? child : best;
        }
        if (best == at) {
            return top;
        }
        swap_entries(&l->heap[at], &l->heap[best]);
        at = best;
    }
}

/* Finds the pair to merge now; -1: none. Pairs that became rarer are queued again. */
static cla_status pop_most_frequent(learner *l, int64_t min_count, int32_t *id)
{
    *id = -1;
    while (l->heap_count && l->heap[0].count >= min_count) {
        const entry top = pop(l);
        pair *p = &l->pairs[top.pair];
        if (top.count != p->queued) {
            continue; // the pair was queued again since
        }
        if (p->count == top.count) {
            p->queued = 0;
            *id = top.pair;
            return CLA_OK;
        }
        p->queued = 0;
        CLA_TRY(p->count > 0 ? push(l, top.pair) : CLA_OK);
    }
    return CLA_OK;
}

/* ---- counts ------------------------------------------------------------------ */

static cla_status pair_id(learner *l, int32_t left, int32_t right, int32_t *id)
{
    CLA_TRY(cla_pairmap_put(&l->pair_of, left, right, (int32_t)l->pair_count, id));
    if ((size_t)*id == l->pair_count) {
        CLA_TRY(cla_grow(&l->pairs, &l->pair_cap, l->pair_count + 1, sizeof *l->pairs));
        l->pairs[l->pair_count++] = (pair){ .left = left, .right = right };
    }
    return CLA_OK;
}

/* Adds a word's frequency to the pair, and the word to the pair's words. */
static cla_status note_pair(learner *l, int32_t left, int32_t right, uint32_t word)
{
    int32_t id = 0;
    CLA_TRY(pair_id(l, left, right, &id));
    pair *p = &l->pairs[id];
    p->count += l->words->counts[word];
    if (!p->word_count || p->words[p->word_count - 1] != word) {
        CLA_TRY(cla_grow(&p->words, &p->word_cap, p->word_count + 1, sizeof *p->words));
        p->words[p->word_count++] = word;
    }
    CLA_TRY(cla_grow(&l->touched, &l->touched_cap, l->touched_count + 1,
                     sizeof *l->touched));
    l->touched[l->touched_count++] = id;
    return CLA_OK;
}

/* Subtracts a word's frequency from each of its pairs. */
static void uncount(learner *l, uint32_t word)
{
    const int32_t *symbol = l->symbol + l->begin[word];
    for (size_t i = 0; i + 1 < l->length[word]; i++) {
        const int32_t id = cla_pairmap_find(&l->pair_of, symbol[i], symbol[i + 1]);
        l->pairs[id].count -= l->words->counts[word];
    }
}

/* Adds a word's frequency to each of its pairs. Pairs with the symbol whole are new in
 * the word and are noted; if whole is -1, all are. */
static cla_status recount(learner *l, uint32_t word, int32_t whole)
{
    const int32_t *symbol = l->symbol + l->begin[word];
    for (size_t i = 0; i + 1 < l->length[word]; i++) {
        const int32_t left = symbol[i], right = symbol[i + 1];
        if (whole < 0 || left == whole || right == whole) {
            CLA_TRY(note_pair(l, left, right, word));
        } else {
            l->pairs[cla_pairmap_find(&l->pair_of, left, right)].count +=
                l->words->counts[word];
        }
    }
    return CLA_OK;
}

static cla_status queue_touched(learner *l)
{
    for (size_t i = 0; i < l->touched_count; i++) {
        const pair *p = &l->pairs[l->touched[i]];
        CLA_TRY(p->count > p->queued ? push(l, l->touched[i]) : CLA_OK);
    }
    l->touched_count = 0;
    return CLA_OK;
}

/* ---- a merge ----------------------------------------------------------------- */

/* Replaces each left, right in the word by whole. */
static void rewrite(learner *l, uint32_t word, int32_t left, int32_t right,
                    int32_t whole)
{
    int32_t *symbol = l->symbol + l->begin[word];
    size_t n = 0;
    for (size_t i = 0; i < l->length[word]; i++, n++) {
        const bool here =
            symbol[i] == left && i + 1 < l->length[word] && symbol[i + 1] == right;
        symbol[n] = here ? whole : symbol[i];
        i += here;
    }
    l->length[word] = n;
}

static bool holds(const learner *l, uint32_t word, int32_t left, int32_t right)
{
    const int32_t *symbol = l->symbol + l->begin[word];
    for (size_t i = 0; i + 1 < l->length[word]; i++) {
        if (symbol[i] == left && symbol[i + 1] == right) {
            return true;
        }
    }
    return false;
}

/* Rewrites a word, if it has the pair, and updates the counts of its pairs. */
static cla_status merge_word(learner *l, uint32_t word, const pair *p, int32_t whole)
{
    if (!holds(l, word, p->left, p->right)) {
        return CLA_OK;
    }
    uncount(l, word);
    rewrite(l, word, p->left, p->right, whole);
    return recount(l, word, whole);
}

static cla_status merge(learner *l, int32_t id, cla_text *codes)
{
    const pair p = l->pairs[id]; // the list may move while pairs are added
    const char *left = l->symbols.tokens[p.left], *right = l->symbols.tokens[p.right];
    int whole = 0;
    const size_t line = codes->size;
    CLA_TRY(cla_text_add(codes, "%s%s", left, right));
    CLA_TRY(cla_vocab_add(&l->symbols, codes->data + line, 1, &whole));
    codes->size = line;
    CLA_TRY(cla_text_add(codes, "%s %s\n", left, right));
    l->pairs[id].words = NULL;
    l->pairs[id].word_count = l->pairs[id].word_cap = 0;
    cla_status status = CLA_OK;
    for (size_t i = 0; i < p.word_count && !status; i++) {
        status = merge_word(l, p.words[i], &p, whole);
    }
    free(p.words);
    return status ? status : queue_touched(l);
}

/* ---- the words --------------------------------------------------------------- */

static cla_status add_symbol(learner *l, const char *character, int bytes, bool last,
                             int32_t *id)
{
    char symbol[16] = "";
    int position = 0;
    memcpy(symbol, character, (size_t)bytes);
    memcpy(symbol + bytes, WORD_END, last ? sizeof WORD_END - 1 : 0);
    CLA_TRY(cla_vocab_add(&l->symbols, symbol, 1, &position));
    *id = position;
    return CLA_OK;
}

static cla_status cut_word(learner *l, uint32_t word)
{
    size_t n = l->begin[word];
    for (const char *at = l->words->tokens[word]; *at; n++) {
        int32_t code = 0;
        const int bytes = cla_utf8_next(at, &code);
        CLA_TRY(add_symbol(l, at, bytes, !at[bytes], &l->symbol[n]));
        at += bytes;
    }
    l->length[word] = n - l->begin[word];
    l->begin[word + 1] = n;
    return recount(l, word, -1);
}

static cla_status learn(learner *l, int64_t merges, int64_t min_count, cla_text *codes)
{
    const size_t n = l->words->count;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += strlen(l->words->tokens[i]);
    }
    CLA_TRY(cla_alloc(&l->symbol, bytes, sizeof *l->symbol));
    CLA_TRY(cla_alloc(&l->begin, n + 1, sizeof *l->begin));
    CLA_TRY(cla_alloc(&l->length, n, sizeof *l->length));
    for (size_t i = 0; i < n; i++) {
        CLA_TRY(cut_word(l, (uint32_t)i));
    }
    CLA_TRY(queue_touched(l));
    CLA_TRY(cla_text_add(codes, "#version: 0.2\n"));
    for (int64_t i = 0; i < merges; i++) {
        int32_t id = 0;
        CLA_TRY(pop_most_frequent(l, min_count, &id));
        if (id < 0) {
            break;
        }
        CLA_TRY(merge(l, id, codes));
    }
    return CLA_OK;
}

cla_status cla_bpe_learn(const cla_vocab *words, int64_t merges, int64_t min_count,
                         cla_text *codes)
{
    learner l = { .words = words };
    const cla_status status = learn(&l, merges, min_count > 1 ? min_count : 1, codes);
    learner_free(&l);
    return status;
}

/* Returns the bytes of the word at the start of text. It ends at a blank or CR: a line
 * of codes cannot have a CR at its end. */
static size_t word_size(const char *text, size_t size)
{
    size_t bytes = 0;
    while (bytes < size && text[bytes] != ' ' && text[bytes] != '\r') {
        bytes++;
    }
    return bytes;
}

cla_status cla_bpe_count(cla_vocab *words, const char *line, size_t size)
{
    cla_text word = { 0 };
    cla_status status = CLA_OK;
    for (size_t at = 0; at < size && !status;) {
        const size_t bytes = word_size(line + at, size - at);
        if (bytes) {
            word.size = 0;
            status = cla_text_append(&word, line + at, bytes);
            status = status ? status : cla_vocab_add(words, word.data, 1, NULL);
        }
        at += bytes + 1;
    }
    cla_text_free(&word);
    return status;
}
