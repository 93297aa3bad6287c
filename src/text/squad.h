/* squad.h - data sets in the JSON layout of SQuAD 1.1 (also CMRC 2018, DRCD). */
#pragma once

#include "text/reading.h"

/* Articles by the XXH64 hash (seed 0) of their title, or where there is none of their
 * first passage, modulo 10: 0 to 7 train, 8 dev, 9 test. */
typedef enum cla_squad_part {
    CLA_SQUAD_ALL,
    CLA_SQUAD_TRAIN,
    CLA_SQUAD_DEV,
    CLA_SQUAD_TEST
} cla_squad_part;

/* The part of what has that key. */
cla_squad_part cla_squad_part_of(const char *key);

typedef struct cla_squad_options {
    cla_squad_part part;
    int64_t passage_limit, question_limit; // words; 0: any number
    bool unanswered; // keep questions of which no answer stands in the passage
    bool strict;     // refuse what else is passed over or mended
} cla_squad_options;

/* What was read, mended and passed over. */
typedef struct cla_squad_counts {
    int64_t articles;
    int64_t moved;          // answers found, but not at their offset
    int64_t lost;           // answers found nowhere in the passage
    int64_t widened;        // answers that begin or end inside a word
    int64_t cut;            // passages cut to the limit
    int64_t beyond;         // answers past the cut
    int64_t long_questions; // questions cut to the limit
    int64_t empty;          // passages without a word, with
    int64_t unasked;        // their questions
    int64_t wordless;       // questions without a word
    int64_t answerless;     // questions of which no answer stands in the passage
} cla_squad_counts;

/* Reads path. answer_start counts code points; an answer that does not stand there is
 * taken from the nearest place where it does. Each has the words that it overlaps.
 * Answers that stand nowhere are kept as text; their question is passed over when it
 * has no other one, unless unanswered. Errors: CLA_E_INPUT (no JSON: path:line:column;
 * what is missing, or what strict refuses: path and article, or id of the question; an
 * id twice; no question left), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_squad_read(cla_reading *r, const char *path,
                          const cla_squad_options *options, cla_squad_counts *counts);

/* The same from memory; path is for messages. */
cla_status cla_squad_parse(cla_reading *r, const char *path, const char *data,
                           size_t size, const cla_squad_options *options,
                           cla_squad_counts *counts);
