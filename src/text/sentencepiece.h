/* sentencepiece.h - SentencePiece models, through Google's library (meson option
 * sentencepiece). Source: Kudo and Richardson 2018. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include "base/text.h"

typedef struct cla_sentencepiece cla_sentencepiece;

/* Loads the bytes of a model file; path is for messages. Errors: CLA_E_INPUT (not a
 * model), CLA_E_USAGE (built without the library), CLA_E_NOMEM. */
cla_status cla_sentencepiece_new(cla_sentencepiece **out, const char *path,
                                 const char *bytes, size_t size);
void cla_sentencepiece_free(cla_sentencepiece **pieces);

/* apply appends the pieces of a line, each followed by a NUL; undo appends the line of
 * such pieces. Inside a piece, U+2581 replaces the blank. Errors: CLA_E_NOMEM. */
cla_status cla_sentencepiece_apply(const cla_sentencepiece *pieces, const char *line,
                                   size_t size, cla_text *out);
cla_status cla_sentencepiece_undo(const cla_sentencepiece *pieces, const char *tokens,
                                  size_t size, cla_text *out);

/* Appends all pieces that the model can produce, each followed by a NUL. */
cla_status cla_sentencepiece_all(const cla_sentencepiece *pieces, cla_text *out);

/* Appends every piece in the order of ids, control and unknown pieces included, each
 * followed by a NUL. */
cla_status cla_sentencepiece_list(const cla_sentencepiece *pieces, cla_text *out);

/* Tells of each piece its score (log p, or of byte pairs the order of merges: higher
 * ones are earlier) and its kind: 'n' normal, 'c' control, 'u' unknown, 'b' byte, 'x'
 * unused. start: id of the piece that begins a text, -1: there is none. */
cla_status cla_sentencepiece_kinds(const cla_sentencepiece *pieces, float *score,
                                   char *kind, int *start);

#ifdef __cplusplus
}
#endif
