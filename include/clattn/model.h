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

/* The number type of matrices on the device (docs/weights.md); others are float32. */
typedef enum cla_weights {
    CLA_WEIGHTS_STORED, // the type in the model's state on disk
    CLA_WEIGHTS_FLOAT32,
    CLA_WEIGHTS_FLOAT16,
    CLA_WEIGHTS_INT8,
} cla_weights;

/* How products with weights of 8 bits are computed. FLOAT32 converts the weights to
 * floats. INT8 rounds each row of the input to 8 bits, and needs such weights. */
typedef enum cla_compute { CLA_COMPUTE_FLOAT32, CLA_COMPUTE_INT8 } cla_compute;

/* How a model is loaded. {0}: as its folder has it. */
typedef struct cla_model_options {
    cla_weights weights;
    cla_compute compute;
    uint64_t reserved[4]; // 0: room for later versions
} cla_model_options;

/* Loads the best weights of a folder, or the last ones if none are marked as best.
 * options may be NULL: {0}. Errors: CLA_E_IO, CLA_E_INPUT (a file or tensor that is
 * damaged or does not fit), CLA_E_USAGE (an option out of its range), CLA_E_NUMERIC
 * (weights that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_open(cla_model **model, cla_runtime *rt,
                                  const char *folder, const cla_model_options *options);

/* The same with options NULL. */
CLA_API cla_status cla_model_load(cla_model **model, cla_runtime *rt,
                                  const char *folder);
CLA_API void cla_model_free(cla_model **model);

/* The system's name: "tagger", "translator", "poet", "reader" or "lm". */
CLA_API const char *cla_model_kind(const cla_model *model);

/* A function that the library calls after each batch. `done` of `count` items are
 * complete: words of sentences to tag, lines to translate or to score, questions, lines
 * of a poem, pieces of a text. Items without words are not counted. The call may come
 * from another thread, but never from two at once, and must not use the model. CLA_OK
 * continues; any other status ends the work, which returns it. */
typedef cla_status (*cla_watch)(void *to, size_t done, size_t count);

/* Sets the function that later calls of the model call with `to`; NULL removes it.
 * Errors: CLA_E_USAGE (the model is NULL). */
CLA_API cla_status cla_model_watch(cla_model *model, cla_watch watch, void *to);

/* The most that options can ask for. */
enum {
    CLA_MOST_BEAM = 256,
    CLA_MOST_BATCH = 65536,
    CLA_MOST_PIECES = 65536,
    CLA_MOST_ANSWERS = 1000,
};

/* ---- workers ----------------------------------------------------------------- */

/* Gives a model workers instead of those that it has: copies of it, each on an equal
 * share of its device (cla_runtime_share). cla_model_translate then works on that many
 * batches at a time.
 *
 * count  in  1 to the device's compute units, at most 256; 0: as many as suit the
 *            device. On a CPU that is one for each core, at most 8, and no more than
 *            half of its memory holds; elsewhere, and where a device cannot be divided,
 *            one. One worker is the model itself
 *
 * Errors: CLA_E_USAGE (count out of its range, a model that is a worker), those of
 * cla_runtime_share and cla_model_open; the model has one worker then. */
CLA_API cla_status cla_model_hire(cla_model *model, int count);

/* The number of workers, 1 at first, and the i-th of them, from 0: a model for a thread
 * of your own, which may work while the others do. It stays the model's until that is
 * freed or hires again. */
CLA_API int cla_model_workers(const cla_model *model);
CLA_API cla_model *cla_model_worker(cla_model *model, int i);

/* ---- tags -------------------------------------------------------------------- */

/* How sentences are tagged. {0}: of any length. */
typedef struct cla_tag_options {
    int max_words;        // of a sentence; 0: any number
    uint64_t reserved[4]; // 0: room for later versions
} cla_tag_options;

