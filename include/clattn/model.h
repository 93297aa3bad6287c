/* model.h - trained systems inside an application (tier 3).
 *
 * It is all of the library clattn-models: link with `pkg-config --libs clattn-models`
 * or with clattn::models of CMake; both bring the core along.
 *
 * A model folder, as clattn train writes it, holds all that is needed. Thread-safety:
 * as the runtime. */
#pragma once

#include "clattn/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cla_model cla_model;

/* Loads the best weights of a folder, or the last ones if none are marked as best.
 *
 * Errors: CLA_E_IO, CLA_E_INPUT (a file or tensor that is damaged or does not fit),
 * CLA_E_NUMERIC (weights that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_load(cla_model **model, cla_runtime *rt,
                                  const char *folder);
CLA_API void cla_model_free(cla_model **model);

/* The system's name: "tagger", "translator", "poet" or "reader". */
CLA_API const char *cla_model_kind(const cla_model *model);

/* Tags a sentence.
 *
 * tags   out  [count] names, which belong to the model
 * words  in   [count] UTF-8, none empty
 *
 * Errors: CLA_E_USAGE (the model is no tagger), CLA_E_INPUT (a word that is empty,
 * holds a tab or line end, or is not UTF-8: its position), CLA_E_NUMERIC (scores that
 * are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_tag(cla_model *model, const char **tags,
                                 const char *const *words, size_t count);

/* How lines are translated. {0}: the likeliest piece each time. */
typedef struct cla_translate_options {
    int beam;              // hypotheses of a line, 1 to 256; 0: 1
    double length_penalty; // 0 to 10: how much longer translations are favoured
    int batch;             // lines that are worked on together, at most; 1 to 65536;
                           // 0: 32
    uint64_t reserved[4];  // 0: room for later versions
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
 * options       in   NULL for {0}
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

/* Answers questions about a passage of any length.
 *
 * quotes     out  [count,best] answers to each question, best first
 * found      out  [count] answers to each question; 0 if it or the passage has no word
 * passage    in   UTF-8
 * questions  in   [count] UTF-8
 * best       in   1 to 1000
 *
 * Errors: CLA_E_USAGE (the model is no reader, best out of its range), CLA_E_INPUT
 * (text that is not UTF-8: which, and the byte), CLA_E_NUMERIC (weights that give no
 * finite scores), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_answer(cla_model *model, cla_quote *quotes, size_t *found,
                                    const char *passage, const char *const *questions,
                                    size_t count, size_t best);

enum { CLA_QUATRAIN_LINES = 4 };

/* How a quatrain is written. {0}: lines of seven, the likeliest character each time. */
typedef struct cla_compose_options {
    int characters;       // of a line: 5 or 7; 0: 7
    int beam;             // hypotheses of a line, 1 to 256; 0: 1
    uint32_t seed;        // of keywords that the text does not give
    uint64_t reserved[4]; // 0: room for later versions
} cla_compose_options;

/* A poem. Its texts are UTF-8, and are freed with it. */
typedef struct cla_quatrain {
    const char *line[CLA_QUATRAIN_LINES];
    const char *keyword[CLA_QUATRAIN_LINES]; // what each line was written on
    int from_text, from_vectors; // keywords that are words of the text, or near to
                                 // those; the others were drawn
    double logp;     // natural logarithm of the probability of all characters
    int from_themes; // keywords that a poets' dictionary lists with the text's words
} cla_quatrain;

/* Writes a quatrain about a text, which may be empty. The same text, options and
 * weights give the same poem.
 *
 * poem     out  to be freed with cla_quatrain_free; NULL on failure
 * text     in   UTF-8
 * options  in   NULL for {0}
 *
 * Errors: CLA_E_USAGE (the model is no poet, an option out of its range), CLA_E_INPUT
 * (text that is not UTF-8: the byte; or is too long), CLA_E_NUMERIC (weights that give
 * no finite scores), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_compose(cla_model *model, cla_quatrain **poem,
                                     const char *text,
                                     const cla_compose_options *options);
CLA_API void cla_quatrain_free(cla_quatrain **poem);

#ifdef __cplusplus
}
#endif
