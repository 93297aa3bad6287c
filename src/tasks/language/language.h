/* language.h - the language modelling task: text as a stream of pieces, and the network
 * that predicts each from those before it. */
#pragma once

#include "clattn/model.h"
#include "models/lm.h"
#include "models/sample.h"
#include "models/tagger_maps.h"
#include "text/codec.h"
#include "text/subwords.h"
#include "train/task.h"

/* What the pieces are. */
typedef enum language_pieces {
    LANGUAGE_BYTES,
    LANGUAGE_CHARACTERS, // code points of the training text
    LANGUAGE_BPE,        // byte pairs of its words
    LANGUAGE_MODEL,      // those of a SentencePiece model
    LANGUAGE_TOKENIZER,  // those of a tokenizer.json
} language_pieces;

enum { LANGUAGE_STOPS = 15 };

/* Texts as ids. Where documents are apart, CLA_EOS stands before each and after the
 * last; of a tokenizer `start` before each, `end` behind each, once if they are one. */
typedef struct language_text {
    cla_ids ids;
    double bytes;          // of the pieces from the second on
    cla_prepared prepared; // where the ids lie, if they were kept
} language_text;
void cla_language_text_free(language_text *text);

typedef struct language {
    cla_task task; // first: a language is a cla_task
    const char *data, *train_name, *dev_name, *test_name;
    double hold_out; // share of the training text that is the dev split
    int pieces;      // language_pieces
    int merges;
    bool split;                       // words are cut off punctuation before byte pairs
    const char *sentencepiece;        // path of the model
    const char *tokenizer_path;       // of LANGUAGE_TOKENIZER
    const char *end_token;            // its piece behind documents; "": none is named
    const char *stop[LANGUAGE_STOPS]; // further pieces that end a text
    int stops;                        //
    int rows;                         // of the table; 0: as many as pieces
    bool documents;                   // blank lines separate documents
    lm_config config;
    lm model;
    cla_subwords subwords; // its vocabulary is also that of characters
    cla_codec tokenizer;   // its text is in subwords.codes
    int32_t start, end;    // pieces around documents; -1: there are none
    int32_t stop_id[LANGUAGE_STOPS];
    int32_t line_end; // piece of subwords that ends a line
    language_text train;
    int64_t shift; // of the windows of this epoch
    int64_t first; // tokens of the batch before its next part
} language;

/* data.c: reads the training text, or finds it as numbers, and writes its pieces to dir
 * (NULL: nowhere); then the dev split must be readable, too.
 * Errors: CLA_E_INPUT (resumed: dir holds others; a text that is not UTF-8 or has less
 * than two pieces), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_language_read_training(language *t, const char *dir, cla_task_mode mode);
/* Reads a split of the folder data, or data itself when it is a file. Errors: as
 * above. */
cla_status cla_language_read_split(const language *t, const char *data,
                                   const char *split, language_text *text);

/* ---- pieces.c ----------------------------------------------------------------- */

/* Appends the ids of a text, CLA_UNK for pieces that are not in the vocabulary and
 * CLA_EOS for each NUL, or those of a tokenizer. Errors: CLA_E_NOMEM. */
cla_status cla_language_encode(const language *t, const char *text, size_t size,
                               cla_ids *ids);
/* Appends the bytes of pieces [n]; CLA_PAD and CLA_EOS have none. Errors:
 * CLA_E_NOMEM. */
cla_status cla_language_decode(const language *t, const int32_t *id, size_t n,
                               cla_text *out);
/* Returns whether the bytes of the pieces up to this one do not depend on those that
 * follow: the end of a line of subwords, any byte or character. */
bool cla_language_ends(const language *t, int32_t id);

/* Returns whether a piece ends a text that is written. */
bool cla_language_stops(const language *t, int32_t id);

/* The number of pieces, special ones included. */
int cla_language_count(const language *t);
/* Makes the pieces of the training text; path is for messages. Errors: CLA_E_INPUT (no
 * word, no model), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_language_learn(language *t, const cla_text *text, const char *path);

/* Write the pieces to the files of a run folder, or compare them with those that a
 * resumed run has; read them. Errors: CLA_E_INPUT, CLA_E_IO, CLA_E_NOMEM. */
