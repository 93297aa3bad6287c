/* squad.h - data sets in the JSON layout of SQuAD (also CMRC 2018, DRCD). */
#pragma once

#include "text/reading.h"

/* Splits a file by article: the XXH64 hash (seed 0) of the title, or of the first
 * passage where there is no title, modulo 10. 0 to 7 is train, 8 dev, 9 test. */
typedef enum cla_squad_part {
    CLA_SQUAD_ALL,
    CLA_SQUAD_TRAIN,
    CLA_SQUAD_DEV,
    CLA_SQUAD_TEST
} cla_squad_part;

/* Returns the part that an article with this title belongs to. */
cla_squad_part cla_squad_part_of(const char *key);

typedef struct cla_squad_options {
    cla_squad_part part;
    int64_t passage_limit, question_limit; // words; 0: any number
    bool unanswered; // keep questions without an answer in the passage
    bool strict;     // errors instead of skipping and mending
} cla_squad_options;

/* Counts of what was read, mended and skipped. */
typedef struct cla_squad_counts {
    int64_t articles;
    int64_t moved;          // answers found away from their offset
    int64_t lost;           // answers that do not occur in the passage
    int64_t widened;        // answers that begin or end inside a word
    int64_t cut;            // passages cut to the limit
    int64_t beyond;         // answers past the cut
    int64_t long_questions; // questions cut to the limit
    int64_t empty;          // passages without a word
    int64_t unasked;        // questions about such passages
    int64_t wordless;       // questions without a word
    int64_t answerless;     // questions without an answer in the passage
    int64_t impossible;     // those of SQuAD 2.0 among them: an empty list of answers
} cla_squad_counts;

/* Reads path. answer_start counts code points. An answer that is not at its offset is
 * moved to its nearest occurrence; its span is the words that it overlaps. An answer
 * that does not occur in the passage is kept as text; a question without any other
 * answer is skipped unless unanswered is set. Errors: CLA_E_INPUT (not JSON, with
 * path:line:column; a missing part or what strict refuses, with path and article or
 * question; a duplicate id; no question left), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_squad_read(cla_reading *r, const char *path,
                          const cla_squad_options *options, cla_squad_counts *counts);

/* Reads the same from memory; path is for messages. */
cla_status cla_squad_parse(cla_reading *r, const char *path, const char *data,
                           size_t size, const cla_squad_options *options,
                           cla_squad_counts *counts);
