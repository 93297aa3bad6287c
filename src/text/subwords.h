/* subwords.h - converts lines to ids of subword pieces and back: tokenisation, byte
 * pair encoding or SentencePiece, and a vocabulary. */
#pragma once

#include "text/bpe.h"
#include "text/lines.h"
#include "text/prepared.h"
#include "text/sentencepiece.h"

/* How a line becomes pieces. */
typedef enum cla_pieces {
    CLA_PIECES_BPE,   // byte pair encoding of words
    CLA_PIECES_SPLIT, // cla_split, then byte pair encoding
    CLA_PIECES_MODEL, // a SentencePiece model
} cla_pieces;

typedef struct cla_subwords {
    cla_pieces kind;
    cla_text codes; // bytes of the codes file or of the model
    cla_bpe bpe;
    cla_sentencepiece *model; // of CLA_PIECES_MODEL
    bool prefix; // ">>x<<" before a line is one piece: the target language of a model
    bool tagged; // "<2x>" before a line is the target language, and cut with it
    int32_t before; // a piece in front of those of each line, such as the name of its
                    // language; 0: none
    bool tidy; // decode drops unknown pieces, U+2581 becomes a blank, ends are trimmed
    cla_vocab vocab;
} cla_subwords;

typedef struct cla_ids {
    int32_t *id;
    size_t count, cap;
} cla_ids;

void cla_subwords_free(cla_subwords *s);
void cla_ids_free(cla_ids *ids);

/* Learns merges from all texts [n] together. cla_subwords_count makes the vocabulary.
 * Errors: CLA_E_INPUT (no word), CLA_E_NOMEM. */
cla_status cla_subwords_learn(cla_subwords *s, const cla_lines *texts, size_t n,
                              bool split, int64_t merges);
/* Loads a SentencePiece model file. Errors: CLA_E_INPUT (not a model), CLA_E_USAGE
 * (built without the library), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_subwords_take(cla_subwords *s, const char *model_path);
/* Copies the merges or model of other: joint pieces, separate vocabularies. */
cla_status cla_subwords_share(cla_subwords *s, const cla_subwords *other);

/* Makes the vocabulary: the special tokens, the pieces of texts [n] in falling order of
 * counts, then every letter of the merges, at the end of a word and before it, so that
 * unseen words have pieces (for a SentencePiece model: all its pieces). At most limit
 * tokens; 0: any number. Errors: CLA_E_USAGE (there is a vocabulary), CLA_E_NOMEM. */
cla_status cla_subwords_count(cla_subwords *s, const cla_lines *texts, size_t n,
                              size_t limit);

/* Write and read two files, codes and vocabulary. Errors: CLA_E_IO, CLA_E_INPUT
 * (path:line), CLA_E_NOMEM. */
cla_status cla_subwords_save(const cla_subwords *s, const char *codes_path,
                             const char *vocab_path);
cla_status cla_subwords_load(cla_subwords *s, cla_pieces kind, const char *codes_path,
                             const char *vocab_path);

/* Reads both from memory: the codes, then the vocabulary. path is for messages. */
cla_status cla_subwords_parse(cla_subwords *s, cla_pieces kind, const char *path,
                              const cla_part part[2]);

/* Appends the ids of a line's pieces, `before` in front of them; CLA_UNK for pieces
 * outside the vocabulary. A line of blanks has no pieces, except with CLA_PIECES_SPLIT.
 * Errors: CLA_E_NOMEM. */
cla_status cla_subwords_encode(const cla_subwords *s, const char *line, size_t size,
                               cla_ids *ids);

/* Appends the line of ids [n] up to CLA_EOS. Skips CLA_PAD; unknown ids become "<unk>",
 * or nothing when tidy. Errors: CLA_E_NOMEM. */
cla_status cla_subwords_decode(const cla_subwords *s, const int32_t *ids, size_t n,
                               cla_text *out);

/* ---- cutting: subwords_cut.c ---- */

/* Receives a piece; id: that of an added token, else -1. */
typedef cla_status cla_take_piece(void *to, const char *piece, int id);

/* Cuts a line into pieces. Errors: CLA_E_NOMEM, those of take. */
cla_status cla_subwords_cut(const cla_subwords *s, const char *line, size_t size,
                            cla_take_piece *take, void *to);
/* Gives each piece of a text, in which one `end` stands between or behind them; changes
 * the text. Errors: those of take. */
cla_status cla_pieces_give(cla_text *pieces, char end, cla_take_piece *take, void *to);

/* Returns the bytes of the ">>x<<" that begins a line and is one piece, or of a tag; 0:
 * none. */
size_t cla_subwords_prefix(const cla_subwords *s, const char *line, size_t size);
/* Returns whether a piece is ">>x<<". */
bool cla_subwords_is_prefix(const char *piece);
/* Returns the bytes of the "<2x>" at the start of a line; 0: none. */
size_t cla_subwords_tag(const char *line, size_t size);
