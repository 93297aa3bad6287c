/* poetry.h - quatrains as ids, and the generator trained on their lines. */
#pragma once

#include "models/poet.h"
#include "text/plan.h"
#include "train/task.h"

/* Poems as ids. Example 4 p + i is line i of poem p, from its keyword and the lines
 * before it. */
typedef struct poetry_split {
    int64_t poems;
    int32_t *length;     // [poems] 5 or 7
    int64_t *at;         // [poems+1] where a poem's characters begin
    int32_t *id;         // [at[poems]] of characters, line after line
    int32_t *keyword;    // [keyword_at[4 poems]] of characters
    int32_t *keyword_at; // [4 poems+1]
} poetry_split;

typedef struct poetry {
    cla_task task; // first: a poetry is a cla_task
    const char *data, *vectors, *lexicon_path, *themes_path;
    int limit;         // characters of the vocabulary, at most
    int batch;         // lines
    int word_count;    // of a word that is learnt, and
    double word_ratio; // how much more often than by chance
    int word_dim, vector_epochs;
    poet_config config;
    poet model;
    cla_vocab characters;
    cla_lexicon words;
    cla_ranking ranking;
    cla_themes themes; // none where the run has no file of them
    cla_vectors word_vectors;
    cla_vectors begin; // of characters, of a new run
    poetry_split train;
    bool training;  // opened for it
    bool planned;   // keywords of poems that are read come from their titles
    int64_t *first; // [batches+1] of the epoch's examples
    int64_t batches;
} poetry;

/* themes.c: the dictionary that the settings name, if any: its words that have a rank,
 * kept in dir (NULL: nowhere); and that of a run. Errors: those of cla_themes_read. */
extern const char poetry_themes_file[];
cla_status poetry_keep_themes(poetry *t, const char *dir);
cla_status poetry_load_themes(poetry *t, const char *dir);

/* data.c: what the poems of training teach: characters, words, ranks, vectors;
 * kept in dir (NULL: nowhere). Errors: CLA_E_INPUT (resumed: dir holds others),
 * CLA_E_IO, CLA_E_NOMEM. */
cla_status poetry_read_training(poetry *t, const char *dir, cla_task_mode mode);
cla_status poetry_load(poetry *t, const char *dir);
/* data/split.tsv, or data itself where it is a file; poems that are no quatrains are
 * passed over. Errors: those of cla_poems_read. */
cla_status poetry_read_split(poetry *t, const char *data, const char *split,
                             poetry_split *out);
void poetry_split_free(poetry_split *s);

/* Some lines of one length, from examples. Errors: CLA_E_NOMEM. */
typedef struct poetry_batch {
    poet_batch view;
    int32_t *keyword, *keyword_at, *context, *context_at, *line; // one block
} poetry_batch;
cla_status poetry_batch_make(poetry_batch *batch, const poetry_split *s,
                             const int64_t *examples, int64_t n);
void poetry_batch_free(poetry_batch *batch);

/* score.c: "perplexity" of the characters of all lines, of 5 and of 7; of a
 * trained system BLEU-2, too, of lines 2 to 4 written after the gold ones. */
cla_status poetry_evaluate(cla_task *task, const char *data, const char *split,
                           cla_metrics *metrics);

typedef struct poetry_options {
    int characters; // of a line: 5 or 7
    int beam;       // 1: the likeliest character each time
    uint32_t seed;  // of words that are drawn for want of better ones
} poetry_options;

typedef struct poetry_poem {
    cla_plan plan;
    const char *keyword[CLA_POEM_LINES]; // the task's
    cla_text line[CLA_POEM_LINES];
    double logp; // of all characters; natural
} poetry_poem;

/* compose.c: a quatrain from any text of bytes: four keywords, then line by
 * line. The same text, options and weights give the same poem.
 * Errors: CLA_E_INPUT (text too long), CLA_E_NUMERIC, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status poetry_compose(poetry *t, const char *text, size_t size,
                          const poetry_options *options, poetry_poem *poem);
/* The same from four words of the ranking. */
cla_status poetry_write(poetry *t, const cla_plan *words, const poetry_options *options,
                        poetry_poem *poem);
void poetry_poem_free(poetry_poem *poem);

/* Four keywords for a text. Errors: those of cla_plan_make. */
cla_status poetry_plan(const poetry *t, const char *text, size_t size, uint32_t seed,
                       cla_plan *words);

/* What each character of a poem that was composed looked at, level by level: sites
 * "line1" to "line4" with names on both axes. Free seen in any case. Errors:
 * CLA_E_NUMERIC, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status poetry_look(poetry *t, const poetry_poem *poem, look_log *seen);

extern const cla_task_kind poetry_kind;
