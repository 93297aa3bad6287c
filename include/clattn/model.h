/* model.h - trained systems inside an application (tier 3).
 *
 * A model folder, as clattn train writes it, holds all that is needed. Thread-safety:
 * as the
 * runtime. */
#pragma once

#include "clattn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cla_model cla_model;

/* Loads the best weights of a folder (the last ones where there is no best).
 *
 * Errors: CLA_E_IO, CLA_E_INPUT (what does not fit, by name), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
CLA_API cla_status cla_model_load(cla_model **model, cla_runtime *rt,
                                  const char *folder);
CLA_API void cla_model_free(cla_model **model);

/* The system's name: "tagger", "translator", "poet" or "reader". */
CLA_API const char *cla_model_kind(const cla_model *model);

/* Tags a sentence.
 *
 * tags   out  [count] names, which stay the model's
 * words  in   [count] UTF-8, none empty
 *
 * Errors: CLA_E_USAGE (the model is no tagger), CLA_E_INPUT (a word that is empty,
 * holds a
 * tab or line end, or is not UTF-8: its position), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_tag(cla_model *model, const char **tags,
                                 const char *const *words, size_t count);

/* How lines are translated. */
typedef struct cla_translate_options {
    int beam;              // hypotheses of a line, 1 to 256; 1: the likeliest piece
                           // each time
    double length_penalty; // 0 to 10: how much longer translations are favoured
    int batch;             // lines that are worked on together, at most; 1 to 65536
} cla_translate_options;

/* The translation of a line. Its probability is the product of those of its n pieces,
 * the last of which is the end. */
typedef struct cla_translation {
    const char *text; // UTF-8, the model's until it translates again or is freed
    double logp;      // natural logarithm of the probability
    double score;     // logp / ((5 + n) / 6)^length_penalty (Wu et al. 2016, 7)
} cla_translation;

/* Translates lines; that of a line without pieces, such as blanks, is empty.
 *
 * translations  out  [count]
 * lines         in   [count] UTF-8, without line ends
 * options       in   NULL: a beam of 1, a penalty of 0.6, batches of 32
 *
 * Errors: CLA_E_USAGE (the model is no translator, an option out of its range),
 * CLA_E_INPUT (a line that holds a line end or is not UTF-8: its position),
 * CLA_E_NUMERIC (weights that give no finite scores), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_translate(cla_model *model, cla_translation *translations,
                                       const char *const *lines, size_t count,
                                       const cla_translate_options *options);

/* An answer: a part of a passage. */
typedef struct cla_quote {
    int32_t from, to; // code points of the passage, to exclusive
    int32_t at, size; // the same in bytes
    double logp;      // natural logarithm of its first and last words' probabilities
} cla_quote;

/* Answers questions about a passage, of which any length will do.
 *
 * quotes     out  [count,best] answers to each question, best first
 * found      out  [count] how many there are; 0 where passage or question has no word
 * passage    in   UTF-8
 * questions  in   [count] UTF-8
 * best       in   1 to 1000
 *
 * Errors: CLA_E_USAGE (the model is no reader, best out of its range), CLA_E_INPUT
 * (text that is not UTF-8: which, and the byte), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_answer(cla_model *model, cla_quote *quotes, size_t *found,
                                    const char *passage, const char *const *questions,
                                    size_t count, size_t best);

#ifdef __cplusplus
}
#endif