/* Tags sentences, in batches. The tags of a sentence do not depend on the sentences
 * beside it.
 *
 * tags     out  one name for each word, which belongs to the model
 * words    in   UTF-8, none empty: those of the first sentence, then those of the next
 * length   in   [count] the number of words of each sentence, which may be 0
 * options  in   NULL for {0}
 *
 * Errors: CLA_E_USAGE (the model is no tagger, an option out of its range), CLA_E_INPUT
 * (a word that is empty or not UTF-8: its position; a sentence of more than max_words
 * words), CLA_E_NUMERIC (scores that are not finite), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_tag_sentences(cla_model *model, const char **tags,
                                           const char *const *words,
                                           const size_t *length, size_t count,
                                           const cla_tag_options *options);

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

/* The column of CoNLL-U that a tagger's tags are of: 4 (UPOS) or 5 (XPOS). 0 for other
 * models. */
CLA_API int cla_model_tag_column(const cla_model *model);

/* ---- translations ------------------------------------------------------------ */

/* How lines are translated. {0}: the likeliest piece each time. */
typedef struct cla_translate_options {
    int beam;              // hypotheses of a line, 1 to CLA_MOST_BEAM; 0: 1
    double length_penalty; // 0 to 10: how much longer translations are favoured
    int batch;             // lines that are worked on together, at most; 1 to
                           // CLA_MOST_BATCH; 0: 32
    int split;             // 1: a line may be a paragraph (see cla_model_translate)
    int64_t best;          // translations of each line, 1 to the beam; 0: 1
    int extra;             // pieces that a translation may have beyond those of its
                           // line, up to CLA_MOST_PIECES; 0: as the model has it
    int most;              // most pieces of a translation, for lines of any length; set
                           // extra or most, not both
    const char *source;    // one of cla_model_sources; NULL: the folder's
    const char *target;    // one of cla_model_targets; NULL: the folder's, or what each
                           // line begins with
    int64_t detail;        // 1: cla_model_detail tells pieces and links of words
} cla_translate_options;

/* A translation of a line. Its probability is the product of those of its n pieces,
 * the last of which is the end. */
typedef struct cla_translation {
    const char *text; // UTF-8, the model's until it translates again or is freed
    double logp;      // natural logarithm of the probability
    double score;     // logp / ((5 + n) / 6)^length_penalty (Wu et al. 2016, 7)
} cla_translation;

/* Translates lines; that of a line without pieces, such as blanks, is empty. Lines of
 * similar length go together, and on several workers batches at the same time; the
 * translation of a line does not depend on the lines beside it.
 *
 * With `split` a line is cut into its sentences, and a sentence of more pieces than the
 * model was trained on into clauses. These are translated one by one and joined; the
 * blanks between them, before the first and behind the last stay. logp and score are
 * then sums. Sentences end by the rules of Unicode's annex 29 and the abbreviations of
 * the source's locale (Unicode CLDR); a library that was built without ICU only cuts
 * what is too long.
 *
 * translations  out  [count,best] best first. Where the beam found fewer, the others
 *                    are "", with a logp and a score of minus infinity
 * lines         in   [count] UTF-8, without line ends
 * options       in   NULL for {0}
 *
 * Errors: CLA_E_USAGE (the model is no translator, an option out of its range),
 * CLA_E_INPUT (a line that holds a line end or is not UTF-8: its position; a target
 * that the model does not have), CLA_E_NUMERIC (weights that give no finite scores),
 * CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_translate(cla_model *model, cla_translation *translations,
                                       const char *const *lines, size_t count,
                                       const cla_translate_options *options);

/* Scores given translations of lines. Their texts are then those of targets. A target
 * without pieces is the end alone, and the only one that a line without pieces can
 * have: others get minus infinity.
 *
 * scored   out  [count]
 * lines    in   [count] UTF-8, without line ends
 * targets  in   [count] the same
 * options  in   NULL for {0}; only length_penalty, batch and detail matter
 *
 * Errors: those of cla_model_translate. */
CLA_API cla_status cla_model_score(cla_model *model, cla_translation *scored,
                                   const char *const *lines, const char *const *targets,
                                   size_t count, const cla_translate_options *options);

