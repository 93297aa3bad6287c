/* plan.h - plans the four keywords of a poem from any text. */
#pragma once

#include "text/poems.h"
#include "text/themes.h"
#include "text/vectors.h"

/* The planner's resources; all but ranking and lexicon may be NULL. */
typedef struct cla_planner {
    const cla_ranking *ranking;
    const cla_lexicon *lexicon, *stop;
    const cla_vectors *vectors; // of words
    size_t neighbours;          // candidates from the vectors; 0: none
    const cla_themes *themes;
} cla_planner;

typedef struct cla_plan {
    int word[CLA_POEM_LINES]; // ranks
    // words from each source; the rest is drawn at random
    int from_text, from_themes, from_vectors;
} cla_plan;

/* Chooses four different words of the ranking, from these sources in turn:
 * 1. the four best-ranked words of text, without stop words, in the order of the text;
 * 2. words of the same themes (cla_themes_near);
 * 3. ranked words among the planner->neighbours nearest to the mean of the unit vectors
 *    of the text's words;
 * 4. words drawn with probability proportional to 1 / (rank + 1), rank from 0.
 * The same text and seed give the same words. Errors: CLA_E_USAGE (fewer than four
 * ranked words), CLA_E_INPUT (text too long), CLA_E_NOMEM. */
cla_status cla_plan_make(const cla_planner *planner, const char *text, size_t size,
                         uint32_t seed, cla_plan *plan);
