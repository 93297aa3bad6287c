/* tagging.h - the tagging task: vocabularies, the lexicon, chunks and batches of tagged
 * sentences. */
#pragma once

#include "models/tagger_maps.h"
#include "text/conllu.h"
#include "text/vocab.h"
#include "train/task.h"

/* The first ids of every vocabulary of words, letters or tags. */
enum { TAGGING_PAD, TAGGING_OOV, TAGGING_SPECIAL };

/* How the data is read. */
typedef enum tagging_preset {
    TAGGING_PAPER, // vocabulary over all splits, sequences padded to t, padding visible
    TAGGING_MODERN, // vocabulary from train, packed sequences, no padding
} tagging_preset;

/* The tags of each form in the training data, for the baseline and the groups of the
 * metrics. */
typedef struct lexicon {
    cla_vocab forms;
    int32_t *majority; // [forms] most frequent tag
    bool *ambiguous;   // [forms] more than one tag in training
    int32_t overall;   // most frequent tag of all
} lexicon;

/* Consecutive tokens that are one sequence for the model. Only the predictions for
 * tokens keep_first .. keep_end-1 count. */
typedef struct chunk {
    int64_t first, count, keep_first, keep_end;
} chunk;

/* One file as ids. */
typedef struct tagging_split {
    cla_conllu file;
    int64_t tokens;
    int32_t *word;       // [tokens] vocabulary id
    int32_t *spelling;   // [tokens] row of letters
    int32_t *tag;        // [tokens] tag id; TAGGING_OOV for a tag that training lacks
    int32_t *form;       // [tokens] position in the lexicon, -1 when unseen in training
    cla_vocab spellings; // distinct forms; 0 is the padding word
    int32_t *letters;    // [spellings*char_length]
    chunk *chunks;
    size_t chunk_count, chunk_cap;
} tagging_split;

typedef struct tagging {
    cla_task task; // first: a tagging is a cla_task
    int preset;    // tagging_preset
    int xpos;      // 0: the tags are column 4, 1: column 5
    bool mask_pad;
    const char *data, *vectors;
    int limit; // words of the vocabulary; 0: the preset's choice
    tagger_config config;
    tagger model;
    cla_vocab words, chars, tags;
    lexicon lexicon;
    tagging_split train;
    int32_t *stamp, *local; // [spellings] marks of a batch's distinct words
    int32_t stamp_now;
    bool warned; // of a tag that training lacks; once is enough
} tagging;

/* data.c: builds the vocabularies and the lexicon; files[0] is the training split. */
cla_status cla_tagging_build_vocabularies(tagging *t, const cla_conllu files[],
                                          int count);
cla_status cla_tagging_save_vocabularies(const tagging *t, const char *dir);
/* Compares the vocabularies with those in dir. Errors: CLA_E_INPUT (they differ: the
 * data is not that of the run). */
cla_status cla_tagging_compare_vocabularies(const tagging *t, const char *dir);
cla_status cla_tagging_load_vocabularies(tagging *t, const char *dir);
void cla_tagging_free_vocabularies(tagging *t);

/* Reads data/split.conllu, or data itself when it is a file. */
cla_status cla_tagging_read(const char *data, const char *split, cla_conllu *file);

/* Takes the words' tags from the model's column. */
void cla_tagging_use_column(const tagging *t, cla_conllu *file);

/* Builds the ids and chunks of file, which split then owns. Errors: CLA_E_NOMEM. */
cla_status cla_tagging_split_build(tagging *t, tagging_split *split, cla_conllu *file);
void cla_tagging_split_free(tagging_split *split);

/* A batch. The arrays of ids share one allocation. */
typedef struct tagging_batch {
    tagger_batch ids;
    int32_t *word, *position, *spelling, *tag, *letters, *offsets;
    cla_ragged *rows;
} tagging_batch;

/* cla_tagging_batch_make makes a batch of chunks, each padded to the configured length
 * unless mask_pad is set. Call cla_tagging_use first, once for a split.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_tagging_use(tagging *t, const tagging_split *split);
cla_status cla_tagging_batch_make(tagging *t, const tagging_split *split,
                                  const int64_t *examples, int64_t n,
                                  tagging_batch *batch);
void cla_tagging_batch_free(tagging_batch *batch);
bool cla_tagging_padded(const tagging *t);

/* Predicts the tag of every token. Errors: CLA_E_NUMERIC (scores that are not finite),
 * CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_tagging_predict(tagging *t, const tagging_split *split,
                               int32_t *predicted);

/* Tags sentences of length [count] words each, at least one of all: writes the names of
 * their tags, which t owns. Errors: those of cla_tagging_predict. */
cla_status cla_tagging_tag(tagging *t, const char *const *words, const size_t *length,
                           size_t count, const char **tags);

/* Computes logits and attention maps of a split's first sequence, without padding.
 * Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_tagging_look(tagging *t, const tagging_split *split, tagger_view *view);

/* Computes the accuracies on a split of data (NULL: the task's own). */
cla_status cla_tagging_evaluate(cla_task *task, const char *data, const char *split,
                                cla_metrics *metrics);

/* Computes the confusion matrix counts [tags,tags]: row = the correct tag (TAGGING_OOV:
 * one that training lacks), column = the predicted tag. The caller frees it. Errors:
 * those of cla_tagging_evaluate. */
cla_status cla_tagging_confuse(tagging *t, const char *data, const char *split,
                               int64_t **counts);

typedef struct tagging_score {
    int64_t words;                // with this correct tag
    double precision, recall, f1; // percent; 0 where there is nothing to count
} tagging_score;
tagging_score cla_tagging_score_of(const int64_t *counts, int tags, int tag);

extern const cla_task_kind cla_tagging_kind;
