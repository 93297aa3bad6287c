/* poetry.h - the poetry task: quatrains as ids, and the generator trained on their
 * lines. */
#pragma once

#include "models/poet.h"
#include "text/plan.h"
#include "train/task.h"

/* Poems as ids. Example 4 p + i is line i of poem p, to be generated from its keyword
 * and the previous lines. */
typedef struct poetry_split {
    int64_t poems;
    int32_t *length;     // [poems] 5 or 7
    int64_t *at;         // [poems+1] first character of each poem
    int32_t *id;         // [at[poems]] ids of characters, line after line
    int32_t *keyword;    // [keyword_at[4 poems]] ids of characters
    int32_t *keyword_at; // [4 poems+1]
} poetry_split;

typedef struct poetry {
    cla_task task; // first: a poetry is a cla_task
    const char *data, *vectors, *lexicon_path, *themes_path;
    int limit;         // largest vocabulary of characters
    int batch;         // lines
    int word_count;    // least count of a learnt word
    double word_ratio; // least ratio of its count to that by chance
    int word_dim, vector_epochs;
    poet_config config;
    poet model;
    cla_vocab characters;
    cla_lexicon words;
    cla_ranking ranking;
    cla_themes themes; // empty when the run has no file of them
    cla_vectors word_vectors;
    cla_vectors begin; // initial vectors of characters, for a new run
    poetry_split train;
    bool training;  // opened for training
    bool planned;   // keywords of read poems are planned from their titles
    int64_t *first; // [batches+1] first example of each batch
    int64_t batches;
} poetry;

/* themes.c: cla_poetry_keep_themes reads the ranked words of the dictionary that the
 * settings name, if any, and writes them to dir (NULL: nowhere). cla_poetry_load_themes
 * reads the dictionary of a run. Errors: those of cla_themes_read. */
extern const char cla_poetry_themes_file[];
cla_status cla_poetry_keep_themes(poetry *t, const char *dir);
cla_status cla_poetry_load_themes(poetry *t, const char *dir);

/* data.c: reads the training poems, learns characters, words, ranks and vectors from
 * them and writes these to dir (NULL: nowhere). cla_poetry_load reads them from dir.
 * Errors: CLA_E_INPUT (resumed: dir holds others), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_poetry_read_training(poetry *t, const char *dir, cla_task_mode mode);
cla_status cla_poetry_load(poetry *t, const char *dir);
/* Reads data/split.tsv, or data itself when it is a file; skips poems that are not
 * quatrains. Errors: those of cla_poems_read. */
cla_status cla_poetry_read_split(poetry *t, const char *data, const char *split,
                                 poetry_split *out);
void cla_poetry_split_free(poetry_split *s);

/* A batch of examples whose lines have the same length. Errors: CLA_E_NOMEM. */
typedef struct poetry_batch {
    poet_batch view;
    int32_t *keyword, *keyword_at, *context, *context_at, *line; // one block
} poetry_batch;
cla_status cla_poetry_batch_make(poetry_batch *batch, const poetry_split *s,
                                 const int64_t *examples, int64_t n);
void cla_poetry_batch_free(poetry_batch *batch);

/* score.c: computes the "perplexity" of the characters of all lines, and of lines of 5
 * and of 7; for a trained system also BLEU-2 of lines 2 to 4, generated after the gold
 * lines. */
cla_status cla_poetry_evaluate(cla_task *task, const char *data, const char *split,
                               cla_metrics *metrics);

typedef struct poetry_poem {
    cla_plan plan;
    const char *keyword[CLA_POEM_LINES]; // owned by the task
    cla_text line[CLA_POEM_LINES];
    double logp; // of all characters; natural
} poetry_poem;

/* predict.c: composes a quatrain from any text of bytes: plans four keywords, then
 * generates line by line. All options are set. The same text, options and weights give
 * the same poem. Errors: CLA_E_INPUT (text too long), CLA_E_NUMERIC, CLA_E_NOMEM,
 * CLA_E_DEVICE. */
cla_status cla_poetry_compose(poetry *t, const char *text, size_t size,
                              const cla_compose_options *options, poetry_poem *poem);
/* Composes a quatrain from four given words of the ranking. */
cla_status cla_poetry_write(poetry *t, const cla_plan *words,
                            const cla_compose_options *options, poetry_poem *poem);
void cla_poetry_poem_free(poetry_poem *poem);

/* Plans four keywords for a text. Errors: those of cla_plan_make. */
cla_status cla_poetry_plan(const poetry *t, const char *text, size_t size,
                           uint32_t seed, cla_plan *words);

/* Records the attention of each character of a composed poem, level by level, as
 * "line1" to "line4" of seen, with names on both axes. Free seen in any case.
 * Errors: CLA_E_NUMERIC, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_poetry_look(poetry *t, const poetry_poem *poem, look_log *seen);

extern const cla_task_kind cla_poetry_kind;
