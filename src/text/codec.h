/* codec.h - the tokenizer of a tokenizer.json of Hugging Face's library with byte
 * pair encoding:
 *
 *   of bytes (GPT-2, Llama 3): a pattern cuts the text, each byte is a symbol;
 *   of characters with bytes for those that have no piece (Llama 1 and 2): U+2581
 *   stands for the blank.
 *
 * Pieces have the numbers of the file. Source: Sennrich, Haddow and Birch 2016; Radford
 * et al. 2019; Kudo and Richardson 2018. */
#pragma once

#include "text/bpe.h"
#include "text/cutter.h"
#include "text/subwords.h"

enum { CLA_CODEC_CUTTERS = 4 };

typedef struct cla_codec {
    cla_vocab vocab;   // pieces in the order of their numbers
    bool *special;     // [vocab.count] added pieces, which no text has
    cla_bpe bpe;       // merges of these numbers
    bool bytes;        // symbols are bytes, else characters
    bool blanks;       // U+2581 stands for the blank
    bool front;        // a blank is put before the first word
    bool once;         // but not where there is one
    bool words;        // U+2581 begins a piece of text that is merged alone
    bool fallback;     // bytes stand for characters without a piece
    bool whole;        // a piece of text that is in the vocabulary is not cut
    bool fuse;         // unknown characters in a row are one piece
    int32_t unknown;   // its number; -1: there is none
    int32_t start;     // the piece in front of a text; -1: there is none
    int32_t byte[256]; // symbols of bytes; -1: there is none
    cla_cutter *cutter[CLA_CODEC_CUTTERS];
    int cutters;
} cla_codec;

/* Reads a tokenizer.json. path is for messages. Call cla_codec_free in any case.
 * Errors: CLA_E_INPUT (no JSON; a part that is missing or of a kind that is not read,
 * by its name; numbers that do not follow one another), CLA_E_NOMEM. */
cla_status cla_codec_parse(cla_codec *t, const char *path, const char *json,
                           size_t size);
void cla_codec_free(cla_codec *t);

/* codec_model.c: appends the tokenizer.json of a SentencePiece model of byte pairs, as
 * Llama 1 and 2 have it: the same pieces with the same numbers, and that of the start
 * in front of a text. The pieces of a text of many words are compared with those of
 * SentencePiece.
 * Errors: CLA_E_INPUT (no model; one that cuts that text otherwise: of another kind
 * than byte pairs, or with a normalisation), CLA_E_USAGE (built without SentencePiece),
 * CLA_E_NOMEM. */
cla_status cla_codec_convert(cla_text *json, const char *path, const char *model,
                             size_t size);

/* Returns the number of a piece, special ones included, or -1. */
int32_t cla_codec_find(const cla_codec *t, const char *piece);

/* Appends the pieces of a text (UTF-8), without those in front of it. No text has
 * special pieces. Errors: CLA_E_INPUT (a pattern takes too long; a piece of 2 GiB),
 * CLA_E_NOMEM. */
cla_status cla_codec_encode(const cla_codec *t, const char *text, size_t size,
                            cla_ids *ids);

/* Appends the bytes of a piece; special ones have none. The first piece of a text
 * begins with a blank where t->front. Errors: CLA_E_NOMEM. */
cla_status cla_codec_decode(const cla_codec *t, int32_t id, cla_text *out);

/* Writes the letter that stands for a byte in pieces of bytes, and a NUL; returns its
 * length in bytes. */
int cla_codec_letter(int byte, char out[5]);
/* Returns the byte of a piece such as "<0x0A>", or -1. */
int cla_codec_hex(const char *piece);
