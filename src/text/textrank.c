/* textrank.c - TextRank: the graph of words, their scores, keywords. */
#include "text/textrank.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "text/lines.h"

#define DAMPING   0.85
#define TOLERANCE 1e-9

enum { ROUNDS = 300 };

struct cla_textrank_edge {
    int32_t a, b; // a < b
    double weight;
};

void cla_textrank_free(cla_textrank *t)
{
    cla_vocab_free(&t->words);
    cla_pairmap_free(&t->index);
    free(t->edge);
    *t = (cla_textrank){ 0 };
}

void cla_ranking_free(cla_ranking *r)
{
    cla_vocab_free(&r->words);
    free(r->score);
    *r = (cla_ranking){ 0 };
}

/* ---- the graph --------------------------------------------------------------- */

static cla_status join(cla_textrank *t, int a, int b, double weight)
{
    const int32_t low = a < b ? a : b, high = a < b ? b : a;
    int32_t place = 0;
    if (a == b) {
        return CLA_OK;
    }
    CLA_TRY(cla_pairmap_put(&t->index, low, high, (int32_t)t->edge_count, &place));
    if ((size_t)place == t->edge_count) {
        CLA_TRY(cla_grow(&t->edge, &t->edge_cap, t->edge_count + 1, sizeof *t->edge));
        t->edge[t->edge_count++] = (struct cla_textrank_edge){ low, high, 0 };
    }
    t->edge[place].weight += weight;
    return CLA_OK;
}

cla_status cla_textrank_join(cla_textrank *t, const char *a, const char *b,
                             double weight)
{
    int one = 0, two = 0;
    if (!(weight > 0 && isfinite(weight))) {
        return cla_fail(CLA_E_USAGE, "textrank: a weight of %g", weight);
    }
    CLA_TRY(cla_vocab_add(&t->words, a, 1, &one));
    CLA_TRY(cla_vocab_add(&t->words, b, 1, &two));
    return join(t, one, two, weight);
}

static cla_status add_words(cla_textrank *t, const cla_lexicon *stop, const char *line,
                            const cla_words *words, int *id, cla_text *form)
{
    size_t n = 0;
    for (size_t i = 0; i < words->count; i++) {
        const cla_span *s = &words->word[i];
        if (stop && cla_lexicon_has(stop, line + s->at, (size_t)s->size)) {
            continue;
        }
        form->size = 0;
        CLA_TRY(cla_text_append(form, line + s->at, (size_t)s->size));
        CLA_TRY(cla_vocab_add(&t->words, form->data, 1, &id[n]));
        for (size_t k = 0; k < n; k++) {
            CLA_TRY(join(t, id[k], id[n], 1));
        }
        n++;
    }
    return CLA_OK;
}

cla_status cla_textrank_add(cla_textrank *t, const cla_lexicon *lexicon,
                            const cla_lexicon *stop, const char *line, size_t size)
{
    cla_words words = { 0 };
    cla_text form = { 0 };
    int *id = NULL;
    cla_status status = cla_lexicon_cut(lexicon, line, size, &words);
    status = status ? status : cla_alloc(&id, words.count + 1, sizeof *id);
    status = status ? status : add_words(t, stop, line, &words, id, &form);
    cla_words_free(&words);
    cla_text_free(&form);
    free(id);
    return status;
}

/* ---- scores ------------------------------------------------------------------ */

/* Computes one round of scores; returns the largest change. sum: total weight of each
 * word's edges. */
static double step(const cla_textrank *t, const double *sum, const double *old,
                   double *new)
{
    double change = 0;
    for (size_t i = 0; i < t->words.count; i++) {
        new[i] = 1 - DAMPING;
    }
    for (size_t i = 0; i < t->edge_count; i++) {
        const struct cla_textrank_edge *e = &t->edge[i];
        new[e->a] += DAMPING * e->weight / sum[e->b] * old[e->b];
        new[e->b] += DAMPING * e->weight / sum[e->a] * old[e->a];
    }
    for (size_t i = 0; i < t->words.count; i++) {
        change = fmax(change, fabs(new[i] - old[i]));
    }
    return change;
}

/* Computes the scores in rounds and leaves them in memory[0 .. n). Each round
 * multiplies the sum of the errors by DAMPING at most, so that 300 rounds suffice for
 * any number of words. */
static void solve(const cla_textrank *t, double *memory)
{
    const size_t n = t->words.count;
    double *old = memory, *new = memory + n, *sum = memory + 2 * n;
    for (size_t i = 0; i < n; i++) {
        old[i] = 1;
    }
    for (size_t i = 0; i < t->edge_count; i++) {
        sum[t->edge[i].a] += t->edge[i].weight;
        sum[t->edge[i].b] += t->edge[i].weight;
    }
    double change = 2 * TOLERANCE;
    for (int round = 0; round < ROUNDS && change > TOLERANCE; round++) {
        change = step(t, sum, old, new);
        double *swap = old;
        old = new;
        new = swap;
    }
    memmove(memory, old, n * sizeof *memory);
}

typedef struct scored {
    double score;
    size_t word;
} scored;

static int highest_first(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score != y->score) {
        return x->score < y->score ? 1 : -1;
    }
    return (x->word > y->word) - (x->word < y->word);
}

