/* sentencepiece.h - models of Google's SentencePiece library, where clattn was built
 * with it (meson option sentencepiece). Kudo and Richardson 2018. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include "base/text.h"

typedef struct cla_sentencepiece cla_sentencepiece;

/* From the bytes of a model file; path is for messages. Errors: CLA_E_INPUT (no model),
 * CLA_E_USAGE (clattn was built without), CLA_E_NOMEM. */
cla_status cla_sentencepiece_new(cla_sentencepiece **out, const char *path,
                                 const char *bytes, size_t size);
void cla_sentencepiece_free(cla_sentencepiece **pieces);

/* Appends the pieces of a line, with a blank between two, and the line of such pieces.
 * A piece has no blank of its own: U+2581 stands for one. Errors: CLA_E_NOMEM. */
cla_status cla_sentencepiece_apply(const cla_sentencepiece *pieces, const char *line,
                                   size_t size, cla_text *out);
cla_status cla_sentencepiece_undo(const cla_sentencepiece *pieces, const char *tokens,
                                  size_t size, cla_text *out);

/* Appends all pieces that the model can give, with a blank between two. */
cla_status cla_sentencepiece_all(const cla_sentencepiece *pieces, cla_text *out);

/* Appends every piece in the order of its number, control and unknown ones too,
 * with a line end behind each. */
cla_status cla_sentencepiece_list(const cla_sentencepiece *pieces, cla_text *out);

#ifdef __cplusplus
}
#endif
