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
    bool lent;               // the arrays are those of prepared data
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

/* The parts of pairs in prepared data. */
enum { CLA_BITEXT_PARTS = 6 };
void cla_bitext_give(const cla_bitext *b, int64_t counts[3],
                     cla_part part[CLA_BITEXT_PARTS]);
/* Makes pairs of them, which lie where the parts do; `most` are the numbers of pieces
 * of source and target. Errors: CLA_E_INPUT (what no pairs have). */
cla_status cla_bitext_take(cla_bitext *b, const cla_part part[CLA_BITEXT_PARTS],
                           const size_t most[2]);
