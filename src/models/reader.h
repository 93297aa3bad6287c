/* reader.h - readers, which find an answer in a passage: word vectors as input, one of
 * several networks, and scores of the answer's first and last word as output. */
#pragma once

#include "base/config.h"
#include "models/look.h"
#include "nn/param.h"

/* Traits of a word besides its id: whether the other text of the pair (passage or
 * question) shares it, its shape, and its frequency. */
enum {
    READER_SHARED = 3, // not shared, its first bytes alone, the whole word
    READER_SHAPES = 5, // lower case, capitalised, two capitals or more, digits, other
    READER_RANKS = 4,  // the 100 most frequent words, the first 1000, known, unknown
    READER_TRAITS = READER_SHARED * READER_SHAPES * READER_RANKS
};

typedef struct reader_config {
    int network;      // index into the networks of reader.c
    int words, chars; // sizes of the vocabularies, set by the task
    int word_dim, trait_dim, hidden;
    int char_dim;       // of character embeddings; 0: no characters
    int char_width;     // of the encoding of a word from its characters, one direction
    int depth;          // levels of hierarchical attention; 0: without it
    double first_level; // initial weight of the first level; 0: that of the others
    int passages;       // of a question, at most
    bool freeze;        // word vectors are not trained
    bool tie_dir;       // Match-LSTM: one set of weights for both directions
    bool ham_q2c;       // BiDAF: levels in query-to-context attention, too
    int form;           // BiDAF: 0 the baseline of DuReader, 1 as published
    int cell;           // R-NET: 0 GRU, 1 SRU
    double dropout;     // of word vectors and of encoder states
} reader_config;

/* The characters of the distinct words of a batch, so that each is encoded once. */
typedef struct reader_chars {
    const cla_ragged *rows;            // C characters in U words; NULL: no characters
    const int32_t *id;                 // [C]
    const int32_t *question, *passage; // [Nq], [Np] index into the U words
} reader_chars;

/* A packed batch of questions and their passages, none of them empty. Either every
 * question has one passage, in falling order of the passages' length, or some have
 * several, which follow one another. */
typedef struct reader_batch {
    const cla_ragged *question_rows; // Nq tokens in B sequences
    const cla_ragged *passage_rows;  // Np tokens in P sequences
    const cla_ragged *asked_rows; // P > B: the passage tokens in B sequences; else NULL
    const int32_t *asker;         // [P] with asked_rows: the question of each passage
    const int32_t *question, *passage;             // [Nq], [Np] ids
    const int32_t *question_trait, *passage_trait; // [Nq], [Np]; NULL without traits
    reader_chars chars;
    const int32_t *first, *last; // [B] words of all passages together; -1: unknown
    int64_t first_question, first_passage; // their first rows in a shared batch
} reader_batch;

/* Scores [Np] of each passage word as the answer's first and as its last word. */
typedef struct reader_scores {
    cla_tensor *first, *last;
} reader_scores;

/* Returns all passage words of each question, as B sequences. */
static inline const cla_ragged *reader_asked_rows(const reader_batch *b)
{
    return b->asked_rows ? b->asked_rows : b->passage_rows;
}

typedef struct reader reader;

/* Encodes words from their characters.
 *
 * y     out  [U,char_ways char_width]
 * x     in   [C,char_dim]
 * rows  in   C characters in U words
 */
typedef cla_status reader_spell(reader *r, cla_tape *tape, cla_tensor **y,
                                cla_tensor *x, const cla_ragged *rows);

/* A network from word vectors question [Nq,in] and passage [Np,in] to scores, of which
 * the softmax runs over all passages of a question. Its parameters are in
 * reader.network: size bytes, initially zero. */
typedef struct reader_kind {
    const char *name;
    size_t size;
    bool several;       // whether it can read several passages a question
    bool probabilities; // scores are probabilities; least is added before the logarithm
    float least;
    int char_ways;       // columns of spell: char_ways * char_width
    reader_spell *spell; // NULL: the network reads no characters
    cla_status (*configure)(reader_config *config, cla_config *settings); // or NULL
    const struct reader_kind *(*form)(const reader_config *config); // NULL: one form
    cla_status (*init)(reader *r, cla_params *params);
    cla_status (*scores)(reader *r, cla_tape *tape, reader_scores *scores,
                         cla_tensor *question, cla_tensor *passage,
                         const reader_batch *batch);
} reader_kind;

struct reader {
    reader_config config;
    const reader_kind *kind;
    void *network;
    int64_t in;                         // width of a word vector
    cla_tensor *words, *traits, *chars; // [words,word_dim]; [READER_TRAITS,trait_dim]
                                        // and [chars,char_dim], or NULL
    look_log *seen;                     // log of a batch of one question; or NULL
};

/* Reads the settings (defaults: those of the papers). Errors: CLA_E_INPUT,
 * CLA_E_NOMEM. */
cla_status cla_reader_configure(reader_config *config, cla_config *settings);

/* Adds the parameters. Call cla_reader_fini in any case, after cla_params_free.
 * Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status cla_reader_init(reader *r, const reader_config *config, cla_params *params);
void cla_reader_fini(reader *r);

/* Computes the scores [Np] of the batch. Errors: CLA_E_USAGE (passages that are empty
 * or not in falling order of length; several passages a question for a network that
 * reads one; no characters for a network that has them), those of the ops. */
cla_status cla_reader_score(reader *r, cla_tape *tape, reader_scores *scores,
                            const reader_batch *batch);

/* Computes the sum of the cross entropies of the first and the last word, mean over
 * questions, [1]. Errors: those of cla_reader_score. */
cla_status cla_reader_loss(reader *r, cla_tape *tape, cla_tensor **loss,
                           const reader_batch *batch);

/* Computes the log probabilities [Np] of first and last words. Errors: those of
 * cla_reader_score. */
cla_status cla_reader_logs(reader *r, cla_tape *tape, reader_scores *logs,
                           const reader_batch *batch);

/* Applies dropout to *x on a training tape. first: its first row in a shared batch. */
cla_status cla_reader_drop(const reader *r, cla_tape *tape, cla_tensor **x,
                           int64_t first);

/* Makes B sequences owned by the tape: the first n have one token, the rest none. */
cla_status cla_reader_single_rows(cla_tape *tape, const cla_ragged **out, int64_t B,
                                  int64_t n);
