/* bitext.h - a parallel corpus as ids of subword pieces. */
#pragma once

#include "text/subwords.h"

/* Pairs of sentences. Pair i has source pieces source_at[i] .. source_at[i+1]. */
typedef struct cla_bitext {
    int32_t *source, *target;       // of all pairs, one after the other
    int64_t *source_at, *target_at; // [count+1]
    int32_t *line;                  // [count] in the files, from 1
    int64_t count;
    int64_t empty, too_long; // skipped pairs
} cla_bitext;

typedef struct cla_bitext_options {
    int64_t max_pieces; // on a side, CLA_EOS not counted; 0: any number
    bool source_eos;    // the source ends in CLA_EOS; the target always does
} cla_bitext_options;

/* Reads two files whose lines correspond. Skips pairs with a side that is empty or has
 * more than max_pieces pieces. Errors: CLA_E_INPUT with path:line (not UTF-8 text, a
 * line without a counterpart, no pair left), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_bitext_read(cla_bitext *b, const char *source_path,
                           const char *target_path, const cla_subwords *source,
                           const cla_subwords *target,
                           const cla_bitext_options *options);

/* Makes the same from lines in memory. */
cla_status cla_bitext_make(cla_bitext *b, const cla_lines *source_lines,
                           const cla_lines *target_lines, const cla_subwords *source,
                           const cla_subwords *target,
                           const cla_bitext_options *options);
void cla_bitext_free(cla_bitext *b);
