/* detail.h - the pieces of a translation, and which words of it and of its line belong
 * together. Words are runs of bytes between ASCII blanks; a prefix ">>x<<" of a line is
 * none. */
#pragma once

#include "tasks/translation/translation.h"

#define TRANSLATION_BLANKS " \t\r\n\v\f"

typedef struct translation_detail {
    cla_text names; // of the pieces, a NUL behind each
    double *logp;   // [pieces]
    size_t pieces, logp_cap;
    cla_word_link *link; // [links] in the order of the translation
    size_t links, link_cap;
    const char **name; // [pieces] into names; NULL before it is asked for
} translation_detail;

void cla_translation_detail_free(translation_detail **detail);

/* A translation whose pieces are known. */
typedef struct translation_given {
    const char *line;      // its source
    const int32_t *source; // [source_count] pieces, with their end if they have one
    int64_t source_count;
    const int32_t *target; // [target_count] the same of the translation
    int64_t target_count;
    bool free_end;               // its end has probability 1
    translation_detail **detail; // out
} translation_given;

/* Finds the details of translations. Each word of a translation has a link to the word
 * of its line that has the most weight,
 *
 *   argmax over words w of the sum over pieces t of the word and j of w of weight[t,j]
 *
 * with the weights of cla_transformer_align; there is none where the line has no word.
 *
 * free_first  the first piece of each translation has probability 1
 *
 * Errors: those of cla_transformer_align. */
cla_status cla_translation_details(translation *t, const translation_given *given,
                                   int64_t n, bool free_first);

/* Appends the details of a part of a translation: its words are those from source and
 * target on. from may be NULL. Errors: CLA_E_NOMEM. */
cla_status cla_translation_detail_add(translation_detail **to,
                                      const translation_detail *from, size_t source,
                                      size_t target);
