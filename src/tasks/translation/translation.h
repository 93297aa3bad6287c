/* translation.h - parallel text as ids, and the Transformer trained on it. */
#pragma once

#include "models/search.h"
#include "tasks/translation/reward.h"
#include "text/buckets.h"
#include "train/task.h"

typedef struct translation {
    cla_task task; // first: a translation is a cla_task
    const char *data, *source_name, *target_name;
    const char *train_stem, *dev_stem, *test_stem; // files of data, before the language
    int tokens;                                    // pieces a side in a batch
    int max_pieces;                                // of a side of a training pair
    int merges;
    bool split;
    const char *sentencepiece; // path of a model in the place of merges; "": none
    const char *target_sentencepiece; // another one for the target; "": the same
    bool prefix_token, tidy_output;   // prefix and tidy of the subwords
    search_options search;            // of translate, where nothing else is asked for
    transformer_config config;
    transformer model;
    cla_subwords source, target;
    cla_bitext text; // of training
    cla_buckets buckets;
    int64_t first_source, first_target; // rows before the part that comes next
    policy_config policy;               // of a hard layer
    policy_sums sums;
    struct { // between loss and backward
        cla_pair_batch ids;
        const cla_ragged *source, *target; // of the tape
        transformer_made made;
        cross_hard_pass pass;
    } step;
} translation;

/* data.c: pieces learnt from the training text, and kept in dir (NULL:
 * nowhere). Errors: CLA_E_INPUT (resumed: dir holds others), CLA_E_IO, CLA_E_NOMEM. */
cla_status translation_read_training(translation *t, const char *dir,
                                     cla_task_mode mode);
cla_status translation_load_pieces(translation *t, const char *dir);
/* The files of "dev" or "test" before their endings; another name is itself. */
const char *translation_stem(const translation *t, const char *split);
/* The lines of both languages of data/stem. Errors: those of cla_lines_read and
 * cla_lines_pair. */
cla_status translation_read_lines(const translation *t, const char *data,
                                  const char *stem, cla_lines lines[2]);
/* The pairs of data/stem; all of them. */
cla_status translation_read_split(const translation *t, const char *data,
                                  const char *stem, cla_bitext *text);

/* policy.c: goes back from the loss of the step at hand, share of which
 * counts, and from the rewards of its gates where it has some. */
cla_status translation_policy_backward(translation *t, cla_tape *tape, cla_tensor *loss,
                                       double share);

/* Some pairs on the device. The rows are the caller's to free or give to a tape. */
typedef struct translation_batch {
    cla_pair_batch ids;
    cla_ragged *source, *target;
} translation_batch;
cla_status translation_batch_make(cla_runtime *rt, const cla_bitext *text,
                                  const int64_t *pair, int64_t n,
                                  translation_batch *batch);
void translation_batch_free(translation_batch *batch);

/* The same as the model takes it, a part of a batch that has these rows before. */
transformer_batch translation_batch_view(const translation_batch *batch,
                                         int64_t first_source, int64_t first_target);

/* A translation has at most so many pieces more than its source (Vaswani et al. 2017,
 * 6.1); and what may be asked for. */
enum {
    TRANSLATION_EXTRA = 50,
    TRANSLATION_TRAINING_EXTRA = 10, // of what is said to be rewarded
    TRANSLATION_MAX_LENGTH = 1 << 16,
    TRANSLATION_MAX_BEAM = 256,
    TRANSLATION_MAX_BATCH = 1 << 16
};

/* How t is to be searched with a beam, so many best and a length penalty. */
search_options translation_search(const translation *t, int beam, int best,
                                  double alpha);

typedef struct translation_options {
    search_options search;
    int batch; // sentences that are worked on together; fewer where they are long
    /* NULL, or called after each batch with the number of lines done. */
    void (*progress)(void *to, size_t lines);
    void *to;
    /* [workers] the same translator on shares of a device: they do the work, each in a
     * thread of its own. NULL: the translator that is called does. */
    cla_task *const *worker;
    int workers;
} translation_options;

/* The pieces of a line of the source, or of the target. Errors: CLA_E_NOMEM. */
cla_status translation_pieces(const translation *t, const cla_line *line, bool target,
                              size_t *count);

/* Logarithms are natural; without a text both are -INFINITY. */
typedef struct translation_result {
    cla_text text;
    double logp, score; // the same under the length penalty
} translation_result;

/* Translates lines, those of like length together. That of a line without pieces, such
 * as blanks, is empty, and certain.
 *
 * out  out  [n*best] zero before; best first. Free each text
 *
 * Errors: CLA_E_NUMERIC (weights that give no finite scores), CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status translation_translate(translation *t, const cla_line *lines, size_t n,
                                 const translation_options *options,
                                 translation_result *out);

/* How likely given targets are: logp and score of out [n], no text. A target without
 * pieces is an end and nothing more; a source without pieces has that target alone.
 * Errors: the same. */
cla_status translation_score(translation *t, const cla_line *sources,
                             const cla_line *targets, size_t n,
                             const translation_options *options,
                             translation_result *out);

extern const cla_task_kind translation_kind;
