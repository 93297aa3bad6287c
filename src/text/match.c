/* match.c - recall and F1 of words against the words of right answers. */
#include "text/match.h"

#include <string.h>

void cla_match_free(cla_match *m)
{
    cla_vocab_free(&m->words);
    free(m->id);
    free(m->end);
    free(m->left);
    *m = (cla_match){ 0 };
}

void cla_match_clear(cla_match *m)
{
    cla_vocab_free(&m->words);
    m->id_count = m->count = 0;
}

cla_status cla_match_add(cla_match *m, const char *word)
{
    int number = 0;
    CLA_TRY(cla_vocab_add(&m->words, word, 1, &number));
    CLA_TRY(cla_grow(&m->id, &m->id_cap, m->id_count + 1, sizeof *m->id));
    m->id[m->id_count++] = number;
    return CLA_OK;
}

cla_status cla_match_end(cla_match *m)
{
    CLA_TRY(cla_grow(&m->end, &m->end_cap, m->count + 1, sizeof *m->end));
    m->end[m->count++] = m->id_count;
    return CLA_OK;
}

static size_t begin_of(const cla_match *m, size_t answer)
{
    return answer ? m->end[answer - 1] : 0;
}

/* Counts each word of the answer in m->left; returns the answer's length. */
static size_t count_answer(const cla_match *m, size_t answer)
{
    const size_t begin = begin_of(m, answer);
    memset(m->left, 0, m->words.count * sizeof *m->left);
    for (size_t i = begin; i < m->end[answer]; i++) {
        m->left[m->id[i]]++;
    }
    return m->end[answer] - begin;
}

/* Takes a word from m->left; returns whether the answer had it once more. */
static bool take(const cla_match *m, int32_t id)
{
    return id >= 0 && m->left[id]-- > 0;
}

static cla_status make_room(cla_match *m)
{
    return cla_grow(&m->left, &m->left_cap, m->words.count + 1, sizeof *m->left);
}

cla_status cla_match_recall(cla_match *m, const int32_t *id, size_t n, double *recall)
{
    *recall = 0;
    CLA_TRY(make_room(m));
    for (size_t k = 0; k < m->count; k++) {
        const size_t length = count_answer(m, k);
        size_t same = 0;
        for (size_t i = 0; i < n; i++) {
            same += take(m, id[i]);
        }
        const double part = same ? (double)same / (double)length : 0;
        *recall = part > *recall ? part : *recall;
    }
    return CLA_OK;
}

/* Compares the spans that start at best->first with one answer; keeps the best. */
static void try_spans(const cla_match *m, const int32_t *id, size_t n, size_t answer,
                      cla_match_span *best)
{
    const size_t length = count_answer(m, answer), first = best->first;
    size_t same = 0;
    for (size_t i = 0; i < n; i++) {
        same += take(m, id[i]);
        const double f1 = 2 * (double)same / (double)(i + 1 + length);
        const bool longer = f1 == best->f1 && first + i > best->last;
        if (same && (f1 > best->f1 || longer)) {
            *best = (cla_match_span){ first, first + i, answer, f1 };
        }
    }
}

cla_status cla_match_best(cla_match *m, const int32_t *id, size_t n, size_t limit,
                          cla_match_span *best)
{
    *best = (cla_match_span){ 0 };
    CLA_TRY(make_room(m));
    for (size_t first = 0; first < n; first++) {
        const size_t rest = n - first;
        cla_match_span here = { .first = first };
        // a span that starts with a word of no answer is worse than one without it
        for (size_t k = 0; k < m->count && id[first] >= 0; k++) {
            try_spans(m, id + first, limit && limit < rest ? limit : rest, k, &here);
        }
        if (here.f1 > best->f1) {
            *best = here;
        }
    }
    return CLA_OK;
}
