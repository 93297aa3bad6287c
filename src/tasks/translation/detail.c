/* detail.c - the pieces of a translation, and which words belong together. */
#include "tasks/translation/detail.h"

#include <string.h>

#include "models/alignment.h"

/* Most numbers of logits at a time: 256 MB. */
enum { MOST_LOGITS = 1 << 26 };

void cla_translation_detail_free(translation_detail **detail)
{
    if (*detail) {
        cla_text_free(&(*detail)->names);
        free((*detail)->logp);
        free((*detail)->link);
        free((*detail)->name);
    }
    free(*detail);
    *detail = NULL;
}

void cla_translation_result_fini(translation_result *result)
{
    cla_text_free(&result->text);
    cla_translation_detail_free(&result->detail);
}

static cla_status add_piece(translation_detail *d, const char *name, double logp)
{
    CLA_TRY(cla_grow(&d->logp, &d->logp_cap, d->pieces + 1, sizeof *d->logp));
    CLA_TRY(cla_text_append(&d->names, name, strlen(name) + 1));
    d->logp[d->pieces++] = logp;
    return CLA_OK;
}

static cla_status add_link(translation_detail *d, size_t source, size_t target)
{
    CLA_TRY(cla_grow(&d->link, &d->link_cap, d->links + 1, sizeof *d->link));
    d->link[d->links++] = (cla_word_link){ (int32_t)source, (int32_t)target };
    return CLA_OK;
}

cla_status cla_translation_detail_add(translation_detail **to,
                                      const translation_detail *from, size_t source,
                                      size_t target)
{
    if (!from) {
        return CLA_OK;
    }
    CLA_TRY(*to ? CLA_OK : cla_alloc(to, 1, sizeof **to));
    const char *name = from->names.data;
    for (size_t i = 0; i < from->pieces; i++, name += strlen(name) + 1) {
        CLA_TRY(add_piece(*to, name, from->logp[i]));
    }
    for (size_t i = 0; i < from->links; i++) {
        CLA_TRY(add_link(*to, source + (size_t)from->link[i].source,
                         target + (size_t)from->link[i].target));
    }
    return CLA_OK;
}

/* ---- words of pieces ------------------------------------------------------------- */

/* Finds the word of each piece of a line, -1: none. Pieces do not cross blanks: those
 * of the line's first w words are as many as these words have by themselves. */
static cla_status find_source(const translation *t, const translation_given *g,
                              int32_t *word, size_t *words)
{
    const cla_subwords *s = &t->source;
    const size_t prefix = cla_subwords_prefix(s, g->line, strlen(g->line));
    const char *at = g->line + prefix;
    size_t from = (s->before != 0) + (prefix != 0), n = 0;
    cla_ids ids = { 0 };
    cla_status status = CLA_OK;
    for (int64_t i = 0; i < g->source_count; i++) {
        word[i] = -1;
    }
    for (at += strspn(at, TRANSLATION_BLANKS); *at && !status; n++) {
        at += strcspn(at, TRANSLATION_BLANKS);
        ids.count = 0;
        status = cla_subwords_encode(s, g->line, (size_t)(at - g->line), &ids);
        for (; from < ids.count && (int64_t)from < g->source_count; from++) {
            word[from] = (int32_t)n;
        }
        at += strspn(at, TRANSLATION_BLANKS);
    }
    for (; n && (int64_t)from < g->source_count - t->source_end; from++) {
        word[from] = (int32_t)n - 1; // pieces that depend on what follows
    }
    *words = n;
    cla_ids_free(&ids);
    return status;
}

/* Returns the bytes of a text without the blanks behind it. */
static size_t trimmed(const cla_text *text)
{
    size_t size = text->size;
    while (size && strchr(TRANSLATION_BLANKS, text->data[size - 1])) {
        size--;
    }
    return size;
}

/* Finds the word that each piece of a translation ends in, or that the next piece does
 * which can be seen; -1: there is none, as with the end. */
static cla_status find_target(const translation *t, const translation_given *g,
                              int32_t *word, size_t *words)
{
    cla_text text = { 0 };
    size_t seen = 0;
    int64_t waiting = 0;
    *words = 0;
    for (int64_t i = 0; i < g->target_count; i++) {
        text.size = 0;
        word[i] = -1;
        const cla_status status =
            cla_subwords_decode(&t->target, g->target, (size_t)i + 1, &text);
        if (status) {
            cla_text_free(&text);
            return status;
        }
        if (trimmed(&text) != seen) {
            seen = trimmed(&text);
            *words = cla_count_words(text.data, TRANSLATION_BLANKS);
            for (; waiting <= i; waiting++) {
                word[waiting] = (int32_t)*words - 1;
            }
        }
    }
    cla_text_free(&text);
    return CLA_OK;
}

/* Links each word of a translation to one of its line; sum [words of the line]. */
static cla_status link_words(translation_detail *d, const translation_given *g,
                             const float *weight, const int32_t *source,
                             const int32_t *target, const size_t words[2], double *sum)
{
    const int64_t S = g->source_count;
    for (size_t w = 0; w < words[1] && words[0]; w++) {
        size_t best = 0;
        bool any = false;
        memset(sum, 0, words[0] * sizeof *sum);
        for (int64_t i = 0; i < g->target_count * S; i++) {
            if (target[i / S] == (int32_t)w && source[i % S] >= 0) {
                sum[source[i % S]] += (double)weight[i];
                any = true;
            }
        }
        for (size_t k = 1; k < words[0]; k++) {
            best = sum[k] > sum[best] ? k : best;
        }
        CLA_TRY(any ? add_link(d, best, w) : CLA_OK);
    }
    return CLA_OK;
}

