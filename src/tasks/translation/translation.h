/* translation.h - the translation task: a parallel corpus as ids, and the Transformer
 * trained on it. */
#pragma once

#include "models/search.h"
#include "tasks/translation/reward.h"
#include "text/buckets.h"
#include "text/sentences.h"
#include "train/task.h"

/* How pieces name languages. */
typedef enum translation_languages {
    TRANSLATION_PREFIX, // ">>fra<<" in front of the source names the target
    TRANSLATION_M2M100, // "__fr__" in front of source and target names their own
    TRANSLATION_NLLB,   // "fra_Latn" does
    TRANSLATION_MBART,  // "fr_XX" does
    TRANSLATION_TAG,    // "<2fr>" in front of the text names the target
} translation_languages;

typedef struct translation {
    cla_task task; // first: a translation is a cla_task
    const char *data, *source_name, *target_name;
    const char *train_stem, *dev_stem, *test_stem; // file names without the language
    int tokens;     // pieces per side of a batch, at most
    int max_pieces; // per side of a training pair; 0: any
    int merges;
    bool split;
    const char *sentencepiece;        // path of a model, instead of merges; "": none
    const char *target_sentencepiece; // of the target's model; "": the same model
    bool prefix_token, tidy_output;   // cla_subwords.prefix and .tidy
    bool unknown_prefix;   // ">>x<<" is a piece, known or not, of translated lines
    int languages;         // translation_languages
    bool source_end;       // sources end in the piece that ends sentences
    search_options search; // defaults of `clattn translate`
    transformer_config config;
    transformer model;
    cla_subwords source, target;
    cla_sentences *sentences; // of the source; NULL: no line was cut yet
    cla_bitext text;          // training pairs
    cla_prepared prepared;    // where they lie, if they were kept
    cla_buckets buckets;
    int64_t first_source, first_target; // rows of the batch before its next part
    policy_config policy;               // training by rewards
    policy_sums sums;
    struct { // state between loss and backward
        cla_pair_batch ids;
        const cla_ragged *source, *target; // of the tape
        transformer_made made;
        cross_hard_pass pass;
    } step;
} translation;

/* data.c: reads the training pairs, learns their pieces (or takes those of a model) and
 * writes the pieces to dir. dir NULL: writes nothing; otherwise the dev split must be
 * readable, too. cla_translation_load_pieces reads the pieces from dir. Both set the
 * prefix of the source. Errors: CLA_E_INPUT (resumed: dir holds other pieces; a line
 * that is not UTF-8 or has no partner), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_translation_read_training(translation *t, const char *dir,
                                         cla_task_mode mode);
cla_status cla_translation_load_pieces(translation *t, const char *dir);
/* Returns whether the target language is chosen by a prefix that the source's pieces
 * have. (Older versions wrote prefix_token for every import.) */
bool cla_translation_has_languages(const translation *t);
/* Returns whether the text of a line names its target, by ">>x<<" or "<2x>". */
bool cla_translation_in_text(const translation *t);
/* languages.c: returns the name in a piece that has the form of a language, and sets
 * *size to its bytes; NULL: it has another form. */
const char *cla_translation_language_in(int languages, const char *piece, size_t *size);
extern const char *const cla_translation_languages[]; // names of the forms, then NULL
/* Returns the same for the language that piece i of the source stands for. */
const char *cla_translation_language(const translation *t, size_t i, size_t *size);
/* Chooses the languages of the lines to come; NULL: those of the settings. A model
 * whose source alone names the target has no choice here. Errors: CLA_E_INPUT (the
 * model lacks one). */
cla_status cla_translation_choose(translation *t, const char *source,
                                  const char *target);
/* Returns the file stem of "dev" or "test"; any other name is its own stem. */
const char *cla_translation_stem(const translation *t, const char *split);
/* Reads the lines of data/stem in both languages. Errors: those of cla_lines_read and
 * cla_lines_pair. */
cla_status cla_translation_read_lines(const translation *t, const char *data,
                                      const char *stem, cla_lines lines[2]);
/* Reads the pairs of data/stem, of any length but without an empty side. */
cla_status cla_translation_read_split(translation *t, const char *data,
                                      const char *stem, cla_bitext *text);

/* policy.c: runs the backward pass of the current step: of its loss, weighted by share,
 * and of the rewards of its gates or its sampled output, if it has any. */
cla_status cla_translation_policy_backward(translation *t, cla_tape *tape,
                                           cla_tensor *loss, double share);

/* A batch of pairs on the device. The caller frees its rows or gives them to a tape. */
typedef struct translation_batch {
    cla_pair_batch ids;
    cla_ragged *source, *target;
} translation_batch;
cla_status cla_translation_batch_make(cla_runtime *rt, const cla_bitext *text,
                                      const int64_t *pair, int64_t n,
                                      translation_batch *batch);
void cla_translation_batch_free(translation_batch *batch);

/* Returns the batch as the model's input. first_source and first_target are the rows
 * before it in the whole batch of a step. */
transformer_batch cla_translation_batch_view(const translation_batch *batch,
                                             int64_t first_source,
                                             int64_t first_target);

/* Limits. A translation has at most TRANSLATION_EXTRA pieces more than its source
 * (Vaswani et al. 2017, 6.1). */
enum {
    TRANSLATION_EXTRA = 50,
    TRANSLATION_TRAINING_EXTRA = 10, // of output in training by rewards
    TRANSLATION_MAX_LENGTH = CLA_MOST_PIECES,
    TRANSLATION_MAX_BEAM = CLA_MOST_BEAM
};

/* Returns the search options of t with this beam, number of results and length
 * penalty. */
search_options cla_translation_search(const translation *t, int beam, int best,
                                      double alpha);

typedef struct translation_options {
    search_options search;
    int batch; // sentences per batch; fewer when they are long
    bool
        parts; // lines are cut into sentences, and those that are too long into clauses
    bool detail; // results have details
    /* [workers] instances of the translator on shares of a device, each of which works
     * in its own thread. NULL: the called translator does the work. */
    cla_task *const *worker;
    int workers;
} translation_options;

/* Counts the pieces of a line of the source or the target, without the end. A line of
 * blanks has none. There may be more pieces than bytes: splitting writes a control
 * character as 5 letters. Errors: CLA_E_NOMEM. */
cla_status cla_translation_pieces(const translation *t, const char *line, bool target,
                                  size_t *count);

/* A hypothesis. Logarithms are natural; both are -INFINITY when there is none. */
typedef struct translation_result {
    cla_text text;
    double logp, score; // log-probability; the same with the length penalty
    bool cut;           // it reached the longest length before its own end
    struct translation_detail *detail; // of detail.h; NULL: not asked for, or none
} translation_result;

/* Frees what a result has. */
void cla_translation_result_fini(translation_result *result);

/* Translates lines, in batches of similar length. A line without pieces, such as one of
 * blanks, has the empty translation with probability 1. With options->parts it
 * translates the parts of lines and joins them (parts.h).
 *
 * With targets [n] (otherwise NULL) it scores these: writes logp and score of out [n],
 * but no text. A target without pieces is the end piece alone, and the only possible
 * target of a source without pieces.
 *
 * out  out  [n*best] best first; zero-initialised by the caller. Free each of them
 *
 * Errors: CLA_E_NUMERIC (weights that give no finite scores), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status cla_translation_run(translation *t, const char *const *lines,
                               const char *const *targets, size_t n,
                               const translation_options *options,
                               translation_result *out);

extern const cla_task_kind cla_translation_kind;
