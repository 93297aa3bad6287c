/* span.h - selects answer spans from the log probabilities of a pointer. */
#pragma once

#include "base/base.h"

typedef struct cla_answer {
    int32_t passage;     // index of the passage, from 0
    int32_t first, last; // words of the passage, inclusive
    double score;        // log_start[first] + log_end[last]
} cla_answer;

/* Returns whether no word of the passages has a score of NaN, as parameters that are
 * too large give. Minus infinity is a score. The arguments are those of
 * cla_answers_best. */
bool cla_answers_defined(const float *log_start, const float *log_end,
                         const int32_t *offsets, size_t passages);

/* Finds the n best answers to one question: the spans i, j of a passage with
 * i <= j < i + limit (limit 0: any j) and the highest log_start[i] + log_end[j], in
 * falling order. Ties are in order of passage, first and last word. Spans are distinct.
 * Passage p is words offsets[p] .. offsets[p+1] (exclusive) of log_start and log_end,
 * which are natural logarithms. Skips spans with a score of NaN or minus infinity.
 * Writes to out [n] and returns the number of answers. */
size_t cla_answers_best(const float *log_start, const float *log_end,
                        const int32_t *offsets, size_t passages, int32_t limit,
                        size_t n, cla_answer *out);
