/* subwords.h - lines to the numbers of their pieces and back: the split, byte pairs and
 * a vocabulary in one. */
#pragma once

#include "text/bpe.h"
#include "text/lines.h"
#include "text/sentencepiece.h"

/* How a line becomes pieces. */
typedef enum cla_pieces {
    CLA_PIECES_BPE,   // merges of byte pairs inside words
    CLA_PIECES_SPLIT, // the same, punctuation and ideographs cut off words first
    CLA_PIECES_MODEL, // as a SentencePiece model says
} cla_pieces;

typedef struct cla_subwords {
    cla_pieces kind;
    cla_text codes; // as in a file: merges, or the model
    cla_bpe bpe;
    cla_sentencepiece *model; // of CLA_PIECES_MODEL
    bool prefix; // of a model: ">>x<<" in front of a line is a piece, for the language
    bool tidy;   // decode leaves out unknown pieces and blanks at both ends, and no
                 // U+2581 remains
    cla_vocab vocab;
} cla_subwords;

typedef struct cla_ids {
    int32_t *id;
    size_t count, cap;
} cla_ids;

void cla_subwords_free(cla_subwords *s);
void cla_ids_free(cla_ids *ids);

/* Learns merges from texts [n], all as one. The vocabulary is still to be made.
 * Errors: CLA_E_INPUT (no word), CLA_E_NOMEM. */
cla_status cla_subwords_learn(cla_subwords *s, const cla_lines *texts, size_t n,
                              bool split, int64_t merges);
/* Takes a SentencePiece model, as its trainer wrote it. Errors: CLA_E_INPUT (it is
 * none), CLA_E_USAGE (clattn was built without the library), CLA_E_IO, CLA_E_NOMEM. */
cla_status cla_subwords_take(cla_subwords *s, const char *model_path);
/* Takes the merges or model of another: joint pieces, separate vocabularies. */
cla_status cla_subwords_share(cla_subwords *s, const cla_subwords *other);

/* Makes the vocabulary: the special tokens, the pieces of texts [n] by falling count,
 * and every letter that is merged with others, alone and as a part (of a model: every
 * piece), so that words that never occurred have pieces too. At most limit tokens; 0:
 * all. Errors: CLA_E_USAGE (there is a vocabulary), CLA_E_NOMEM. */
cla_status cla_subwords_count(cla_subwords *s, const cla_lines *texts, size_t n,
                              size_t limit);

/* Two files, codes and vocabulary. load takes what save wrote. Errors: CLA_E_IO,
 * CLA_E_INPUT (path:line), CLA_E_NOMEM. */
cla_status cla_subwords_save(const cla_subwords *s, const char *codes_path,
                             const char *vocab_path);
cla_status cla_subwords_load(cla_subwords *s, cla_pieces kind, const char *codes_path,
                             const char *vocab_path);

/* Appends the numbers of a line's pieces; CLA_UNK for one that is not in the
 * vocabulary. A line of blanks has none unless they are split off. Errors:
 * CLA_E_NOMEM. */
cla_status cla_subwords_encode(const cla_subwords *s, const char *line, size_t size,
                               cla_ids *ids);

/* Appends the line of n pieces up to CLA_EOS; CLA_PAD is passed over, what is not known
 * becomes "<unk>" unless tidy leaves it out. Errors: CLA_E_NOMEM. */
cla_status cla_subwords_decode(const cla_subwords *s, const int32_t *ids, size_t n,
                               cla_text *out);