/* A word of a line, and the word of its translation that was written while the network
 * attended to it. Words are runs of bytes between ASCII blanks, numbered from 0; a
 * prefix ">>x<<" is none. */
typedef struct cla_word_link {
    int32_t source, target;
} cla_word_link;

/* What a translation is made of. */
typedef struct cla_translation_detail {
    size_t pieces;            // with the ends of its sentences
    const char *const *piece; // [pieces] as the vocabulary names them
    const double *logp;       // [pieces] natural logarithms of their probabilities; the
                              // sum is that of the translation
    size_t links;
    const cla_word_link *link; // [links] in the order of the translation's words
} cla_translation_detail;

/* Tells what the i-th translation of the last call is made of, if its options had
 * `detail`; otherwise, and for one that the beam did not find, nothing. It is the
 * model's until it translates again or is freed. A word w has a link to the word v with
 * the most of the sum over pieces t of w and j of v of a[t,j], with a the attention of
 * the decoder's last layer at the step that gives piece t, the mean over its heads.
 *
 * Errors: CLA_E_USAGE (no i-th translation), CLA_E_NOMEM. Source: Garg et al. 2019. */
CLA_API cla_status cla_model_detail(cla_model *model, cla_translation_detail *detail,
                                    size_t i);

/* The number of lines of the last call whose best translation reached its greatest
 * length before its own end. */
CLA_API size_t cla_model_cut(const cla_model *model);

/* The search that a translator's folder names: beam, length_penalty, and extra or most.
 * The other options are 0. Errors: CLA_E_USAGE (the model is no translator). */
CLA_API cla_status cla_model_translate_usual(const cla_model *model,
                                             cla_translate_options *options);

/* Counts the pieces of a line, without the end. There may be more than bytes.
 *
 * pieces  out
 * line    in   UTF-8
 * target  in   the line is in the language of translations
 *
 * Errors: CLA_E_USAGE (the model is no translator), CLA_E_NOMEM. */
CLA_API cla_status cla_model_pieces(const cla_model *model, size_t *pieces,
                                    const char *line, bool target);

/* A translator's languages, as its folder names them; "" where it does not. They belong
 * to the model. *any: a prefix of the line, such as ">>fra<<", chooses the target.
 * Errors: CLA_E_USAGE (the model is no translator). */
CLA_API cla_status cla_model_languages(const cla_model *model, const char **source,
                                       const char **target, bool *any);

/* The languages that `source` and `target` can choose, in the order of the vocabulary:
 * *count names, which belong to the model. A translator of one pair has none. A prefix
 * of the source such as ">>fra<<" names the target "fra", and leaves no choice of the
 * source; M2M-100's "__fr__" and NLLB's "fra_Latn" name both. Errors: CLA_E_USAGE (the
 * model is no translator), CLA_E_NOMEM. */
CLA_API cla_status cla_model_sources(cla_model *model, const char *const **sources,
                                     size_t *count);
CLA_API cla_status cla_model_targets(cla_model *model, const char *const **targets,
                                     size_t *count);

/* ---- answers ----------------------------------------------------------------- */

/* An answer: a part of a passage. */
typedef struct cla_quote {
    int32_t from, to; // code points of the passage, to exclusive
    int32_t at, size; // the same in bytes
    double logp;      // natural logarithm of its first and last words' probabilities
} cla_quote;

/* A question about passages of its own. */
typedef struct cla_question {
    const char *text;            // UTF-8
    const char *const *passages; // [passage_count] UTF-8, of any length. Questions one
                                 // after the other with the same pointer share them
    size_t passage_count;
} cla_question;

/* How questions are answered. {0}: the best answer to each. */
typedef struct cla_answer_options {
    int best;             // answers to each question, 1 to CLA_MOST_ANSWERS; 0: 1
    int max_words;        // of a passage; 0: any number
    uint64_t reserved[4]; // 0: room for later versions
} cla_answer_options;

/* An answer to a question about several passages. */
typedef struct cla_passage_quote {
    size_t passage; // its index in the question's list
    cla_quote quote;
} cla_passage_quote;

