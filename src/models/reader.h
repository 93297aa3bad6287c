/* reader.h - networks that find an answer in a passage: words as vectors in front, one
 * of several networks in the middle, scores of first and last words behind. */
#pragma once

#include "base/config.h"
#include "models/look.h"
#include "nn/param.h"

/* What a word looks like, beside which word it is: whether the other text of the pair
 * has it too, its shape, and how frequent it is. */
enum {
    READER_SHARED = 3, // not, its beginning, as it is
    READER_SHAPES = 5, // lower case, first letter large, all large, digits, other
    READER_RANKS = 4,  // the first hundred words, the first thousand, known, unknown
    READER_TRAITS = READER_SHARED * READER_SHAPES * READER_RANKS
};

typedef struct reader_config {
    int network;      // of those that exist
    int words, chars; // sizes of the vocabularies, set by the task
    int word_dim, trait_dim, hidden;
    int char_dim;       // of a word's characters; 0: the network has words alone
    int char_width;     // of what the network makes of them, one direction
    int depth;          // levels of hierarchical attention; 0: the network without any
    double first_level; // weight that the first level begins with; 0: as the others
    int passages;       // of a question, at most
    bool freeze;        // word vectors stay what they were
    bool tie_dir;       // Match-LSTM: one set of weights for both directions
    bool ham_q2c;       // BiDAF: levels where the passage is asked too
    int form;           // BiDAF: of the baseline of DuReader, or as it was published
    int cell;           // R-NET: GRU, SRU
    double dropout;     // of words and of what encoders make of them
} reader_config;

/* The distinct words of a batch as their characters, so that each is encoded once. */
typedef struct reader_chars {
    const cla_ragged *rows;            // C characters in U words; NULL: none are known
    const int32_t *id;                 // [C]
    const int32_t *question, *passage; // [Nq], [Np] which of the U words each one is
} reader_chars;

/* Questions and their passages, packed, none without a word: one passage each, in
 * falling order of length; or several, each question's one after the other. */
typedef struct reader_batch {
    const cla_ragged *question_rows; // Nq tokens in B sequences
    const cla_ragged *passage_rows;  // Np tokens in P sequences
    const cla_ragged
        *asked_rows;      // where P > B: the same tokens in B sequences; else NULL
    const int32_t *asker; // [P] with asked_rows: whose question a passage answers
    const int32_t *question, *passage;             // [Nq], [Np] ids
    const int32_t *question_trait, *passage_trait; // [Nq], [Np]; NULL without traits
    reader_chars chars;
    const int32_t *first, *last; // [B] words, of all passages together; -1: not known
    int64_t first_question, first_passage; // rows before those, of a shared batch
} reader_batch;

/* A number for each word of each passage as an answer's first and last: [Np]. */
typedef struct reader_scores {
    cla_tensor *first, *last;
} reader_scores;

/* All that a question may be answered from, B sequences. */
static inline const cla_ragged *reader_asked_rows(const reader_batch *b)
{
    return b->asked_rows ? b->asked_rows : b->passage_rows;
}

typedef struct reader reader;

/* Words from their characters, whichever way the network has.
 *
 * y     out  [U,char_ways char_width]
 * x     in   [C,char_dim]
 * rows  in   C characters in U words
 */
typedef cla_status reader_spell(reader *r, cla_tape *tape, cla_tensor **y,
                                cla_tensor *x, const cla_ragged *rows);

/* A network between word vectors question [Nq,in], passage [Np,in] and scores before
 * the softmax over a question's passages. Its parameters stand in reader.network, size
 * bytes, zero at first. */
typedef struct reader_kind {
    const char *name;
    size_t size;
    bool several;       // passages a question it can read
    bool probabilities; // that scores are; least is added before their logarithm
    float least;
    int char_ways;       // columns of spell's for each of char_width
    reader_spell *spell; // NULL: it has no use for characters
    cla_status (*configure)(reader_config *config, cla_config *settings); // or NULL
    const struct reader_kind *(*form)(const reader_config *config); // NULL: this alone
    cla_status (*init)(reader *r, cla_params *params);
    cla_status (*scores)(reader *r, cla_tape *tape, reader_scores *scores,
                         cla_tensor *question, cla_tensor *passage,
                         const reader_batch *batch);
} reader_kind;

struct reader {
    reader_config config;
    const reader_kind *kind;
    void *network;
    int64_t in;                         // width of a word
    cla_tensor *words, *traits, *chars; // [words,word_dim]; [READER_TRAITS,trait_dim]
                                        // and [chars,char_dim], or NULL
    look_log *seen;                     // of a batch of one question; or NULL
};

/* Reads the settings (defaults: the papers'). Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status reader_configure(reader_config *config, cla_config *settings);

/* Adds the parameters. Free it in any case, after them.
 * Errors: CLA_E_INPUT, CLA_E_NOMEM. */
cla_status reader_init(reader *r, const reader_config *config, cla_params *params);
void reader_fini(reader *r);

/* Errors: CLA_E_USAGE (passages not in falling order of length, or empty; several of a
 * question where the network reads one; no characters for a network that has them),
 * those of the ops. */
cla_status reader_score(reader *r, cla_tape *tape, reader_scores *scores,
                        const reader_batch *batch);

/* Cross entropy of the first and of the last word, added, mean over questions: [1]. */
cla_status reader_loss(reader *r, cla_tape *tape, cla_tensor **loss,
                       const reader_batch *batch);

/* Logarithms of probabilities. Errors: the same. */
cla_status reader_logs(reader *r, cla_tape *tape, reader_scores *logs,
                       const reader_batch *batch);

/* Dropout, where the tape trains. first: rows before those of *x. */
cla_status reader_drop(const reader *r, cla_tape *tape, cla_tensor **x, int64_t first);

/* B sequences of which the first n have one token, the rest none; kept by the tape. */
cla_status reader_single_rows(cla_tape *tape, const cla_ragged **out, int64_t B,
                              int64_t n);
