/* span.h - where an answer begins and ends, from the scores of a pointer. */
#pragma once

#include "base/base.h"

typedef struct cla_answer {
    int32_t passage;     // of those given, from 0
    int32_t first, last; // words of it, inclusive
    double score;        // log_start[first] + log_end[last]
} cla_answer;

/* The n best answers to one question: over all passages and words i, j of one passage,
 * i <= j < i + limit (limit 0: j as far as the passage goes), the highest log_start[i]
 * + log_end[j], in falling order; of equal ones that which begins, then ends, first. No
 * two are the same words. Passage p has words offsets[p] .. offsets[p+1] of log_start
 * and log_end (natural logarithms, by word of the batch). Scores that are not a number
 * or minus infinity are no answer. out [n]. Gives how many there are. */
size_t cla_answers_best(const float *log_start, const float *log_end,
                        const int32_t *offsets, size_t passages, int32_t limit,
                        size_t n, cla_answer *out);