/* Answers questions, those of similar length together. The answers to a question do not
 * depend on the questions beside it.
 *
 * answers    out  [count,best] answers to each question, best first
 * found      out  [count] how many there are; 0 where the question or all of its
 *                 passages have no word
 * questions  in   [count]
 * options    in   NULL for {0}
 *
 * Errors: CLA_E_USAGE (the model is no reader, an option out of its range), CLA_E_INPUT
 * (text that is not UTF-8: which, and the byte; a passage of more than max_words words;
 * several passages for a network that reads one), CLA_E_NUMERIC (weights that give no
 * finite scores), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_ask(cla_model *model, cla_passage_quote *answers,
                                 size_t *found, const cla_question *questions,
                                 size_t count, const cla_answer_options *options);

/* Answers questions about a passage of any length.
 *
 * quotes     out  [count,best] answers to each question, best first
 * found      out  [count] answers to each question; 0 if it or the passage has no word
 * passage    in   UTF-8
 * questions  in   [count] UTF-8
 * best       in   1 to CLA_MOST_ANSWERS
 *
 * Errors: CLA_E_USAGE (the model is no reader, best out of its range), CLA_E_INPUT
 * (text that is not UTF-8: which, and the byte), CLA_E_NUMERIC (weights that give no
 * finite scores), CLA_E_NOMEM, CLA_E_DEVICE. */
CLA_API cla_status cla_model_answer(cla_model *model, cla_quote *quotes, size_t *found,
                                    const char *passage, const char *const *questions,
                                    size_t count, size_t best);

/* ---- poems ------------------------------------------------------------------- */

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
    int from_text, from_vectors; // keywords of the text, or near to those; others drawn
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

/* ---- texts ------------------------------------------------------------------- */

/* Gets a part of a text while it is written: UTF-8, `size` bytes and a NUL. It must not
 * use the model. CLA_OK goes on; another status ends the call, which returns it. */
typedef cla_status (*cla_take_text)(void *to, const char *text, size_t size);
/* Why a text ended: it has all its pieces, one of `stop` came, the model ended it. */
typedef enum cla_text_end { CLA_TEXT_LENGTH, CLA_TEXT_STOP, CLA_TEXT_END } cla_text_end;

/* How a text is continued. {0}: 200 pieces, drawn by their probabilities. */
typedef struct cla_generate_options {
    int pieces;              // to write, at most; 0: 200
    int greedy;              // 1: the likeliest piece each time
    double temperature;      // t: pieces are drawn by p^(1/t); 0: 1
    int top_k;               // from the k likeliest pieces alone; 0: from all
    double top_p;            // from the fewest that have p together; 0: from all
    uint32_t seed;           // of the draws
    const char *const *stop; // [stop_count] texts that end the writing, none empty;
    size_t stop_count;       // they are not part of the result
    cla_take_text take;      // gets each part when it is written; NULL: none
    void *to;                // for take; may be NULL
    cla_text_end *end;       // out: why the text ended; NULL: not asked for
    uint64_t reserved[4];    // 0: room for later versions
} cla_generate_options;

/* Continues a text. The same prompt, options and weights give the same text on one
 * device. A network that has read as many pieces as its context holds goes on with the
 * last half of them. Bytes that form no UTF-8 become U+FFFD.
 *
 * text     out  what follows on the prompt, without it: UTF-8, the model's until it
 *               continues a text again or is freed
 * prompt   in   UTF-8, may be empty
 * options  in   NULL for {0}
 *
 * Errors: CLA_E_USAGE (the model is no language model, an option out of its range),
 * CLA_E_INPUT (a prompt that is not UTF-8: the byte), CLA_E_NUMERIC (weights that give
 * no finite scores), CLA_E_NOMEM, CLA_E_DEVICE, those of take.
 * Source: Fan et al. 2018 (top_k); Holtzman et al. 2020 (top_p). */
CLA_API cla_status cla_model_generate(cla_model *model, const char **text,
                                      const char *prompt,
                                      const cla_generate_options *options);

#ifdef __cplusplus
}
#endif
