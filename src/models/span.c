/* span.c - selects answer spans. */
#include "models/span.h"

#include <math.h>
#include <string.h>

/* The best answers so far, at most n, in falling order of score. */
typedef struct list {
    cla_answer *answer;
    size_t count, n;
} list;

/* Inserts an answer into the list, after equal scores; drops the worst when the list is
 * full. */
static void put(list *l, cla_answer one)
{
    size_t at = l->count;
    while (at > 0 && l->answer[at - 1].score < one.score) {
        at--;
    }
    if (at == l->n) {
        return;
    }
    l->count += l->count < l->n;
    memmove(l->answer + at + 1, l->answer + at,
            (l->count - at - 1) * sizeof *l->answer);
    l->answer[at] = one;
}

/* Tries all answers from word one.first of a passage to a word before end. */
static void try_ends(list *l, const float *log_start, const float *log_end, int32_t end,
                     cla_answer one)
{
    const double start = (double)log_start[one.first];
    for (one.last = one.first; one.last < end; one.last++) {
        one.score = start + (double)log_end[one.last];
        if (one.score > -(double)INFINITY) {
            put(l, one);
        }
    }
}

bool cla_answers_defined(const float *log_start, const float *log_end,
                         const int32_t *offsets, size_t passages)
{
    for (int32_t i = offsets[0]; i < offsets[passages]; i++) {
        if (isnan(log_start[i]) || isnan(log_end[i])) {
            return false;
        }
    }
    return true;
}

size_t cla_answers_best(const float *log_start, const float *log_end,
                        const int32_t *offsets, size_t passages, int32_t limit,
                        size_t n, cla_answer *out)
{
    list l = { out, 0, n };
    for (size_t p = 0; p < passages; p++) {
        const int32_t words = offsets[p + 1] - offsets[p];
        for (int32_t first = 0; first < words; first++) {
            const bool near = limit && limit < words - first;
            try_ends(&l, log_start + offsets[p], log_end + offsets[p],
                     near ? first + limit : words,
                     (cla_answer){ .passage = (int32_t)p, .first = first });
        }
    }
    return l.count;
}
