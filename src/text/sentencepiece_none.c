/* sentencepiece_none.c - functions that fail, for builds without SentencePiece. */
#include "text/sentencepiece.h"

static cla_status missing(void)
{
    return cla_fail(CLA_E_USAGE, "clattn was built without SentencePiece (meson option "
                                 "sentencepiece)");
}

cla_status cla_sentencepiece_new(cla_sentencepiece **out, const char *path,
                                 const char *bytes, size_t size)
{
    (void)path, (void)bytes, (void)size;
    *out = NULL;
    return missing();
}

void cla_sentencepiece_free(cla_sentencepiece **pieces)
{
    *pieces = NULL;
}

cla_status cla_sentencepiece_apply(const cla_sentencepiece *pieces, const char *line,
                                   size_t size, cla_text *out)
{
    (void)pieces, (void)line, (void)size, (void)out;
    return missing();
}

cla_status cla_sentencepiece_undo(const cla_sentencepiece *pieces, const char *tokens,
                                  size_t size, cla_text *out)
{
    (void)pieces, (void)tokens, (void)size, (void)out;
    return missing();
}

cla_status cla_sentencepiece_all(const cla_sentencepiece *pieces, cla_text *out)
{
    (void)pieces, (void)out;
    return missing();
}

cla_status cla_sentencepiece_list(const cla_sentencepiece *pieces, cla_text *out)
{
    (void)pieces, (void)out;
    return missing();
}

cla_status cla_sentencepiece_kinds(const cla_sentencepiece *pieces, float *score,
                                   char *kind, int *start)
{
    (void)pieces;
    *score = 0;
    *kind = 'x';
    *start = -1;
    return missing();
}