extern const char *const cla_language_files[]; // that not all runs have
cla_status cla_language_keep(const language *t, const char *dir, bool resumed);
cla_status cla_language_load(language *t, const char *dir);
/* Returns whether a folder has a tokenizer.model and no tokenizer.json, so that
 * cla_language_load reads the former. */
bool cla_language_has_model(const char *dir);
cla_pieces cla_language_kind_of(const language *t);
/* tokenized.c: reads the tokenizer from memory or from a file, of which one that ends
 * in ".model" is SentencePiece's, and finds the pieces around documents; cuts a text.
 * Errors: CLA_E_INPUT, CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_language_use_tokenizer(language *t, const char *path, const char *json,
                                      size_t size);
cla_status cla_language_read_tokenizer(language *t, const char *path);
cla_status cla_language_tokenize(const language *t, const char *text, size_t size,
                                 cla_ids *ids);

/* Finds the piece of a line's end in the vocabulary. Errors: CLA_E_INPUT (there is
 * none). */
cla_status cla_language_find_end(language *t, const char *path);

/* batch.c: windows of at most T pieces, each with those that follow them. Windows do
 * not overlap. Documents in a window are sequences of their own. */
typedef struct language_batch {
    int64_t count, sequences;                  // N, B
    int32_t *id, *position, *target, *offsets; // [N], [N], [N], [B+1]; one block
} language_batch;

/* Returns the number of windows of n pieces that begin at the piece `shift`. */
int64_t cla_language_windows(int64_t n, int64_t shift, int64_t context);

/* Makes the batch of these windows [n], or of n windows from the first on when window
 * is NULL. Errors: CLA_E_NOMEM. */
typedef struct language_cut {
    const cla_ids *ids;
    int64_t shift, context;
    int32_t start; // the piece with which documents begin; -1: there is none
} language_cut;
cla_status cla_language_batch_make(language_batch *batch, const language_cut *cut,
                                   const int64_t *window, int64_t first, int64_t n);
void cla_language_batch_free(language_batch *batch);

/* score.c: computes "nll" (nats a piece), "perplexity", "bits_per_byte" and
 * "pieces". */
cla_status cla_language_evaluate(cla_task *task, const char *data, const char *split,
                                 cla_metrics *metrics);

/* Sums -ln p in nats of the pieces of a text and of its end, which is that of a line
 * or, where documents are apart, of a document. It begins behind such an end. Pieces
 * are read in windows that do not overlap.
 *
 * pieces  out  number of those, with the end
 *
 * Errors: CLA_E_NUMERIC, CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_language_score(language *t, const char *text, size_t size, double *nats,
                              int64_t *pieces);

/* How a text is continued. */
typedef struct language_writing {
    sample_options sample;
    int pieces;              // at most
    const char *const *stop; // [stops] texts, none empty, that end the writing
    size_t stops;
    /* Gets the text, some of it at a time; may be NULL. Another status than CLA_OK ends
     * the writing. */
    cla_status (*take)(void *to, const char *text, size_t size);
    void *to;
    cla_text_end *end; // out: why it ended; may be NULL
} language_writing;

/* write.c: appends to out what follows on prompt, up to a stop or the end of the
 * document. The same prompt, options and weights give the same text. Bytes that are not
 * UTF-8 become U+FFFD.
 * Errors: CLA_E_NUMERIC (weights that give no finite scores), CLA_E_NOMEM,
 * CLA_E_DEVICE, those of take. */
cla_status cla_language_write(language *t, const char *prompt, size_t size,
                              const language_writing *how, cla_text *out);

/* look.c: computes logits [pieces,V] of the piece after each piece of a text, and the
 * maps of all layers. A text begins as in writing.
 *
 * view    out  to be freed by cla_tagger_view_free, also on failure
 * names   out  the pieces, a NUL behind each
 *
 * Errors: CLA_E_INPUT (no piece, or more than the context or 1024; attention without
 * maps), CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status cla_language_look(language *t, const char *text, size_t size,
                             tagger_view *view, cla_text *names, size_t *pieces);

extern const cla_task_kind cla_language_kind;