static cla_status fill_ranking(const cla_textrank *t, const double *score,
                               scored *order, cla_ranking *r)
{
    const size_t n = t->words.count;
    CLA_TRY(cla_alloc(&r->score, n, sizeof *r->score));
    for (size_t i = 0; i < n; i++) {
        order[i] = (scored){ score[i], i };
    }
    qsort(order, n, sizeof *order, highest_first);
    for (size_t i = 0; i < n; i++) {
        const size_t word = order[i].word;
        r->score[i] = order[i].score;
        CLA_TRY(cla_vocab_add(&r->words, t->words.tokens[word], t->words.counts[word],
                              NULL));
    }
    return CLA_OK;
}

cla_status cla_textrank_rank(const cla_textrank *t, cla_ranking *r)
{
    const size_t n = t->words.count;
    double *memory = NULL;
    scored *order = NULL;
    *r = (cla_ranking){ 0 };
    if (!n) {
        return cla_fail(CLA_E_INPUT, "textrank: there are no words");
    }
    cla_status status = cla_alloc(&memory, 3 * n, sizeof *memory);
    status = status ? status : cla_alloc(&order, n, sizeof *order);
    if (!status) {
        solve(t, memory);
        status = fill_ranking(t, memory, order, r);
    }
    free(memory);
    free(order);
    if (status) {
        cla_ranking_free(r);
    }
    return status;
}

/* ---- keywords ---------------------------------------------------------------- */

/* Finds the rank of a word of line; -1: none. */
static cla_status rank_of(const cla_ranking *r, const char *line, const cla_span *s,
                          cla_text *form, int *rank)
{
    form->size = 0;
    CLA_TRY(cla_text_append(form, line + s->at, (size_t)s->size));
    *rank = cla_vocab_find(&r->words, form->data);
    return CLA_OK;
}

static cla_status best_word(const cla_ranking *r, const cla_lexicon *stop,
                            const char *line, const cla_words *words, cla_text *form,
                            size_t *best)
{
    int best_rank = INT32_MAX;
    bool stopped = true; // all words so far are stop words
    *best = 0;
    for (size_t i = 0; i < words->count; i++) {
        const cla_span *s = &words->word[i];
        int rank = -1;
        if (stop && cla_lexicon_has(stop, line + s->at, (size_t)s->size)) {
            continue;
        }
        CLA_TRY(rank_of(r, line, s, form, &rank));
        if (stopped || (rank >= 0 && rank < best_rank)) {
            *best = i;
            best_rank = rank < 0 ? INT32_MAX : rank;
            stopped = false;
        }
    }
    return CLA_OK;
}

cla_status cla_ranking_keyword(const cla_ranking *r, const cla_lexicon *lexicon,
                               const cla_lexicon *stop, const char *line, size_t size,
                               cla_span *keyword, bool *found)
{
    cla_words words = { 0 };
    cla_text form = { 0 };
    size_t best = 0;
    cla_status status = cla_lexicon_cut(lexicon, line, size, &words);
    status = status ? status : best_word(r, stop, line, &words, &form, &best);
    *found = !status && words.count > 0;
    if (*found) {
        *keyword = words.word[best];
    }
    cla_words_free(&words);
    cla_text_free(&form);
    return status;
}

/* ---- files ------------------------------------------------------------------- */

cla_status cla_ranking_save(const cla_ranking *r, const char *path)
{
    cla_text text = { 0 };
    cla_status status = cla_text_append(&text, "", 0);
    for (size_t i = 0; i < r->words.count && !status; i++) {
        status = cla_text_add(&text, "%s\t%.17g\n", r->words.tokens[i], r->score[i]);
    }
    status = status ? status : cla_file_write(path, text.data, text.size);
    cla_text_free(&text);
    return status;
}

/* State while a file is read. */
typedef struct reader {
    cla_ranking *ranking;
    const char *path;
    size_t cap;
} reader;

static cla_status read_score(void *to, size_t number, char *text, size_t size)
{
    reader *r = to;
    cla_ranking *out = r->ranking;
    const size_t known = out->words.count;
    char *tab = memchr(text, '\t', size);
    double score = 0;
    if (!tab || tab == text || !cla_parse_double(tab + 1, &score)) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: must be a word, a tab and a number",
                        r->path, number);
    }
    *tab = 0;
    if (known && score > out->score[known - 1]) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: %g is more than the score before, %g",
                        r->path, number, score, out->score[known - 1]);
    }
    CLA_TRY(cla_vocab_add(&out->words, text, 1, NULL));
    if (out->words.count == known) {
        return cla_fail(CLA_E_INPUT, "%s:%zu: duplicate word '%.40s'", r->path, number,
                        text);
    }
    CLA_TRY(cla_grow(&out->score, &r->cap, known + 1, sizeof *out->score));
    out->score[known] = score;
    return CLA_OK;
}

cla_status cla_ranking_load(cla_ranking *ranking, const char *path)
{
    reader r = { .ranking = ranking, .path = path };
    *ranking = (cla_ranking){ 0 };
    cla_status status = cla_lines_filled(path, read_score, &r);
    if (!status && !ranking->words.count) {
        status = cla_fail(CLA_E_INPUT, "%s: holds no word", path);
    }
    if (status) {
        cla_ranking_free(ranking);
    }
    return status;
}