static cla_status describe(const translation *t, const translation_given *g,
                           const double *logp, const float *weight)
{
    const size_t count = (size_t)(g->source_count + g->target_count);
    int32_t *word = NULL;
    double *sum = NULL;
    size_t words[2] = { 0 };
    translation_detail *d = NULL;
    CLA_TRY(cla_alloc(g->detail, 1, sizeof **g->detail));
    d = *g->detail;
    for (int64_t i = 0; i < g->target_count; i++) {
        CLA_TRY(add_piece(d, t->target.vocab.tokens[g->target[i]], logp[i]));
    }
    CLA_TRY(cla_alloc(&word, count + 1, sizeof *word));
    int32_t *target = word + g->source_count;
    cla_status status = find_source(t, g, word, &words[0]);
    status = status ? status : find_target(t, g, target, &words[1]);
    status = status ? status : cla_alloc(&sum, words[0] + 1, sizeof *sum);
    status = status ? status : link_words(d, g, weight, word, target, words, sum);
    free(word);
    free(sum);
    return status;
}

/* ---- the network ----------------------------------------------------------------- */

/* Some translations as pairs. */
typedef struct pairs {
    cla_bitext text;
    int64_t *pair; // [count] 0, 1, ...
    double *logp;  // [pieces of targets]
    float *weight;
} pairs;

static void free_pairs(pairs *p)
{
    free(p->text.source);
    free(p->text.target);
    free(p->text.source_at);
    free(p->text.target_at);
    free(p->pair);
    free(p->logp);
    free(p->weight);
}

static cla_status fill(pairs *p, const translation_given *g, int64_t n)
{
    cla_bitext *b = &p->text;
    size_t sources = 0, targets = 0, weights = 0;
    for (int64_t i = 0; i < n; i++) {
        sources += (size_t)g[i].source_count;
        targets += (size_t)g[i].target_count;
        weights += (size_t)(g[i].source_count * g[i].target_count);
    }
    CLA_TRY(cla_alloc(&b->source, sources + 1, sizeof *b->source));
    CLA_TRY(cla_alloc(&b->target, targets + 1, sizeof *b->target));
    CLA_TRY(cla_alloc(&b->source_at, (size_t)n + 1, sizeof *b->source_at));
    CLA_TRY(cla_alloc(&b->target_at, (size_t)n + 1, sizeof *b->target_at));
    CLA_TRY(cla_alloc(&p->pair, (size_t)n + 1, sizeof *p->pair));
    CLA_TRY(cla_alloc(&p->logp, targets + 1, sizeof *p->logp));
    CLA_TRY(cla_alloc(&p->weight, weights + 1, sizeof *p->weight));
    for (int64_t i = 0; i < n; i++) {
        const size_t size[] = { (size_t)g[i].source_count, (size_t)g[i].target_count };
        memcpy(b->source + b->source_at[i], g[i].source, size[0] * sizeof *b->source);
        memcpy(b->target + b->target_at[i], g[i].target, size[1] * sizeof *b->target);
        b->source_at[i + 1] = b->source_at[i] + g[i].source_count;
        b->target_at[i + 1] = b->target_at[i] + g[i].target_count;
        p->pair[i] = i;
    }
    b->count = n;
    return CLA_OK;
}

static cla_status look(translation *t, const pairs *p)
{
    cla_tape *tape = NULL;
    translation_batch b;
    CLA_TRY(
        cla_translation_batch_make(t->task.rt, &p->text, p->pair, p->text.count, &b));
    const transformer_batch batch = cla_translation_batch_view(&b, 0, 0);
    cla_status status = cla_tape_new(&tape, t->task.rt, false);
    status = status
                 ? status
                 : cla_transformer_align(&t->model, tape, &batch, p->logp, p->weight);
    cla_tape_free(&tape);
    cla_translation_batch_free(&b);
    return status;
}

static cla_status look_at(translation *t, const translation_given *g, int64_t n,
                          bool free_first)
{
    pairs p = { .text = { .count = 0 } };
    cla_status status = fill(&p, g, n);
    status = status ? status : look(t, &p);
    const double *logp = p.logp;
    const float *weight = p.weight;
    for (int64_t i = 0; i < n && !status; i++) {
        if (free_first) {
            p.logp[p.text.target_at[i]] = 0;
        }
        if (g[i].free_end) {
            p.logp[p.text.target_at[i + 1] - 1] = 0;
        }
        status = describe(t, &g[i], logp, weight);
        logp += g[i].target_count;
        weight += g[i].target_count * g[i].source_count;
    }
    free_pairs(&p);
    return status;
}

cla_status cla_translation_details(translation *t, const translation_given *given,
                                   int64_t n, bool free_first)
{
    const int64_t room = MOST_LOGITS / t->config.target_pieces;
    for (int64_t from = 0, to; from < n; from = to) {
        int64_t pieces = given[from].target_count;
        for (to = from + 1; to < n && pieces + given[to].target_count <= room; to++) {
            pieces += given[to].target_count;
        }
        CLA_TRY(look_at(t, given + from, to - from, free_first));
    }
    return CLA_OK;
}
