/* sentences_none.c - functions that fail, for builds without ICU. */
#include "text/sentences.h"

bool cla_sentences_there(void)
{
    return false;
}

cla_status cla_sentences_new(cla_sentences **out, const char *language)
{
    (void)language;
    *out = NULL;
    return cla_fail(CLA_E_USAGE, "clattn was built without ICU (meson option icu)");
}

void cla_sentences_free(cla_sentences **sentences)
{
    *sentences = NULL;
}

cla_status cla_sentences_cut(cla_sentences *sentences, const char *text, size_t size,
                             cla_cuts *cuts)
{
    (void)sentences, (void)text, (void)size, (void)cuts;
    return cla_fail(CLA_E_USAGE, "clattn was built without ICU (meson option icu)");
}
