/* plan.h - four keywords for a poem, from any text. */
#pragma once

#include "text/poems.h"
#include "text/themes.h"
#include "text/vectors.h"

/* What planning knows; all but the ranking and the lexicon may be NULL. */
typedef struct cla_planner {
    const cla_ranking *ranking;
    const cla_lexicon *lexicon, *stop;
    const cla_vectors *vectors; // of words
    size_t neighbours;          // that are looked at; 0: none
    const cla_themes *themes;
} cla_planner;

typedef struct cla_plan {
    int word[CLA_POEM_LINES]; // of the ranking
    // how many came from where; the rest was drawn
    int from_text, from_themes, from_vectors;
} cla_plan;

/* 1. The words of text that have a rank and are no stop words, the four best of them,
 * in the order of the text. 2. When they are fewer, words of their themes
 * (cla_themes_near). 3. Then words with a rank among the nearest to the mean of the
 * text's words' vectors, each of length 1 (planner->neighbours are looked at). 4. The
 * rest is drawn, each with a probability in proportion to 1 / (rank + 1), rank
 * from 0. No word comes twice; the same text and seed give the same words.
 * Errors: CLA_E_USAGE (fewer than four words in the ranking), CLA_E_INPUT (text too
 * long), CLA_E_NOMEM. */
cla_status cla_plan_make(const cla_planner *planner, const char *text, size_t size,
                         uint32_t seed, cla_plan *plan);
