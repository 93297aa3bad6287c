/* languages.c - the languages that a translator's pieces name. */
#include <string.h>

#include "tasks/translation/translation.h"

/* Returns whether a piece has the form of a language: "aaa_Aaaa" for "fra_Latn". */
static bool is_code(const char *piece, size_t size, const char *form)
{
    bool fits = size == strlen(form);
    for (size_t i = 0; i < size && fits; i++) {
        const bool small = piece[i] >= 'a' && piece[i] <= 'z';
        const bool capital = piece[i] >= 'A' && piece[i] <= 'Z';
        fits = form[i] == 'a' ? small : form[i] == 'A' ? capital : piece[i] == form[i];
    }
    return fits;
}

const char *const cla_translation_languages[] = { "prefix", "m2m100", "nllb",
                                                  "mbart",  "tag",    NULL };

const char *cla_translation_language_in(int languages, const char *piece, size_t *size)
{
    const size_t bytes = strlen(piece);
    const bool bare = languages == TRANSLATION_NLLB || languages == TRANSLATION_MBART;
    const size_t edge = bare ? 0 : 2; // bytes in front
    const size_t end = languages == TRANSLATION_TAG ? 1 : edge;
    bool named = false;
    switch (languages) {
    case TRANSLATION_PREFIX:
        named = cla_subwords_is_prefix(piece);
        break;
    case TRANSLATION_M2M100:
        named = bytes > 4 && memcmp(piece, "__", 2) == 0 &&
                memcmp(piece + bytes - 2, "__", 2) == 0;
        break;
    case TRANSLATION_NLLB:
        named = is_code(piece, bytes, "aaa_Aaaa");
        break;
    case TRANSLATION_MBART:
        named = is_code(piece, bytes, "aa_AA");
        break;
    case TRANSLATION_TAG:
        named = bytes && cla_subwords_tag(piece, bytes) == bytes;
        break;
    }
    *size = named ? bytes - edge - end : 0;
    return named ? piece + edge : NULL;
}

bool cla_translation_in_text(const translation *t)
{
    return t->languages == TRANSLATION_PREFIX || t->languages == TRANSLATION_TAG;
}

/* What a text names is a piece like any other, the languages of other models special
 * ones. */
const char *cla_translation_language(const translation *t, size_t i, size_t *size)
{
    const cla_vocab *v = &t->source.vocab;
    const bool prefixes = t->languages == TRANSLATION_PREFIX;
    const bool special = i < v->specials;
    *size = 0;
    return special == cla_translation_in_text(t) || (prefixes && !t->prefix_token)
               ? NULL
               : cla_translation_language_in(t->languages, v->tokens[i], size);
}

bool cla_translation_has_languages(const translation *t)
{
    size_t size = 0;
    for (size_t i = 0; i < t->source.vocab.count; i++) {
        if (cla_translation_language(t, i, &size)) {
            return true;
        }
    }
    return false;
}

/* Finds the piece of a language, a special one, which is the same in both
 * vocabularies. */
static cla_status find(const translation *t, const char *side, const char *name,
                       int32_t *piece)
{
    size_t size = 0;
    for (size_t i = 0; i < t->source.vocab.specials; i++) {
        const char *own = cla_translation_language(t, i, &size);
        if (own && strlen(name) == size && memcmp(own, name, size) == 0) {
            *piece = (int32_t)i;
            return CLA_OK;
        }
    }
    return cla_fail(CLA_E_INPUT,
                    "the %s language is '%.40s', which the model does not have: see "
                    "clattn languages",
                    side, name);
}

cla_status cla_translation_choose(translation *t, const char *source,
                                  const char *target)
{
    if (cla_translation_in_text(t)) {
        return CLA_OK;
    }
    CLA_TRY(find(t, "source", source ? source : t->source_name, &t->source.before));
    return find(t, "target", target ? target : t->target_name, &t->target.before);
}
