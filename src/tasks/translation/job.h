/* job.h - lines to translate, or pairs to score, in batches. */
#pragma once

#include "tasks/translation/translation.h"

typedef struct translation_sized {
    int64_t pair, length;
} translation_sized;

/* The lines that have pieces, as ids, and where to write the results. */
typedef struct translation_job {
    translation *t;
    const translation_options *options;
    translation_result *out; // of all lines
    const char *const *lines;
    cla_ids source, target;
    cla_bitext text;          // points into both
    size_t *line;             // [text.count]
    size_t told;              // lines that progress is told of; 0: text.count
    translation_sized *order; // [text.count] longest first
    int64_t *pair;            // [text.count] in that order
} translation_job;

/* Works on n pairs of a job. */
typedef cla_status (*translation_act)(const translation_job *j,
                                      const transformer_batch *batch,
                                      const int64_t *pair, int64_t n);

/* Works on all pairs of a job, batch by batch, with the workers of its options. Errors:
 * those of act, CLA_E_NOMEM. */
cla_status cla_translation_batches(const translation_job *j, translation_act act);
